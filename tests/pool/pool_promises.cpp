// SPDX-License-Identifier: Apache-2.0
// What docs/pool.md promises: blocks of graphs, frees that fail, waits beside other threads, the
// legacy default stream, forks, and the end of the process.
#include "catch.hpp"
#include "pool/pool_bench.hpp"

#include <assay/core/units.hpp>
#include <assay/memory/checked.hpp>
#include <assay/pool/pool_core.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

using namespace assay;
using namespace assay::literals;
using assay::test::fake_backend;
using assay::test::fake_device;
using bench = assay::test::pool_bench;
using core = mr::pool_core<fake_backend>;

namespace {

/// True if the pool hands the block out when it hands out all it has.
bool hands_out(bench& at, void* wanted, std::size_t bytes) {
  bool found = false;
  std::vector<void*> all;
  try {
    for (;;) {
      all.push_back(at.pool->allocate(at.c, bytes));
      found = found || all.back() == wanted;
    }
  } catch (mr::out_of_memory const&) {}
  for (void* const each : all) { at.pool->deallocate(at.c, each, bytes); }
  return found;
}

/// The pool as a resource.
struct handle {
  std::shared_ptr<core> of;
  void* allocate(int stream, std::size_t bytes, std::size_t) { return of->allocate(stream, bytes); }
  void deallocate(int stream, void* block, std::size_t bytes, std::size_t) noexcept {
    of->deallocate(stream, block, bytes);
  }
  auto stats() const { return of->stats(); }
  bool operator==(handle const&) const = default;
};

/// True if another thread gets through with a call, before this one goes on.
bool gets_through(std::function<void()> call, std::future<void>& running) {
  running = std::async(std::launch::async, std::move(call));
  return running.wait_for(std::chrono::seconds{30}) == std::future_status::ready;
}

}  // namespace

TEST_CASE("a block of a capture that the pool was not told of joins no other hold") {
  bench at{test::fixed_pool(8_MiB)};
  void* const block = at.take(at.b, 1_MiB);
  auto hold = at.pool->begin_capture(at.a);
  at.device.begin_capture(at.b);
  at.pool->deallocate(at.b, block, 1_MiB);  // the graph of `b` uses it as long as it can replay
  at.device.end_capture(at.b);
  at.pool->end_capture(*hold);
  at.pool->drop_capture(*hold);
  CHECK_FALSE(hands_out(at, block, 1_MiB));
  CHECK(at.pool->stats().live_bytes == 0);
  CHECK(*at.pool->stats().late_frees == 0);
  CHECK(at.device.spoilt == 0);
}

TEST_CASE("a block that several graphs use is free when the last of them has gone") {
  bool const first_goes_first = GENERATE(true, false);
  bool const told = GENERATE(true, false);  // of the second capture
  bench at{test::fixed_pool(8_MiB)};
  auto first = at.pool->begin_capture(at.a);
  void* const block = at.pool->allocate(at.a, 1_MiB);
  at.pool->end_capture(*first);
  auto second = told ? at.pool->begin_capture(at.b) : nullptr;
  at.device.begin_capture(at.b);
  at.pool->deallocate(at.b, block, 1_MiB);
  at.device.end_capture(at.b);
  if (told) { at.pool->end_capture(*second); }
  CHECK(at.pool->stats().live_bytes == 0);
  CHECK_FALSE(hands_out(at, block, 1_MiB));
  if (!told) {
    at.pool->drop_capture(*first);
    CHECK_FALSE(hands_out(at, block, 1_MiB));
    return;
  }
  auto const& goes = first_goes_first ? first : second;
  at.pool->drop_capture(*goes);
  CHECK_FALSE(hands_out(at, block, 1_MiB));
  at.pool->drop_capture(*(first_goes_first ? second : first));
  CHECK(hands_out(at, block, 1_MiB));
}

TEST_CASE(
    "blocks given back on a stream of another device wait for both devices, and are told of") {
  fake_device device{64_MiB};
  auto const pool = std::make_shared<core>(fake_backend{&device, 1}, test::fixed_pool(8_MiB));
  mr::checked_resource<handle> memory{handle{pool}};
  int const own = device.create();
  int const peer = device.create();
  device.foreign.insert(peer);
  std::vector<void*> blocks;
  for (std::uint32_t tag = 1; tag <= 4; ++tag) {
    blocks.push_back(memory.allocate(own, 2_MiB));
    device.take(own, blocks.back(), 2_MiB, tag);
  }
  device.after(peer, own);
  for (std::uint32_t tag = 1; tag <= 4; ++tag) {
    device.leave(peer, blocks[tag - 1], 2_MiB, tag);
    memory.deallocate(peer, blocks[tag - 1], 2_MiB);
  }
  CHECK(*memory.stats().late_frees == 4);
  CHECK(memory.stats().live_bytes == 0);
  CHECK(memory.live_blocks().empty());
  auto const told = test::message_of([&] { memory.verify(); });
  CHECK(told.find("mr::checked: late frees: 4: their stream is of another device") == 0);
  CHECK(test::message_of([&] { memory.verify(); }) == "nothing was thrown");
  void* const all = memory.allocate(own, 8_MiB);
  device.take(own, all, 8_MiB, 5);
  CHECK(device.waits == 1);
  INFO(device.first_violation());
  CHECK(device.violations == 0);
}

