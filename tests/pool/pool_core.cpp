// assay-test-flags: -O1
// assay-test-timeout: 900
// SPDX-License-Identifier: Apache-2.0
// The pool's logic over a device made of clocks, which knows exactly what precedes what.
#include "catch.hpp"
#include "pool/pool_bench.hpp"
#include "pool/pool_storm.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/over_aligned.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::literals;
using assay::test::fake_backend;
using assay::test::fake_device;
using bench = assay::test::pool_bench;
using core = mr::pool_core<fake_backend>;

TEST_CASE("a size class holds its request and wastes at most an eighth, or less than a granule") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 200'000; ++i) {
    std::size_t const bytes = 1 + (random() >> (22 + random() % 42));
    auto const which = mr::size_class::of(bytes);
    REQUIRE(which < mr::size_class::count);
    auto const block = mr::size_class::bytes(which);
    REQUIRE(block >= bytes);
    REQUIRE(block % 256 == 0);
    REQUIRE((block - bytes < 256 || (block - bytes) * (bytes > 1_MiB ? 16 : 8) < bytes));
    REQUIRE((which == 0 || mr::size_class::bytes(which - 1) < bytes));
  }
  CHECK(mr::size_class::of(std::numeric_limits<std::size_t>::max()) >= mr::size_class::count);

  using namespace mr::size_class;
  for (auto const& [size, which] : {std::pair{0, 0U},
                                    {1, 0U},
                                    {256, 0U},
                                    {257, 1U},
                                    {2048, 7U},
                                    {2049, 8U},
                                    {4096, 15U},
                                    {4097, 16U}}) {
    CHECK(of(static_cast<std::size_t>(size)) == which);
  }
  CHECK((mr::size_class::bytes(7) == 2048 && mr::size_class::bytes(8) == 2304));
  CHECK((mr::size_class::bytes(15) == 4096 && mr::size_class::bytes(16) == 4608));
  CHECK((of(fine_from) == coarse_count - 1 && of(fine_from + 1) == coarse_count));
  CHECK(mr::size_class::bytes(coarse_count - 1) == fine_from);
  CHECK(mr::size_class::bytes(coarse_count) == fine_from / 16 * 17);
  CHECK(mr::size_class::bytes(mr::size_class::count - 1) == std::size_t{1} << 43);
}

TEST_CASE("with trusted handles a stream gets its own blocks back without a call of the backend") {
  bench at{{.trust_handles = true}};
  std::size_t const sizes[] = {1, 4_KiB, 335'552, 2'684'354, 21'474'832};
  for (auto const bytes : sizes) { at.leave(at.a, at.take(at.a, bytes), bytes); }
  auto const before = at.device.calls.load();
  for (int i = 0; i < 1000; ++i) {
    for (auto const bytes : sizes) { at.leave(at.a, at.take(at.a, bytes), bytes); }
  }
  CHECK(at.device.calls == before);
  CHECK(at.device.violations == 0);
  CHECK(at.pool->stats().allocations == 5005);
  CHECK(*at.pool->stats().reused_blocks >= 5000);
  CHECK(at.live() == 0);
}

TEST_CASE("zero bytes are a null block that may be given back") {
  bench at;
  CHECK(at.pool->allocate(at.a, 0) == nullptr);
  at.pool->deallocate(at.a, nullptr, 0);
  CHECK(at.pool->stats().allocations == 0);
}

TEST_CASE("a block taken from another stream costs one event, and the next ones none") {
  auto options = test::fixed_pool(8_MiB);
  options.trust_handles = true;
  bench at{options};
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) { blocks.push_back(at.take(at.a, 2_MiB)); }
  for (void* const block : blocks) { at.leave(at.a, block, 2_MiB); }
  CHECK(at.device.records == 0);

  void* const first = at.take(at.b, 2_MiB);
  CHECK(at.device.records == 1);
  CHECK(at.pool->stats().waits == 1u);
  blocks = {first, at.take(at.b, 2_MiB), at.take(at.b, 2_MiB), at.take(at.b, 2_MiB)};
  CHECK(at.device.records == 1);
  CHECK(at.pool->stats().waits == 1u);
  CHECK(at.device.violations == 0);
  for (void* const block : blocks) { at.leave(at.b, block, 2_MiB); }
}

TEST_CASE("a new stream with the handle of a released one starts without its predecessor's order") {
  bench at{test::fixed_pool(8_MiB), 1};
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) { blocks.push_back(at.take(at.a, 2_MiB)); }
  for (void* const block : blocks) { at.leave(at.a, block, 2_MiB); }
  at.leave(at.b, at.take(at.b, 2_MiB), 2_MiB);  // b comes after what a has freed
  at.pool->release(at.b);
  at.device.replace(at.b);
  for (int i = 0; i < 4; ++i) { blocks[static_cast<std::size_t>(i)] = at.take(at.b, 2_MiB); }
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);
  for (void* const block : blocks) { at.leave(at.b, block, 2_MiB); }
}

TEST_CASE("a new stream with an old handle gets none of the blocks that the old one left") {
  bench at{test::fixed_pool(6_MiB)};
  void* const block = at.take(at.a, 2_MiB);
  void* const other = at.take(at.b, 2_MiB);
  at.leave(at.a, block, 2_MiB);
  at.device.replace(at.a);
  at.device.after(at.a, at.b);
  at.leave(at.a, other, 2_MiB);  // on the new stream, before the pool has seen that it is new
  CHECK(at.take(at.a, 2_MiB) != block);
  CHECK(at.device.waits == 0);
  (void)at.take(at.a, 2_MiB);  // nothing is left but what only a wait for the device orders
  CHECK(at.device.waits == 1);
  CHECK(at.device.violations == 0);
}

