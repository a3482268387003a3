// assay-test-timeout: 900
// SPDX-License-Identifier: Apache-2.0
// The pool on a GPU: order between streams, captures, growth and trim, with kernels that check
// tags.
#include "catch.hpp"
#include "memory/limited.hpp"
#include "pool/tags.cuh"

#include <assay/core/units.hpp>
#include <assay/memory/counted.hpp>
#include <assay/memory/managed.hpp>
#include <assay/pool/pool_definitions.hpp>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::literals;
using test::expect, test::readable, test::write, test::wrong_count;

namespace {

constexpr on::device place{0};

/// A resource that is wrong on purpose: what one stream gave back it hands to any other at once.
struct out_of_order {
  mr::pool_resource from;
  void* kept = nullptr;
  void* allocate(::cuda::stream_ref stream, std::size_t bytes) {
    return kept != nullptr ? std::exchange(kept, nullptr) : from.allocate(stream, bytes);
  }
  void deallocate(::cuda::stream_ref, void* block, std::size_t) { kept = block; }
};

bool contains(std::string const& text, std::string const& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a pool that is full says so, and works on") {
  stream const lane{place};
  auto pool = mr::pool{.initial_bytes = 8_MiB, .max_bytes = 8_MiB}.open(place);
  void* const block = pool.allocate(lane, 6_MiB);
  CHECK(contains(test::message_of([&] { pool.allocate(lane, 4_MiB); }),
                 "mr::pool: no room for 4 MiB: 8 MiB reserved of at most 8 MiB, 6 MiB in use"));
  pool.deallocate(lane, block, 6_MiB);
  void* const whole = pool.allocate(lane, 8_MiB);
  CHECK(whole != nullptr);
  pool.deallocate(lane, whole, 8_MiB);
}

TEST_CASE("a pool is made in one step, and can have its memory from another resource") {
  stream const lane{place};
  mr::pool_resource made{place, 8_MiB};
  CHECK(made.stats().reserved_bytes == 8_MiB);
  made.deallocate(lane, made.allocate(lane, 1_MiB), 1_MiB);

  auto below = mr::counted{test::limited{mr::managed{}, 100_MiB}}.open(place);
  {
    auto pool = mr::pool{}.open(place, below);
    auto* const numbers = static_cast<unsigned*>(pool.allocate(lane, 4_MiB));
    CHECK(below.stats().live_bytes == 64_MiB);
    wrong_count const wrong;
    write(lane, numbers, 4_MiB, 7);
    expect(lane, numbers, 4_MiB, 7, wrong);
    lane.synchronize();
    CHECK(wrong.value() == 0);
    static_assert(mr::is_host_accessible<decltype(pool)>);
    CHECK(numbers[4_MiB / sizeof(unsigned) - 1] == 7);
    CHECK(contains(test::message_of([&] { pool.allocate(lane, 101_MiB); }),
                   "no room for 104 MiB: 64 MiB reserved"));
    pool.deallocate(lane, numbers, 4_MiB);
    void* const large = pool.allocate(lane, 80_MiB);  // the chunk of 64 MiB makes room
    CHECK(below.stats().live_bytes == 80_MiB);
    pool.deallocate(lane, large, 80_MiB);
    CHECK(pool.trim() == 80_MiB);
    CHECK(below.stats().live_bytes == 0);
    pool.deallocate(lane, pool.allocate(lane, 1_MiB), 1_MiB);
  }
  CHECK(below.stats().live_bytes == 0);  // the pool has given all back
}

TEST_CASE("a pool of another resource refuses sizes that exclude each other") {
  mr::pool const how{.initial_bytes = 4_MiB, .max_bytes = 2_MiB};
  CHECK(contains(test::message_of([&] { how.open(place, mr::managed{}.open(place)); }),
                 "initial_bytes 4 MiB is more than max_bytes 2 MiB"));
}

TEST_CASE("the tag check itself finds a block that was given out too early") {
  wrong_count const wrong;
  stream const first{place};
  stream const second{place};
  event written;
  event overwritten;
  out_of_order memory{readable({}).open(place)};
  void* const block = memory.allocate(first, 4_KiB);
  write(first, block, 4_KiB, 1);
  expect(first, block, 4_KiB, 1, wrong);
  CHECK(wrong.value() == 0);
  written.record(first);
  memory.deallocate(first, block, 4_KiB);
  // Of all orders that the two streams may come in without a wait, the one that must be seen: the
  // second writes before the first, which had not done with the block, looks at it.
  check(cudaStreamWaitEvent(second.get(), written.get(), 0));
  void* const early = memory.allocate(second, 4_KiB);
  CHECK(early == block);
  write(second, early, 4_KiB, 2);
  overwritten.record(second);
  check(cudaStreamWaitEvent(first.get(), overwritten.get(), 0));
  expect(first, block, 4_KiB, 1, wrong);
  CHECK(wrong.value() == kernel::probes);
  memory.from.deallocate(first, block, 4_KiB);
}

TEST_CASE("a block taken from a busy stream waits for it") {
  wrong_count const wrong;
  stream const first{place};
  stream const second{place};
  auto pool = readable({.initial_bytes = 2_MiB, .max_bytes = 2_MiB}).open(place);
  void* const block = pool.allocate(first, 2_MiB);
  write(first, block, 2_MiB, 1);
  expect(first, block, 2_MiB, 1, wrong, test::small() ? 1'000 : 200'000'000);
  pool.deallocate(first, block, 2_MiB);
  void* const same = pool.allocate(second, 2_MiB);
  CHECK(same == block);
  write(second, same, 2_MiB, 2);
  CHECK(wrong.value() == 0);
  pool.deallocate(second, same, 2_MiB);
}

TEST_CASE("a new stream with an old handle does not inherit its blocks") {
  bool const released = GENERATE(true, false);
  wrong_count const wrong;
  auto pool = readable({.initial_bytes = 128_MiB, .trust_handles = released}).open(place);
  for (int i = 0; i < (test::small() ? 10 : 50); ++i) {
    std::optional<stream> lane{place};
    void* const block = pool.allocate(*lane, 1_MiB);
    write(*lane, block, 1_MiB, static_cast<unsigned>(i));
    expect(*lane, block, 1_MiB, static_cast<unsigned>(i), wrong, test::small() ? 1'000 : 1'000'000);
    pool.deallocate(*lane, block, 1_MiB);
    if (released) { pool.release(*lane); }
    lane.reset();
  }
  CHECK(wrong.value() == 0);
}

TEST_CASE("default streams of two threads are two streams, of one thread one") {
  wrong_count const wrong;
  auto pool = readable({.initial_bytes = 4_MiB, .max_bytes = 4_MiB}).open(place);
  ::cuda::stream_ref const own{cudaStreamPerThread};
  void* const mine = pool.allocate(own, 2_MiB);
  write(own, mine, 2_MiB, 1);
  expect(own, mine, 2_MiB, 1, wrong, test::small() ? 1'000 : 50'000'000);
  pool.deallocate(own, mine, 2_MiB);
  std::thread other{[&] {
    check(cudaSetDevice(place.id));
    auto handle = pool;
    void* const first = handle.allocate(own, 2_MiB);
    CHECK(first != mine);
    void* const second = handle.allocate(own, 2_MiB);  // only after the device has been waited for
    CHECK(second == mine);
    write(own, second, 2_MiB, 2);
    handle.deallocate(own, first, 2_MiB);
    handle.deallocate(own, second, 2_MiB);
  }};
  other.join();
  CHECK(wrong.value() == 0);

  ::cuda::stream_ref const legacy{cudaStreamLegacy};
  void* const block = pool.allocate(legacy, 1_MiB);
  pool.deallocate(legacy, block, 1_MiB);
  CHECK(pool.stats().live_bytes == 0);
}

TEST_CASE("a thread may begin with a call to the pool, on a default stream") {
  auto const pool = readable({.initial_bytes = 4_MiB}).open(place);
  for (cudaStream_t const handle : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
    std::thread{[&, handle] {
      auto mine = pool;  // of device 0, which is current from the start, without a context
      ::cuda::stream_ref const where{handle};
      mine.deallocate(where, mine.allocate(where, 1_MiB), 1_MiB);
    }}.join();
  }
  CHECK(pool.stats().allocations == 3);
  CHECK(pool.stats().deallocations == 3);
  CHECK(pool.stats().late_frees == 0);
}

TEST_CASE("a captured graph keeps its blocks while it is replayed") {
  wrong_count const wrong;
  stream const lane{place};
  stream const other{place};
  auto pool = readable({.initial_bytes = 64_MiB, .max_bytes = 64_MiB}).open(place);
  pool.deallocate(lane, pool.allocate(lane, 2_MiB), 2_MiB);
  {
    auto hold = pool.capture(lane);
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(lane.get(), cudaStreamCaptureModeGlobal));
    for (unsigned i = 0; i < 3; ++i) {
      void* const block = pool.allocate(lane, 2_MiB);
      write(lane, block, 2_MiB, 100 + i);
      expect(lane, block, 2_MiB, 100 + i, wrong, test::small() ? 1'000 : 100'000);
      pool.deallocate(lane, block, 2_MiB);
    }
    check(cudaStreamEndCapture(lane.get(), &graph));
    hold.end();
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiate(&ready, graph, 0));
    for (unsigned round = 0; round < (test::small() ? 10U : 100U); ++round) {
      check(cudaGraphLaunch(ready, other.get()));
      // Meanwhile the stream works as before, on blocks that the graph does not touch.
      void* const block = pool.allocate(lane, 2_MiB);
      write(lane, block, 2_MiB, round);
      expect(lane, block, 2_MiB, round, wrong);
      pool.deallocate(lane, block, 2_MiB);
    }
    check(cudaDeviceSynchronize());
    check(cudaGraphExecDestroy(ready));
    check(cudaGraphDestroy(graph));
  }
  CHECK(wrong.value() == 0);
  void* const all = pool.allocate(lane, 64_MiB);  // the graph's blocks are back
  pool.deallocate(lane, all, 64_MiB);
}

TEST_CASE("a capture that the pool was not told of goes on, and gets no block") {
  stream const captured{place};
  stream const lane{place};
  auto pool = readable({.growth_bytes = 2_MiB}).open(place);
  void* const before = pool.allocate(captured, 2_MiB);
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeGlobal));
  CHECK(test::message_of([&] { pool.allocate(captured, 2_MiB); }).find("call capture(stream)") !=
        std::string::npos);
  pool.deallocate(captured, before, 2_MiB);  // the graph's from here
  std::thread{[&] {
    check(cudaSetDevice(place.id));
    auto mine = pool;
    void* const block = mine.allocate(lane, 20_MiB);  // grows
    CHECK(block != before);
    mine.deallocate(lane, block, 20_MiB);
  }}.join();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(captured.get(), &graph));
  check(cudaGraphDestroy(graph));
  CHECK(pool.stats().live_bytes == 0);
}