TEST_CASE("a free that fails while its stream is captured stays with the graph") {
  bench at{test::fixed_pool(8_MiB)};
  void* const block = at.take(at.a, 1_MiB);
  at.device.begin_capture(at.a);
  at.device.fail_at = at.device.calls + 1;  // whether it is captured
  at.pool->deallocate(at.a, block, 1_MiB);
  at.device.end_capture(at.a);
  CHECK(*at.pool->stats().late_frees == 1);
  CHECK_FALSE(hands_out(at, block, 1_MiB));
}

// The thread that is waited for stands for one that a host callback of the device's work waits for.
TEST_CASE("an allocation for which there is memory waits for no other thread's wait") {
  bool const trims = GENERATE(true, false);  // or asks for too much
  std::size_t const bytes = GENERATE(std::size_t{2_MiB}, std::size_t{64_KiB});
  bool const trusted = GENERATE(false, true);
  bool const large = GENERATE(false, true);  // for caches, so that each free records an event
  auto options = test::fixed_pool(8_MiB);
  options.trust_handles = trusted;
  if (large) { options.stream_cache_bytes = 0; }
  bench at{options};
  void* const kept = at.take(at.b, 1_MiB);
  // Free blocks side by side, of streams that record no event.
  void* const mine = at.take(at.a, bytes);
  void* const other = at.take(at.c, bytes);
  void* const mine_too = at.take(at.a, bytes);
  at.leave(at.a, mine, bytes);
  at.leave(at.c, other, bytes);
  at.leave(at.a, mine_too, bytes);
  std::future<void> running;
  bool through = false;
  std::uint64_t recorded = 0;  // the driver may hold such a call back as long as the wait lasts
  at.device.while_waiting = [&] {
    if (running.valid()) { return; }
    auto const before = at.device.records + at.device.events;
    through = gets_through(
        [&] {
          for (int i = 0; i < 3; ++i) {
            void* const block = at.pool->allocate(at.a, bytes);
            at.device.take(at.a, block, bytes, 100);
            at.device.leave(at.a, block, bytes, 100);
            at.pool->deallocate(at.a, block, bytes);
          }
        },
        running);
    recorded = at.device.records + at.device.events - before;
  };
  if (trims) {
    at.pool->trim();
  } else {
    CHECK_THROWS_AS(at.pool->allocate(at.b, 8_MiB), mr::out_of_memory);
    auto const before = at.device.records.load();
    at.leave(at.a, at.take(at.a, bytes), bytes);  // answers that thread's call for events now
    CHECK(at.device.records == before + (trusted && !large ? 0 : 1));
  }
  at.leave(at.b, kept, 1_MiB);
  CHECK(through);
  CHECK(recorded == 0);
  CHECK(at.device.waits == 1);
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);
}

TEST_CASE("no call records an event beside another thread's wait, and no block is lost by that") {
  bool const trusted = GENERATE(false, true);
  std::size_t const cache_bytes = GENERATE(std::size_t{0}, std::size_t{1_MiB});
  auto options = test::fixed_pool(8_MiB);
  options.trust_handles = trusted;
  options.stream_cache_bytes = cache_bytes;
  bench at{options};
  void* const large = at.take(at.a, 2_MiB);
  void* const larger = at.take(at.a, 3_MiB);
  void* const small = at.take(at.a, 64_KiB);
  void* const other = at.take(at.b, 1_MiB);
  std::future<void> running;
  bool through = false;
  void* again = nullptr;
  std::uint64_t recorded = 0;
  at.device.while_waiting = [&] {
    if (running.valid()) { return; }
    auto const before = at.device.records + at.device.events;
    through = gets_through(
        [&] {
          at.leave(at.a, larger, 3_MiB);
          at.leave(at.a, large, 2_MiB);
          again = at.take(at.a, 2_MiB);
          at.leave(at.a, again, 2_MiB);
          at.leave(at.a, small, 64_KiB);
          at.leave(at.b, other, 1_MiB);
          at.pool->release(at.b);
          auto hold = at.pool->begin_capture(at.c);
          at.pool->end_capture(*hold);
          at.pool->drop_capture(*hold);
        },
        running);
    recorded = at.device.records + at.device.events - before;
  };
  at.pool->trim();
  CHECK(through);
  CHECK(again == large);
  CHECK(recorded == 0);
  CHECK(at.live() == 0);
  bool const by_own = GENERATE(false, true);  // or by a stream that must come after both
  int const last = by_own ? at.a : at.c;
  at.leave(last, at.take(last, 8_MiB), 8_MiB);
  CHECK(at.device.waits == 2);  // `b` has ended behind no event
  CHECK(at.pool->lost_bytes() == 0);
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);
}