TEST_CASE("streams that come and go without notice leave little that needs a wait") {
  bench at{{.growth_bytes = 2_MiB}};
  for (int i = 0; i < 100; ++i) {
    std::vector<void*> blocks;
    for (int k = 0; k < 3; ++k) { blocks.push_back(at.take(at.a, 2_MiB)); }
    for (void* const block : blocks) { at.leave(at.a, block, 2_MiB); }
    at.device.replace(at.a);
  }
  CHECK(at.pool->stats().reserved_bytes <= 14_MiB);  // 6 for two streams each, a step of growth
  CHECK(at.device.waits == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("streams that come and go with small blocks leave neither memory nor caches behind") {
  bench at{{.growth_bytes = 2_MiB}, 1};
  for (int i = 0; i < 400; ++i) {
    at.leave(at.a, at.take(at.a, 4_KiB), 4_KiB);
    at.device.replace(at.a);
  }
  CHECK(at.pool->stats().reserved_bytes <= 4_MiB);
  CHECK(at.device.events <= 8);  // each cache has one
  CHECK(at.device.waits == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("threads that come and go leave at most twice of what they had") {
  fake_device device{64_MiB};
  core pool{fake_backend{&device, 1}, {.growth_bytes = 2_MiB}};
  int const own = fake_device::per_thread_handle;
  for (std::uint32_t i = 1; i <= 200; ++i) {
    std::thread{[&] {
      void* const block = pool.allocate(own, 8_MiB);
      device.take(own, block, 8_MiB, i);
      device.leave(own, block, 8_MiB, i);
      pool.deallocate(own, block, 8_MiB);
    }}.join();
  }
  CHECK(pool.stats().reserved_bytes <= 16_MiB);
  CHECK(device.waits == 0);
  CHECK(device.violations == 0);
}

TEST_CASE("streams that live on record events only while others miss their blocks") {
  bench at{test::fixed_pool(16_MiB)};
  for (int i = 0; i < 100; ++i) { at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB); }
  CHECK(at.device.records == 0);
  at.leave(at.b, at.take(at.b, 2_MiB), 2_MiB);
  auto const calls_once = at.device.records.load();
  for (int i = 0; i < 100; ++i) {
    at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB);
    at.leave(at.b, at.take(at.b, 2_MiB), 2_MiB);
  }
  CHECK(at.device.records <= calls_once + 2);
  CHECK(at.device.violations == 0);
}

// A stream that never frees records no event, so nothing of it may lie between free ranges.
TEST_CASE("blocks that some streams allocate and others free need little more than the caches") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  bench at{{.growth_bytes = 2_MiB, .stream_cache_bytes = 4_MiB}};
  struct held {
    void* block;
    std::size_t bytes;
    int stream;
  };
  std::deque<held> live;
  int const to[] = {at.device.create(), at.device.create()};
  auto const hand_over = [&] {
    auto const [block, bytes, from] = live.front();
    live.pop_front();
    int const where = to[random() % 2];
    at.device.after(where, from);
    at.leave(where, block, bytes);
  };
  for (int i = 0; i < 4000; ++i) {
    int const from = random() % 2 == 0 ? at.a : at.b;
    auto const bytes = 1 + random() % 256_KiB;
    live.push_back({at.take(from, bytes), bytes, from});
    if (live.size() > 16) { hand_over(); }
  }
  while (!live.empty()) { hand_over(); }
  CHECK(at.pool->stats().reserved_bytes <= 16_MiB);  // 4 are live, two caches keep 8
  CHECK(at.device.violations == 0);
}

TEST_CASE("other threads give blocks back without losing any") {
  bench at{test::fixed_pool(16_MiB)};
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) { blocks.push_back(at.take(at.a, 4_KiB)); }
  std::thread other{[&] {
    for (void* const block : blocks) { at.leave(at.a, block, 4_KiB); }
  }};
  other.join();
  CHECK(at.live() == 0);
  auto const reserved = at.pool->stats().reserved_bytes;
  for (auto& block : blocks) { block = at.take(at.a, 4_KiB); }
  CHECK(at.pool->stats().reserved_bytes == reserved);
  for (void* const block : blocks) { at.leave(at.a, block, 4_KiB); }
  CHECK(at.device.violations == 0);
}

TEST_CASE("counts taken while blocks go from stream to stream have no block that is freed alone") {
  bench at{{.trust_handles = true}};
  std::atomic<bool> done{false};
  at.leave(at.a, at.take(at.a, 256), 256);  // the cache of `a` is counted before that of `b`
  std::thread other{[&] {
    while (!done) { at.pool->deallocate(at.b, at.pool->allocate(at.a, 256), 256); }
  }};
  std::uint64_t wrong = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    auto const now = at.pool->stats();
    wrong += now.live_bytes > now.bytes || now.deallocations > now.allocations ? 1 : 0;
  }
  done = true;
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("what a thread's default stream kept is found again after the thread has gone") {
  bench at{test::fixed_pool(4_MiB)};
  int const own = fake_device::per_thread_handle;
  std::thread other{[&] { at.leave(own, at.take(own, 4_MiB), 4_MiB); }};
  other.join();
  void* const block = at.take(own, 4_MiB);  // another stream, though its handle is the same
  CHECK(at.device.violations == 0);
  at.leave(own, block, 4_MiB);
}

TEST_CASE("a thread's default stream is not taken for that of the thread it follows") {
  bench at{test::fixed_pool(4_MiB)};
  int const own = fake_device::per_thread_handle;
  std::size_t first = 0, second = 0;
  std::thread{[&] {
    for (int i = 0; i < 200; ++i) { at.leave(own, at.take(own, 2_MiB), 2_MiB); }
    first = mr::this_thread().index;
  }}.join();
  std::thread{[&] {
    second = mr::this_thread().index;
    at.leave(own, at.take(own, 2_MiB), 2_MiB);
  }}.join();
  CHECK(first == second);
  CHECK(at.device.violations == 0);
}

TEST_CASE("what is freed on a new stream is not kept for the one that had its handle") {
  auto options = test::fixed_pool(2_MiB);
  options.trust_handles = true;
  bench at{options};
  for (int i = 0; i < 200; ++i) { at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB); }
  void* block = at.take(at.b, 2_MiB);
  at.pool->release(at.a);
  at.device.replace(at.a);
  at.device.after(at.a, at.b);
  at.leave(at.a, block, 2_MiB);
  auto const before = *at.pool->stats().waits;
  block = at.take(at.b, 2_MiB);
  CHECK(at.pool->stats().waits == before + 1);
  CHECK(at.device.waits == 0);  // an event is enough: the new stream can be named
  CHECK(at.device.violations == 0);
  at.leave(at.b, block, 2_MiB);
}