TEST_CASE("what the pool does leaves captures on other threads alone") {
  wrong_count const wrong;
  stream const captured{place};
  stream const lane{place};
  auto pool = readable({.growth_bytes = 2_MiB}).open(place);
  auto gone = std::make_optional(pool.capture(lane));
  pool.deallocate(lane, pool.allocate(lane, 2_MiB), 2_MiB);
  gone->end();
  auto hold = pool.capture(captured);
  check(cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeThreadLocal));
  std::thread other{[&] {
    check(cudaSetDevice(place.id));
    auto mine = pool;
    gone.reset();                                     // would wait for the device
    void* const block = mine.allocate(lane, 20_MiB);  // grows
    write(lane, block, 20_MiB, 7);
    expect(lane, block, 20_MiB, 7, wrong);
    mine.deallocate(lane, block, 20_MiB);
    CHECK_THROWS_AS(mine.allocate(lane, 1024_GiB), mr::out_of_memory);  // tries everything
    auto unused = mine.capture(lane);
    unused.end();
  }};
  other.join();
  void* const block = pool.allocate(captured, 2_MiB);
  write(captured, block, 2_MiB, 9);
  expect(captured, block, 2_MiB, 9, wrong);
  pool.deallocate(captured, block, 2_MiB);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(captured.get(), &graph));
  hold.end();
  cudaGraphExec_t ready = nullptr;
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphLaunch(ready, lane.get()));
  CHECK(wrong.value() == 0);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
}