TEST_CASE("memory that is ready stays ready beside blocks that are busy") {
  bool const captures = GENERATE(true, false);
  auto options = test::fixed_pool(8_MiB);
  options.stream_cache_bytes = 0;
  bench at{options};
  at.leave(at.c, at.take(at.c, 1_MiB), 1_MiB);  // behind an event that has not passed
  if (captures) {
    auto hold = at.pool->begin_capture(at.a);
    at.pool->deallocate(at.a, at.pool->allocate(at.a, 4_MiB), 4_MiB);
    at.pool->end_capture(*hold);
    at.pool->drop_capture(*hold);
  } else {
    at.leave(at.a, at.take(at.a, 4_MiB), 4_MiB);
  }
  CHECK(at.device.waits == 0);
  CHECK(*at.pool->stats().waits == 0);
  if (captures) { return; }
  at.leave(at.a, at.take(at.a, 8_MiB), 8_MiB);  // both together
  CHECK(at.device.waits == 0);
  CHECK(*at.pool->stats().waits == 1);
  CHECK(at.device.violations == 0);
}

TEST_CASE("the legacy default stream gives blocks back beside a capture that it could end") {
  int const legacy = fake_device::legacy_handle;
  bool const known = GENERATE(true, false);
  bench at{test::fixed_pool(4_MiB)};
  if (known) { at.leave(legacy, at.take(legacy, 4_KiB), 4_KiB); }
  void* const block = known ? at.take(legacy, 1_MiB) : at.take(at.a, 1_MiB);
  void* const small = at.take(at.a, 4_KiB);
  at.device.begin_capture(at.b, true);
  CHECK(
      test::message_of([&] { at.pool->allocate(legacy, 1_MiB); }) ==
      "mr::pool: allocate on the legacy default stream, while a stream that waits for it is being "
      "captured: capture a stream made with cudaStreamNonBlocking");
  at.device.after(legacy, at.a);
  at.leave(legacy, block, 1_MiB);
  at.leave(legacy, small, 4_KiB);
  at.device.end_capture(at.b);
  CHECK(at.pool->stats().live_bytes == 0);
  CHECK(*at.pool->stats().late_frees == 0);
  at.leave(at.a, at.take(at.a, 4_MiB), 4_MiB);  // all memory
  CHECK(at.device.spoilt == 0);
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);

  at.device.begin_capture(at.b);  // a stream that does not wait for the legacy one
  at.leave(legacy, at.take(legacy, 1_MiB), 1_MiB);
  at.device.end_capture(at.b);
  CHECK(at.device.spoilt == 0);
}

TEST_CASE("a child of a fork is refused by name, and leaves the memory to its parent") {
  bool const trusted = GENERATE(false, true);
  auto options = test::fixed_pool(4_MiB);
  options.trust_handles = trusted;
  bench at{options};
  void* const live = at.take(at.a, 4_KiB);
  at.leave(at.a, at.take(at.a, 4_KiB), 4_KiB);
  auto const child = fork();
  if (child == 0) {
    auto const told = test::message_of([&] { at.pool->allocate(at.a, 4_KiB); });
    bool const named = told.find("mr::pool: allocate in a process that was forked") == 0;
    at.pool->deallocate(at.a, live, 4_KiB);
    auto const before = at.device.reserved_bytes();
    at.pool.reset();
    bool const kept = at.device.reserved_bytes() == before && at.device.waits == 0;
    fake_device fresh{64_MiB};
    core mine{fake_backend{&fresh, 1}, {}};
    bool const serves = mine.allocate(fresh.create(), 4_KiB) != nullptr;
    _exit((named ? 0 : 1) + (kept ? 0 : 2) + (serves ? 0 : 4));
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  at.leave(at.a, live, 4_KiB);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a pool that outlives its driver is dropped quietly, and takes blocks back before") {
  bool const held = GENERATE(false, true);
  bench at{{.growth_bytes = 2_MiB}};
  void* const live = at.take(at.a, 4_KiB);
  void* const large = at.take(at.b, 40_MiB);
  auto hold = held ? at.pool->begin_capture(at.c) : nullptr;
  if (held) { (void)at.pool->allocate(at.c, 4_KiB); }
  at.device.gone = true;
  at.leave(at.a, live, 4_KiB);
  at.leave(at.b, large, 40_MiB);
  CHECK_THROWS_AS(at.pool->allocate(at.a, 4_KiB), test::injected_fault);
  CHECK_THROWS_AS(at.pool->trim(), test::injected_fault);
  if (held) { at.pool->drop_capture(*hold); }
  at.pool.reset();
  CHECK(at.device.reserved_bytes() == 0);
}