TEST_CASE("a pool is not taken for a former one at its address") {
  bench at{test::fixed_pool(4_MiB)};
  for (int i = 0; i < 200; ++i) { at.leave(at.a, at.take(at.a, 4_KiB), 4_KiB); }
  auto const* const address = &*at.pool;
  at.pool.reset();
  at.pool.emplace(fake_backend{&at.device}, test::fixed_pool(4_MiB));
  REQUIRE(&*at.pool == address);
  at.leave(at.a, at.take(at.a, 4_KiB), 4_KiB);
  CHECK(at.pool->stats().allocations == 1);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a thread keeps its streams apart, and two pools too") {
  bench at{test::fixed_pool(4_MiB)}, other{test::fixed_pool(4_MiB)};
  REQUIRE(at.a == other.a);
  for (int i = 0; i < 500; ++i) {
    int const stream = i % 3 == 0 ? at.b : at.a;
    at.leave(stream, at.take(stream, 4_KiB), 4_KiB);
    other.leave(other.a, other.take(other.a, 4_KiB), 4_KiB);
  }
  CHECK(at.pool->stats().allocations == 500);
  CHECK(other.pool->stats().allocations == 500);
  CHECK(at.device.violations == 0);
  CHECK(other.device.violations == 0);
  CHECK(at.pool->stats().waits == 0u);
}

TEST_CASE("streams keep at most their cache, and the heap passes on the rest") {
  auto options = test::fixed_pool(32_MiB);
  options.stream_cache_bytes = 4_MiB;
  bench at{options};
  std::vector<void*> blocks;
  for (int i = 0; i < 128; ++i) { blocks.push_back(at.take(at.a, 256_KiB)); }
  for (void* const block : blocks) { at.leave(at.a, block, 256_KiB); }
  for (int i = 0; i < 112; ++i) { (void)at.take(at.b, 256_KiB); }  // all but 4 MiB
  CHECK(at.device.records < 32);                                   // one for each overflow
  CHECK(at.pool->stats().waits == 1u);  // the last of them comes after all others
  CHECK(at.device.violations == 0);
}

TEST_CASE("neighbours of any size coalesce") {
  bench at{test::fixed_pool(16_MiB)};
  std::vector<void*> blocks;
  for (int i = 0; i < 4096; ++i) { blocks.push_back(at.take(at.a, 4_KiB)); }
  for (void* const block : blocks) { at.leave(at.a, block, 4_KiB); }
  void* const all = at.take(at.b, 16_MiB);
  CHECK(at.device.violations == 0);
  at.leave(at.b, all, 16_MiB);
}

TEST_CASE("a request above the limit waits for nothing, and one below it for the device") {
  mr::pool options;
  options.max_bytes = 16_MiB;
  bench at{options};
  CHECK_THROWS_AS(at.pool->allocate(at.a, 17_MiB), mr::out_of_memory);
  CHECK(at.device.waits == 0);
  void* const block = at.take(at.a, 8_MiB);
  CHECK_THROWS_AS(at.pool->allocate(at.b, 16_MiB), mr::out_of_memory);
  CHECK(at.device.waits == 1);
  at.leave(at.a, block, 8_MiB);
}