TEST_CASE("mapped chunks side by side hold blocks that none of them could, and come back") {
  wrong_count const wrong;
  stream const lane{place};
  auto pool = mr::pool{.growth_bytes = 2_MiB}.open(place);
  for (unsigned round = 0; round < (test::small() ? 3U : 20U); ++round) {
    std::vector<void*> blocks(8);
    for (auto& block : blocks) { block = pool.allocate(lane, 2_MiB); }
    for (void* const block : blocks) { pool.deallocate(lane, block, 2_MiB); }
    CHECK(pool.trim() == 16_MiB);
    CHECK(*pool.stats().reserved_bytes == 0);
    for (auto& block : blocks) { block = pool.allocate(lane, 2_MiB); }
    for (void* const block : blocks) { pool.deallocate(lane, block, 2_MiB); }
    pool.release(lane);
    lane.synchronize();
    void* const large = pool.allocate(lane, 20_MiB);
    CHECK(*pool.stats().reserved_bytes == 20_MiB);
    if (!test::small()) {  // as `readable` says
      write(lane, large, 20_MiB, round);
      expect(lane, large, 20_MiB, round, wrong);
    }
    pool.deallocate(lane, large, 20_MiB);
    CHECK(pool.trim() == 20_MiB);
  }
  CHECK(wrong.value() == 0);
}

