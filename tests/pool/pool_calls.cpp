// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
// The pool makes few calls of the driver for an operation, and a call that it saves costs no
// safety.
#include "catch.hpp"
#include "pool/fake_device.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/pool_core.hpp>

#include <cstdint>
#include <random>
#include <vector>

using namespace assay;
using namespace assay::literals;
using assay::test::fake_backend;
using assay::test::fake_device;

namespace {

constexpr std::size_t small_bytes = 4_KiB;
constexpr std::size_t large_bytes = 8_MiB;  // more than an eighth of a stream's cache

struct bench {
  explicit bench(mr::pool const& options, unsigned ready_every = 0)
      : pool(fake_backend{&device, ready_every}, options) {}

  void* take(int stream, std::size_t bytes) {
    void* const block = pool.allocate(stream, bytes);
    device.take(stream, block, bytes, 1);
    return block;
  }
  void leave(int stream, void* block, std::size_t bytes) {
    device.leave(stream, block, bytes, 1);
    pool.deallocate(stream, block, bytes);
  }
  void pair(int stream, std::size_t bytes) { leave(stream, take(stream, bytes), bytes); }

  fake_device device{64_MiB};
  int a = device.create();
  int b = device.create();
  mr::pool_core<fake_backend> pool;
};

mr::pool with_small_caches(bool trusted) {
  return {.initial_bytes = 32_MiB,
          .growth_bytes = 2_MiB,
          .stream_cache_bytes = 4_MiB,
          .trust_handles = trusted};
}

mr::pool without_memory() {
  auto options = with_small_caches(false);
  options.initial_bytes = 0;
  return options;
}

/// Calls of the backend: of an allocation, of its free, and the events among them.
using made = std::vector<std::uint64_t>;

/// The calls of one more pair on the first stream.
made calls_of_pair(bench& at, std::size_t bytes) {
  auto const records = at.device.records.load();
  auto const first = at.device.calls.load();
  void* const block = at.take(at.a, bytes);
  auto const second = at.device.calls.load();
  at.leave(at.a, block, bytes);
  return {second - first, at.device.calls - second, at.device.records - records};
}

}  // namespace

TEST_CASE("a large free records an event, and a small one asks whether its stream is captured") {
  bool const alone = GENERATE(true, false);
  bench at{with_small_caches(false)};
  for (int const stream : {at.a, alone ? at.a : at.b, at.a}) {
    at.pair(stream, small_bytes);
    // Until no memory is left that nobody has used: such memory needs no wait.
    for (int i = 0; i < 3; ++i) { at.pair(stream, large_bytes); }
  }
  CHECK(calls_of_pair(at, small_bytes) == made{2, 1, 0});
  CHECK(calls_of_pair(at, large_bytes) == made{2, 3, 1});
}

TEST_CASE("with trusted handles a small pair makes no call, and a large free one event") {
  bench at{with_small_caches(true)};
  for (int const stream : {at.a, at.b, at.a}) {
    at.pair(stream, small_bytes);
    // Until no memory is left that nobody has used: such memory needs no wait.
    for (int i = 0; i < 3; ++i) { at.pair(stream, large_bytes); }
    if (stream == at.b) { continue; }
    CHECK(calls_of_pair(at, small_bytes) == made{0, 0, 0});
    CHECK(calls_of_pair(at, large_bytes) == made{0, 1, 1});
  }
}

TEST_CASE("a large block of another stream costs a wait on the device, and no memory") {
  bench at{without_memory()};
  at.pair(at.a, 16_MiB);
  CHECK(at.device.records == 1);
  auto const reserved = at.pool.stats().reserved_bytes;
  for (int i = 0; i < 10; ++i) {
    at.pair(at.b, 16_MiB);
    at.pair(at.a, 16_MiB);
  }
  CHECK(at.device.waits == 0);
  CHECK(at.pool.stats().reserved_bytes == reserved);
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);
}

TEST_CASE("streams that come and go beside one that stays do not wait for the device") {
  bench at{without_memory()};
  at.pair(at.a, 16_MiB);
  auto const reserved = at.pool.stats().reserved_bytes;
  for (int i = 0; i < 10; ++i) {
    at.pair(at.b, 16_MiB);
    at.pool.release(at.b);
    at.device.replace(at.b);
    for (int k = 0; k < 2; ++k) { at.pair(at.a, 16_MiB); }
  }
  CHECK(at.device.waits == 0);
  CHECK(at.pool.stats().reserved_bytes == reserved);
  CHECK(at.device.violations == 0);
}

TEST_CASE("streams that end without notice leave large blocks that wait on the device") {
  bench at{without_memory()};
  at.pair(at.a, 16_MiB);
  auto const reserved = at.pool.stats().reserved_bytes;
  for (int i = 0; i < 10; ++i) {
    at.device.replace(at.a);
    at.pair(at.a, 16_MiB);
  }
  CHECK(calls_of_pair(at, 16_MiB) == made{2, 3, 1});
  CHECK(at.device.waits == 0);
  CHECK(at.pool.stats().reserved_bytes == reserved);
  CHECK(at.device.violations == 0);
}

TEST_CASE("a capture uses what its stream freed before, without more memory") {
  bench at{without_memory(), 1};
  at.pair(at.a, 16_MiB);
  auto const reserved = at.pool.stats().reserved_bytes;
  auto const hold = at.pool.begin_capture(at.a);
  CHECK(at.device.records == 2);  // of the free, and of what came before the capture
  at.device.begin_capture(at.a);
  void* const block = at.pool.allocate(at.a, 16_MiB);
  CHECK(block != nullptr);
  at.pool.deallocate(at.a, block, 16_MiB);
  at.device.end_capture(at.a);
  at.pool.drop_capture(*hold);
  CHECK(at.pool.stats().reserved_bytes == reserved);
  CHECK(at.device.waits == 0);
  CHECK(at.device.violations == 0);
}

// One stream is alone at first. It is replaced without notice, frees blocks of its predecessor, and
// gets a second stream beside it.
TEST_CASE("pools of few streams never reuse a large block too early") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  auto const one_in = [&](std::uint64_t n) { return random() % n == 0; };
  for (int round = 0; round < 300; ++round) {
    auto options = with_small_caches(false);
    options.initial_bytes = one_in(2) ? 0 : 16_MiB;
    bench at{options};
    std::vector<int> streams{at.a};
    struct held {
      void* block;
      std::size_t bytes;
      std::size_t slot;  // a stream, also when another one has its handle
    };
    std::vector<held> live;
    auto const drop = [&] {
      auto const gone = live.back();
      live.pop_back();
      int const where = streams[random() % streams.size()];
      at.device.add_order(at.device.slot(where), at.device.order_of(gone.slot));
      at.leave(where, gone.block, gone.bytes);
    };
    for (int i = 0; i < 200; ++i) {
      if (i == 100 && one_in(2)) { streams.push_back(at.b); }
      int const where = streams[random() % streams.size()];
      if (one_in(40)) { at.device.replace(where); }
      if (live.size() > 4 || (!live.empty() && one_in(2))) {
        drop();
      } else {
        auto const bytes = one_in(4) ? 1 + random() % 64_KiB : 1 + random() % 4_MiB;
        live.push_back({at.take(where, bytes), bytes, at.device.slot(where)});
      }
    }
    while (!live.empty()) { drop(); }
    INFO("round " << round << ": " << at.device.first_violation());
    REQUIRE(at.device.violations == 0);
    REQUIRE(at.pool.stats().live_bytes == 0);
  }
}