TEST_CASE("growth asks for less where upstream has less") {
  mr::pool options;
  options.growth_bytes = 48_MiB;
  bench at{options};
  void* const first = at.take(at.a, 2_MiB);
  CHECK(at.pool->stats().reserved_bytes == 48_MiB);
  void* const second = at.take(at.a, 44_MiB);
  CHECK(first != second);
  void* const third = at.take(at.a, 10_MiB);  // 16 MiB are left upstream
  CHECK(at.pool->stats().reserved_bytes == 60_MiB);
  at.leave(at.a, first, 2_MiB);
  at.leave(at.a, second, 44_MiB);
  at.leave(at.a, third, 10_MiB);
  CHECK(at.pool->trim() == 60_MiB);
  CHECK(at.device.reserved_bytes() == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("chunks that fit nothing are returned for one that does") {
  mr::pool options;
  options.growth_bytes = 2_MiB;
  bench at{options};
  std::vector<void*> blocks;
  for (int i = 0; i < 30; ++i) { blocks.push_back(at.take(at.a, 2_MiB)); }
  for (void* const block : blocks) { at.leave(at.a, block, 2_MiB); }
  CHECK(at.pool->stats().reserved_bytes == 60_MiB);
  void* const large = at.take(at.b, 56_MiB);
  CHECK(at.device.violations == 0);
  at.leave(at.b, large, 56_MiB);
}

TEST_CASE("when nothing helps, the message tells the state") {
  bench at{test::fixed_pool(8_MiB)};
  (void)at.take(at.a, 3_MiB);
  CHECK(test::message_of([&] { at.take(at.b, 6_MiB); }) ==
        "mr::pool: no room for 6 MiB: 8 MiB reserved of at most 8 MiB, 3 MiB in use, 0 bytes kept "
        "by 2 streams, 5 MiB free in ranges of at most 5 MiB");
  CHECK(at.pool->stats().failures == 1);
  CHECK(test::message_of([&] { at.take(at.b, std::size_t{1} << 60U); }) ==
        "mr::pool: no block is larger than 8 TiB");
  (void)at.take(at.b, 5_MiB);  // it still works
  CHECK(at.device.violations == 0);

  CHECK(test::message_of([] { bench const too_much{test::fixed_pool(66_MiB)}; }) ==
        "mr::pool: the card has no room for the initial 66 MiB");
  bench unbounded;
  CHECK(test::message_of([&] { unbounded.take(unbounded.a, 66_MiB); }) ==
        "mr::pool: no room for 68 MiB: 0 bytes reserved, 0 bytes in use, 0 bytes kept by 1 "
        "streams, 0 bytes free in ranges of at most 0 bytes; upstream has no more");
}

TEST_CASE("blocks of a captured graph are nobody else's until the graph has gone") {
  bench at{test::fixed_pool(8_MiB)};
  at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB);
  auto graph = at.pool->begin_capture(at.a);
  at.device.begin_capture(at.a);
  auto const records = at.device.records.load();
  CHECK(test::message_of([&] { (void)at.pool->begin_capture(at.a); }) ==
        "mr::pool: the stream is being captured already");
  CHECK(test::message_of([&] { at.pool->release(at.a); }) ==
        "mr::pool: release of a stream that is being captured: end() first");
  void* const first = at.pool->allocate(at.a, 2_MiB);
  at.pool->deallocate(at.a, first, 2_MiB);
  CHECK(at.pool->allocate(at.a, 2_MiB) == first);  // the graph reuses its own
  void* const second = at.pool->allocate(at.a, 2_MiB);
  CHECK(second != first);
  CHECK(at.device.spoilt == 0);
  CHECK(at.device.records == records);
  at.pool->deallocate(at.a, first, 2_MiB);
  at.device.end_capture(at.a);
  at.pool->end_capture(*graph);
  CHECK(at.live() == 2_MiB);
  at.pool->deallocate(at.a, second, 2_MiB);  // after the capture, still the graph's
  CHECK(at.live() == 0);

  void* const other = at.take(at.a, 4_MiB);
  CHECK(other != first);
  CHECK_THROWS_AS(at.pool->allocate(at.a, 2_MiB), mr::out_of_memory);
  CHECK_THROWS_AS(at.pool->allocate(at.b, 2_MiB), mr::out_of_memory);
  at.pool->drop_capture(*graph);
  void* const again = at.take(at.b, 4_MiB);
  CHECK(again != other);
  CHECK(at.device.violations == 0);
}

TEST_CASE("captures on two streams at once get memory whose use is over, and none is spoilt") {
  bench at{test::fixed_pool(16_MiB)};
  int const other = at.device.create();
  at.leave(other, at.take(other, 8_MiB), 8_MiB);
  at.pool->release(other);
  auto first = at.pool->begin_capture(at.a);
  at.device.begin_capture(at.a);
  auto second = at.pool->begin_capture(at.b);  // the first capture is on
  at.device.begin_capture(at.b);
  for (int const stream : {at.a, at.b}) {
    for (int i = 0; i < 4; ++i) { CHECK(at.pool->allocate(stream, 2_MiB) != nullptr); }
  }
  auto const refused = test::message_of([&] { at.pool->allocate(at.a, 2_MiB); });
  CHECK(refused.find("mr::pool: no room for 2 MiB: 16 MiB reserved") == 0);
  at.device.end_capture(at.a);
  at.device.end_capture(at.b);
  auto const waits = at.device.waits.load();
  at.pool->drop_capture(*first);
  at.pool->drop_capture(*second);
  CHECK(at.device.waits == waits);  // nobody needs the blocks yet
  CHECK(at.device.spoilt == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("what a capture needs is waited for where upstream has no more") {
  bench at{test::fixed_pool(8_MiB)};
  auto graph = at.pool->begin_capture(at.a);
  at.device.begin_capture(at.a);
  at.leave(at.b, at.take(at.b, 8_MiB), 8_MiB);  // no event covers this one yet
  void* const block = at.pool->allocate(at.a, 8_MiB);
  int const replaying = at.device.create();
  at.device.take(replaying, block, 8_MiB, 1);  // in order on whatever stream replays
  CHECK(at.device.waits == 1);
  CHECK(at.device.spoilt == 0);
  CHECK(at.device.violations == 0);
  at.device.leave(replaying, block, 8_MiB, 1);
  at.pool->deallocate(at.a, block, 8_MiB);
  at.device.end_capture(at.a);
  at.pool->drop_capture(*graph);
}

TEST_CASE("blocks of a graph that has gone serve others while another stream is captured") {
  bool const told = GENERATE(true, false);  // whether the pool was told of the other capture
  bench at{test::fixed_pool(4_MiB)};
  int const elsewhere = told ? at.b : at.device.create();
  at.leave(at.b, at.take(at.b, 256), 256);
  auto graph = at.pool->begin_capture(at.a);
  void* const block = at.pool->allocate(at.a, 2_MiB);
  at.pool->deallocate(at.a, block, 2_MiB);
  at.pool->end_capture(*graph);
  int const replaying = at.device.create();
  at.device.take(replaying, block, 2_MiB, 1);
  at.device.leave(replaying, block, 2_MiB, 1);

  auto others = told ? at.pool->begin_capture(elsewhere) : nullptr;
  at.device.begin_capture(elsewhere);
  at.pool->drop_capture(*graph);
  CHECK(at.device.waits == 0);
  void* const all = at.take(at.a, 3_MiB);
  CHECK(at.device.waits > 0);
  CHECK(at.device.spoilt == 0);
  at.device.end_capture(elsewhere);
  if (told) { at.pool->drop_capture(*others); }
  CHECK(at.device.violations == 0);
  at.leave(at.a, all, 3_MiB);
}

TEST_CASE("a capture that one thread began serves another, which has not met the stream") {
  bench at{test::fixed_pool(8_MiB)};
  auto graph = at.pool->begin_capture(at.a);
  at.device.begin_capture(at.a);  // from here the stream cannot be identified
  void* block = nullptr;
  std::thread other{[&] {
    block = at.pool->allocate(at.a, 2_MiB);
    at.pool->deallocate(at.a, block, 2_MiB);
    CHECK(at.pool->allocate(at.a, 2_MiB) == block);
    at.pool->deallocate(at.a, block, 2_MiB);
  }};
  other.join();
  at.device.end_capture(at.a);
  at.pool->end_capture(*graph);
  CHECK(at.take(at.a, 2_MiB) != block);
  CHECK(at.live() == 2_MiB);
  at.pool->drop_capture(*graph);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a block that a capture gives back is the graph's, also if it is from before") {
  bool const told = GENERATE(true, false);
  bench at{test::fixed_pool(told ? 6_MiB : 4_MiB), 1};
  void* const before = at.take(at.a, 2_MiB);
  auto hold = told ? at.pool->begin_capture(at.a) : nullptr;
  at.device.begin_capture(at.a);
  at.pool->deallocate(at.a, before, 2_MiB);  // a node of the graph uses it
  if (told) {  // not for the graph either: work from before the capture may still use it
    void* const own = at.pool->allocate(at.a, 2_MiB);
    CHECK(own != before);
    at.pool->deallocate(at.a, own, 2_MiB);
  }
  at.device.end_capture(at.a);
  if (told) { at.pool->end_capture(*hold); }
  CHECK(at.live() == 0);
  (void)at.take(at.a, 2_MiB);
  CHECK_THROWS_AS(at.take(at.a, 2_MiB), mr::out_of_memory);
  CHECK(at.device.spoilt == 0);
  if (!told) {
    CHECK(test::message_of([&] { at.take(at.a, 2_MiB); }).find("1 blocks of graphs") !=
          std::string::npos);
    return;
  }
  at.device.leave(at.a, before, 2_MiB, at.tag_of.at(before));  // the last replay
  at.pool->drop_capture(*hold);
  (void)at.take(at.a, 2_MiB);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a captured stream that the pool was not told of gets no block, and keeps its capture") {
  bench at{test::fixed_pool(8_MiB)};
  at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB);
  void* const ordinary = at.take(at.b, 1_MiB);
  std::string const refused =
      "mr::pool: allocate on a stream that is being captured, of which the pool was not told: call "
      "capture(stream) for each stream of a capture before it begins";
  at.device.begin_capture(at.a);
  CHECK(test::message_of([&] { at.pool->allocate(at.a, 2_MiB); }) == refused);
  at.device.end_capture(at.a);
  at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB);

  auto hold = at.pool->begin_capture(at.a);
  at.device.begin_capture(at.a);
  at.device.begin_capture(at.b);  // forked into the capture by an event
  CHECK(test::message_of([&] { at.pool->allocate(at.b, 2_MiB); }) == refused);
  at.pool->deallocate(at.b, ordinary, 1_MiB);
  at.device.end_capture(at.a);
  at.device.end_capture(at.b);
  at.pool->end_capture(*hold);
  for (int i = 0; i < 3; ++i) { (void)at.take(at.b, 1_MiB); }  // overlaps are violations
  CHECK(at.device.spoilt == 0);
  CHECK(at.device.violations == 0);
  at.device.leave(at.b, ordinary, 1_MiB, at.tag_of.at(ordinary));
  at.pool->drop_capture(*hold);
}

TEST_CASE("while one thread waits for the device the pool serves others") {
  bool const trims = GENERATE(true, false);
  bench at{test::fixed_pool(4_MiB)};
  void* const small = at.take(at.b, 4_KiB);
  at.leave(at.a, at.take(at.a, 2_MiB), 2_MiB);
  std::future<void> other;
  bool served = false;
  at.device.while_waiting = [&] {
    other = std::async(std::launch::async, [&] {
      at.pool->deallocate(at.b, small, 4_KiB);
      (void)at.pool->allocate(at.b, 4_KiB);
      (void)at.pool->allocate(at.b, 100_KiB);  // none of that size is cached
    });
    served = other.wait_for(std::chrono::seconds{10}) == std::future_status::ready;
  };
  if (trims) {
    at.pool->trim();
  } else {
    CHECK_THROWS_AS(at.pool->allocate(at.b, 4_MiB), mr::out_of_memory);
  }
  CHECK(served);
  at.device.while_waiting = nullptr;
}

TEST_CASE("threads that wait for the device at once both get what the wait makes free") {
  bench at{test::fixed_pool(4_MiB)};
  auto graph = at.pool->begin_capture(at.a);
  for (int i = 0; i < 4; ++i) { (void)at.pool->allocate(at.a, 1_MiB); }
  for (auto const& [address, block] : graph->blocks) {
    at.pool->deallocate(at.a, reinterpret_cast<void*>(address), 1_MiB);
  }
  at.pool->drop_capture(*graph);  // all memory may still be in use
  std::future<void*> theirs;
  std::atomic<bool> began{false};
  at.device.while_waiting = [&] {
    if (began.exchange(true)) { return; }
    theirs = std::async(std::launch::async, [&] { return at.pool->allocate(at.b, 1_MiB); });
    theirs.wait_for(std::chrono::milliseconds{50});
  };
  CHECK(at.pool->allocate(at.a, 1_MiB) != nullptr);
  CHECK(test::message_of([&] { (void)theirs.get(); }) == "nothing was thrown");
}

TEST_CASE("while one thread maps or unmaps memory the pool serves others") {
  auto const what = GENERATE(0, 1, 2);  // growth, trim, chunks that make room for another
  mr::pool options{.max_bytes = 16_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 0};
  bench at{options};
  void* const small = at.take(at.b, 4_KiB);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) { blocks.push_back(at.take(at.a, 2_MiB)); }
  at.leave(at.a, blocks[0], 2_MiB);
  at.leave(at.a, blocks[2], 2_MiB);
  bool served = false;
  std::future<void> other;
  auto const others_work = [&] {
    other = std::async(std::launch::async, [&] {
      at.leave(at.b, small, 4_KiB);
      (void)at.pool->allocate(at.b, 100_KiB);  // none of that size is cached
      (void)at.pool->stats();
    });
    served = other.wait_for(std::chrono::seconds{2}) == std::future_status::ready;
  };
  (what == 0 ? at.device.while_mapping : at.device.while_unmapping) = others_work;
  if (what == 1) {
    CHECK(at.pool->trim() == 4_MiB);
  } else {
    (void)at.take(at.a, what == 0 ? 4_MiB : 10_MiB);
  }
  CHECK(served);
  CHECK(at.device.violations == 0);
  CHECK(*at.pool->stats().reserved_bytes == at.device.reserved_bytes());
}