TEST_CASE("at the pool's limit chunks that lie apart make room, and what lay beside them stays") {
  wrong_count const wrong;
  stream const lane{place};
  auto pool =
      readable({.max_bytes = 16_MiB, .growth_bytes = 2_MiB, .stream_cache_bytes = 0}).open(place);
  for (unsigned round = 0; round < (test::small() ? 1U : 10U); ++round) {
    std::vector<void*> blocks(8);
    for (auto& block : blocks) {
      block = pool.allocate(lane, 2_MiB);
      write(lane, block, 2_MiB, static_cast<unsigned>(&block - &blocks[0]));
    }
    for (std::size_t i = 0; i < 8; i += 2) { pool.deallocate(lane, blocks[i], 2_MiB); }
    void* const large = pool.allocate(lane, 8_MiB);
    CHECK(*pool.stats().reserved_bytes == 16_MiB);
    write(lane, large, 8_MiB, 1000 + round);
    expect(lane, large, 8_MiB, 1000 + round, wrong);
    for (unsigned i = 1; i < 8; i += 2) { expect(lane, blocks[i], 2_MiB, i, wrong); }
    pool.deallocate(lane, large, 8_MiB);
    for (std::size_t i = 1; i < 8; i += 2) { pool.deallocate(lane, blocks[i], 2_MiB); }
    CHECK(wrong.value() == 0);
    CHECK(pool.trim() == 16_MiB);
    CHECK(*pool.stats().reserved_bytes == 0);
  }
}

TEST_CASE("memory that is trimmed goes back to the driver") {
  stream const lane{place};
  auto pool = mr::pool{.initial_bytes = 4_MiB, .growth_bytes = 256_MiB}.open(place);
  pool.deallocate(lane, pool.allocate(lane, 200_MiB), 200_MiB);
  CHECK(*pool.stats().reserved_bytes == 260_MiB);
  CHECK(pool.trim() == 256_MiB);
  CHECK(*pool.stats().reserved_bytes == 4_MiB);
  // An eighth of a large chunk goes back by itself. The block is cut from its front.
  void* const kept = pool.allocate(lane, 40_MiB);
  void* const large = pool.allocate(lane, 8_GiB);
  pool.deallocate(lane, large, 8_GiB);
  auto const reserved = *pool.stats().reserved_bytes;
  auto const returned = pool.trim();
  CHECK(returned >= 7_GiB);
  CHECK(*pool.stats().reserved_bytes == reserved - returned);
  pool.deallocate(lane, kept, 40_MiB);
}