TEST_CASE("memory is not mapped while other memory is unmapped, and the limit holds") {
  bench at{{.max_bytes = 16_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 0}};
  at.leave(at.a, at.take(at.a, 8_MiB), 8_MiB);
  std::future<void*> grown;
  std::size_t most = 0;
  at.device.while_unmapping = [&] {
    grown = std::async(std::launch::async, [&] { return at.pool->allocate(at.b, 12_MiB); });
    grown.wait_for(std::chrono::milliseconds{50});  // it waits for the trim
    most = at.device.reserved_bytes();
  };
  CHECK(at.pool->trim() == 8_MiB);
  CHECK(grown.get() != nullptr);
  CHECK(most <= 16_MiB);
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);
  CHECK(*at.pool->stats().reserved_bytes == at.device.reserved_bytes());
}

TEST_CASE("threads that wait for a growth take of it, and do not grow in turn") {
  bench at{{.growth_bytes = 32_MiB}};
  (void)at.take(at.b, 32_MiB);
  std::vector<int> streams;
  for (int i = 0; i < 6; ++i) { streams.push_back(at.device.create()); }
  std::vector<std::future<void*>> waiting;
  at.device.while_mapping = [&] {
    for (int const stream : streams) {
      waiting.push_back(
          std::async(std::launch::async, [&, stream] { return at.pool->allocate(stream, 2_MiB); }));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  };
  auto const before = *at.pool->stats().upstream_calls;
  std::set<void*> blocks{at.pool->allocate(at.a, 2_MiB)};
  for (auto& each : waiting) { blocks.insert(each.get()); }
  CHECK(blocks.size() == 7);
  CHECK(*at.pool->stats().upstream_calls == before + 1);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a free range that growth extends is nobody else's meanwhile, and comes back") {
  bool const refused = GENERATE(false, true);
  bench at{{.growth_bytes = 2_MiB, .stream_cache_bytes = 0}, 1};
  at.leave(at.a, at.take(at.a, 8_MiB), 8_MiB);  // is extended by 2 MiB
  std::future<void*> theirs;
  at.device.while_mapping = [&] {
    if (refused) { (void)at.device.reserve(56_MiB); }
    theirs = std::async(std::launch::async, [&] { return at.pool->allocate(at.b, 8_MiB); });
    theirs.wait_for(std::chrono::milliseconds{50});  // it finds no range, and waits
  };
  void* ours = nullptr;
  auto const told = test::message_of([&] { ours = at.pool->allocate(at.a, 10_MiB); });
  CHECK((ours != nullptr) != refused);
  CHECK((told == "nothing was thrown") != refused);
  at.device.take(at.b, theirs.get(), 8_MiB, 1);
  if (!refused) { at.device.take(at.a, ours, 10_MiB, 2); }
  CHECK(at.device.violations == 0);
  CHECK(*at.pool->stats().reserved_bytes == (refused ? 8_MiB : 18_MiB));
}

TEST_CASE("a free range that growth extends in vain counts as held by nobody") {
  bench at{{.initial_bytes = 16_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 0}, 1};
  std::future<void*> theirs;
  at.device.while_mapping = [&] {
    (void)at.device.reserve(48_MiB);
    theirs = std::async(std::launch::async, [&] { return at.pool->allocate(at.b, 4_MiB); });
    theirs.wait_for(std::chrono::milliseconds{50});  // it finds no range, and waits
  };
  CHECK_THROWS_AS(at.pool->allocate(at.a, 20_MiB), mr::out_of_memory);
  CHECK(theirs.get() != nullptr);
  CHECK(at.pool->stats().peak_bytes == 4_MiB);
}

TEST_CASE("a capture gets memory of a range that growth extends in vain") {
  bench at{{.initial_bytes = 12_MiB, .max_bytes = 14_MiB, .growth_bytes = 2_MiB}, 1};
  auto graph = at.pool->begin_capture(at.b);
  std::future<void*> theirs;
  at.device.while_mapping = [&] {
    (void)at.device.reserve(52_MiB);
    theirs = std::async(std::launch::async, [&] { return at.pool->allocate(at.b, 4_MiB); });
    theirs.wait_for(std::chrono::milliseconds{50});
  };
  CHECK_THROWS_AS(at.pool->allocate(at.a, 14_MiB), mr::out_of_memory);
  CHECK(test::message_of([&] { (void)theirs.get(); }) == "nothing was thrown");
  at.pool->drop_capture(*graph);
}

TEST_CASE("a stream of another device is refused, and nothing is lost") {
  bench at{test::fixed_pool(4_MiB)};
  at.device.foreign.insert(at.b);
  CHECK(test::message_of([&] { at.pool->allocate(at.b, 1_MiB); }) == "of another device");
  void* const all = at.take(at.a, 4_MiB);
  at.leave(at.a, all, 4_MiB);
  CHECK(at.pool->stats().failures == 1);
}

TEST_CASE("alignments above that of blocks are kept, and the blocks come back") {
  bench at{test::fixed_pool(4_MiB)};
  std::size_t const alignment = GENERATE(512, 4096, 1 << 20);
  mr::over_aligned<core> aligned;
  for (int i = 0; i < 100; ++i) {
    void* const block = aligned.allocate(*at.pool, at.a, 1000, alignment);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
    at.device.take(at.a, block, 1000, 1);
    at.device.leave(at.a, block, 1000, 1);
    aligned.deallocate(*at.pool, at.a, block, 1000, alignment);
  }
  CHECK(at.live() == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("trim beside a capture returns what other threads left, and spoils nothing") {
  mr::pool options;
  options.growth_bytes = 2_MiB;
  bench at{options};
  auto graph = at.pool->begin_capture(at.b);
  std::thread other{[&] {
    // Another thread's default stream: no event can be recorded on it from here.
    auto const own = fake_device::per_thread_handle;
    void* const block = at.pool->allocate(own, 4_MiB);
    at.pool->deallocate(own, block, 4_MiB);
  }};
  other.join();
  at.device.begin_capture(at.b);
  CHECK(at.pool->trim() == 4_MiB);
  CHECK(at.device.spoilt == 0);
  at.device.end_capture(at.b);
  at.pool->drop_capture(*graph);
}

TEST_CASE("chunks side by side hold blocks that none of them could") {
  bool const joined = GENERATE(true, false);
  mr::pool options;
  options.growth_bytes = 2_MiB;
  fake_device device{64_MiB};
  int const stream = device.create();
  fake_backend backend{&device, 1};
  backend.joins_chunks = joined;
  core pool{backend, options};
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) { blocks.push_back(pool.allocate(stream, 2_MiB)); }
  for (void* const block : blocks) { pool.deallocate(stream, block, 2_MiB); }
  CHECK(pool.trim() == 16_MiB);
  for (auto& block : blocks) { block = pool.allocate(stream, 2_MiB); }
  for (void* const block : blocks) { pool.deallocate(stream, block, 2_MiB); }
  pool.release(stream);
  int const other = device.create();
  void* const large = pool.allocate(other, 20_MiB);  // 16 MiB of it are there, if joined
  CHECK(pool.stats().reserved_bytes == (joined ? 20_MiB : 36_MiB));
  pool.deallocate(other, large, 20_MiB);
  CHECK(pool.trim() == (joined ? 20_MiB : 36_MiB));
  CHECK(device.reserved_bytes() == 0);
}

TEST_CASE("what slabs have not used serves large blocks where there is no more memory") {
  bench at{test::fixed_pool(8_MiB)};
  void* const small = at.take(at.a, 200_KiB);
  void* const large = at.take(at.a, 6_MiB);
  CHECK(at.pool->stats().reserved_bytes == 8_MiB);
  at.leave(at.a, small, 200_KiB);
  at.leave(at.a, large, 6_MiB);
  CHECK(at.device.violations == 0);
}

TEST_CASE("at the pool's limit chunks between live blocks make room for a block that none holds") {
  mr::pool options;
  options.growth_bytes = 2_MiB;
  options.max_bytes = 32_MiB;
  options.stream_cache_bytes = 0;
  bench at{options};
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) { blocks.push_back(at.take(at.a, 2_MiB)); }
  for (std::size_t i = 0; i < 16; i += 2) { at.leave(at.a, blocks[i], 2_MiB); }
  void* const large = at.take(at.a, 12_MiB);
  CHECK(at.pool->stats().reserved_bytes == 32_MiB);
  CHECK(at.device.reserved_bytes() == 32_MiB);
  CHECK_THROWS_AS(at.pool->allocate(at.a, 12_MiB), mr::out_of_memory);
  for (std::size_t i = 1; i < 16; i += 2) { at.leave(at.a, blocks[i], 2_MiB); }
  at.leave(at.a, large, 12_MiB);
  CHECK(at.pool->trim() == 32_MiB);
  CHECK(at.device.reserved_bytes() == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("jobs of other sizes by turns do not make a pool of just their size grow") {
  constexpr std::size_t large = 16_MiB;  // four times what a stream may keep
  std::size_t const small = GENERATE(2'457'600, 1_MiB, 512_KiB, 10_MiB);
  bool const bounded = GENERATE(true, false);
  bool const apart = GENERATE(true, false);
  unsigned const ready_every = GENERATE(0U, 1U);
  bool const trusted = GENERATE(true, false);
  INFO("small " << small << " bounded " << bounded << " apart " << apart << " " << ready_every
                << " trusted " << trusted);
  mr::pool options;
  options.trust_handles = trusted;
  options.initial_bytes = 2 * large;
  options.max_bytes = bounded ? 2 * large : 1_GiB;
  options.growth_bytes = 2_MiB;
  options.stream_cache_bytes = 4_MiB;
  fake_device device{128_MiB};
  std::optional<core> pool{std::in_place, fake_backend{&device, ready_every}, options};
  int const streams[] = {device.create(), device.create(), device.create()};
  std::uint32_t tags = 0;
  for (int turn = 0; turn < 100; ++turn) {
    auto const bytes = turn % 2 == 0 ? large : small;
    void* blocks[2];
    for (int i = 0; i < 2; ++i) {
      int const stream = streams[apart ? (turn + i) % 3 : 0];
      blocks[i] = pool->allocate(stream, bytes);
      device.take(stream, blocks[i], bytes, ++tags);
    }
    for (int i = 0; i < 2; ++i) {
      int const stream = streams[apart ? (turn + i) % 3 : 0];
      device.leave(stream, blocks[i], bytes, tags - 1 + static_cast<std::uint32_t>(i));
      pool->deallocate(stream, blocks[i], bytes);
    }
  }
  // Where no other stream may be named, blocks wait for the next free of theirs.
  auto const most = 2 * large + 2 * large / 6 + options.growth_bytes;
  CHECK(device.reserved_bytes() <= (apart && !trusted ? most + large : most));
  INFO(device.first_violation());
  CHECK(device.violations == 0);
}

TEST_CASE("a free range with addresses behind it is given what it lacks") {
  mr::pool options;
  options.growth_bytes = 2_MiB;
  options.stream_cache_bytes = 0;
  bench at{options, 1};
  (void)at.take(at.a, 2_MiB);
  at.leave(at.a, at.take(at.a, 20_MiB), 20_MiB);
  void* const larger = at.take(at.a, 24_MiB);
  CHECK(at.pool->stats().reserved_bytes == 26_MiB);
  at.leave(at.a, larger, 24_MiB);
}

TEST_CASE("trim returns the pages beside a live block, and those that slabs have not used") {
  mr::pool options;
  options.growth_bytes = 16_MiB;
  bench at{options};
  void* const large = at.take(at.a, 3_MiB);
  void* const small = at.take(at.a, 200_KiB);  // smaller ones come several at a time
  CHECK(at.pool->stats().reserved_bytes == 16_MiB);
  CHECK(at.pool->trim() >= 8_MiB);
  CHECK(*at.pool->stats().reserved_bytes <= 8_MiB);
  at.leave(at.a, large, 3_MiB);
  at.leave(at.a, small, 200_KiB);
  CHECK(at.pool->stats().reserved_bytes == at.device.reserved_bytes());
  at.pool->trim();
  CHECK(at.device.reserved_bytes() == 0);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a block that outlives its graph stays live") {
  bench at{test::fixed_pool(4_MiB)};
  auto graph = at.pool->begin_capture(at.a);
  void* const block = at.pool->allocate(at.a, 2_MiB);
  at.pool->drop_capture(*graph);
  CHECK(at.live() == 2_MiB);
  void* const other = at.pool->allocate(at.b, 2_MiB);
  CHECK(other != block);
  CHECK_THROWS_AS(at.pool->allocate(at.b, 2_MiB), mr::out_of_memory);
  at.pool->deallocate(at.a, block, 2_MiB);
  CHECK(at.pool->allocate(at.a, 2_MiB) == block);
}

TEST_CASE("an initial size that is no whole page stays within the most") {
  bench at{test::fixed_pool(3_MiB)};
  CHECK(at.pool->stats().reserved_bytes == 2_MiB);
  CHECK_THROWS_AS(at.pool->allocate(at.a, 3_MiB), mr::out_of_memory);
}

namespace {

/// Reserved bytes beyond what streams may keep and one step of growth, as a share of the peak of
/// what was live, over phases that prefer other sizes, so that what one left must serve the next.
double reserved_share(std::uint64_t seed) {
  std::mt19937_64 random{seed};
  mr::pool options;
  options.growth_bytes = 8_MiB;
  options.stream_cache_bytes = 512_KiB;
  fake_device device{512_MiB};
  core pool{fake_backend{&device, 2}, options};
  int const streams[] = {device.create(), device.create(), device.create(), device.create()};
  struct item {
    void* block;
    std::size_t bytes;
    int stream;
  };
  std::vector<item> live;
  std::size_t live_bytes = 0;
  std::size_t peak = 0;
  for (int phase = 0; phase < 12; ++phase) {
    std::size_t const typical = std::size_t{1} << (10 + random() % 10);
    for (int i = 0; i < 10'000; ++i) {
      if (live_bytes < 64_MiB && random() % 2 == 0) {
        std::size_t const bytes = 1 + typical / 2 + random() % typical;
        int const stream = streams[random() % 4];
        live.push_back({pool.allocate(stream, bytes), bytes, stream});
        live_bytes += bytes;
        peak = std::max(peak, live_bytes);
      } else if (!live.empty()) {
        auto const which = random() % live.size();
        pool.deallocate(live[which].stream, live[which].block, live[which].bytes);
        live_bytes -= live[which].bytes;
        live[which] = live.back();
        live.pop_back();
      }
    }
  }
  auto const reserved = static_cast<double>(*pool.stats().reserved_bytes);
  for (auto const& each : live) { pool.deallocate(each.stream, each.block, each.bytes); }
  return (reserved - 4.0 * 512_KiB - 8.0 * 1_MiB) / static_cast<double>(peak);
}

}  // namespace

TEST_CASE("reserved bytes over mixed traces stay near the peak of what is live") {
  auto const seed = test::fresh_seed();
  double sum = 0;
  std::vector<double> shares;
  for (std::uint64_t i = 0; i < 40; ++i) {
    shares.push_back(reserved_share(seed + i));
    sum += shares.back();
  }
  std::sort(shares.begin(), shares.end());
  INFO("seed " << seed << " mean " << sum / 40 << " worst " << shares[39] << ", " << shares[38]);
  CHECK(sum / 40 <= 1.25);
  // Large blocks find no room between small ones that a phase has left: of 10,440 traces one took
  // 1.64, two others more than 1.5, and one in a thousand more than 1.45.
  CHECK(shares[38] <= 1.5);
  CHECK(shares[39] <= 1.75);
}

TEST_CASE(
    "ten million operations on many streams from many threads, each block alone and in order") {
  struct run {
    mr::pool pool;
    test::storm_options storm;
    std::size_t device_bytes;
    bool joins_chunks = true;
    bool presses_never = false;  ///< there is memory for all, so only trims wait for the device
  };
  auto const seed = test::fresh_seed();
  std::uint64_t done = 0;
  run const runs[] = {
      {{.growth_bytes = 4_MiB, .stream_cache_bytes = 8_MiB},
       {.operations = 5'000'000},
       256_MiB,
       true,
       true},
      {{.max_bytes = 24_MiB, .growth_bytes = 4_MiB, .stream_cache_bytes = 8_MiB},
       {.operations = 3'000'000},
       256_MiB},
      {{.growth_bytes = 4_MiB, .stream_cache_bytes = 256_KiB},
       {.threads = 3, .operations = 1'000'000},
       32_MiB,
       false},
      {{.max_bytes = 24_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 1_MiB},
       {.operations = 1'500'000, .release_first = false},
       256_MiB},
      {{.growth_bytes = 4_MiB, .stream_cache_bytes = 8_MiB, .trust_handles = true},
       {.operations = 1'000'000},
       256_MiB},
      {{.growth_bytes = 4_MiB, .stream_cache_bytes = 2_MiB},
       {.operations = 1'500'000, .release_first = false, .captures = true},
       256_MiB},
      {{.initial_bytes = 8_MiB, .max_bytes = 16_MiB},
       {.threads = 6, .operations = 600'000},
       64_MiB},
      {{.max_bytes = 14_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 1_MiB},
       {.threads = 8, .operations = 600'000, .release_first = false, .graphs = true, .trims = true},
       256_MiB},
      {{.max_bytes = 24_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 1_MiB},
       {.operations = 800'000, .release_first = false, .graphs = true, .peers = true},
       256_MiB},
      {{.initial_bytes = 48_MiB,
        .max_bytes = 48_MiB,
        .growth_bytes = 2_MiB,
        .stream_cache_bytes = 256_KiB},
       {.operations = 800'000,
        .most_live_bytes = 512_KiB,
        .release_first = false,
        .graphs = true,
        .callbacks = true},
       256_MiB,
       true,
       true},
      {{.max_bytes = 16_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 1_MiB},
       {.threads = 1, .operations = 400'000, .per_thread_streams = false, .legacy = true},
       64_MiB},
  };
  for (auto const& each : runs) {
    INFO("seed " << seed << " run " << (&each - runs));
    fake_device device{each.device_bytes};
    {
      fake_backend backend{&device};
      backend.joins_chunks = each.joins_chunks;
      core pool{backend, each.pool};
      auto const counts = test::storm(pool, device, each.storm, seed);
      done += counts.operations;
      INFO(device.first_violation());
      CHECK(device.violations == 0);
      auto const stats = pool.stats();
      CHECK(stats.live_bytes == 0);
      CHECK(stats.allocations == stats.deallocations);
      CHECK(pool.lost_bytes() == 0);
      CHECK(*stats.reserved_bytes == device.reserved_bytes());
      CHECK(device.spoilt == 0);
      if (each.presses_never) { CHECK(device.waits == counts.trims); }
      if (!each.storm.captures) {
        pool.trim();
        CHECK(*pool.stats().reserved_bytes <= each.pool.initial_bytes);
      }
    }
    CHECK(device.reserved_bytes() == 0);
    CHECK(device.violations == 0);
  }
  CHECK(done >= 12'000'000);
}
