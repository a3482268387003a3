// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
// assay-precompiled: no
// assay-grouped: no, since it replaces operator new
// The pool at its limits: memory that runs out, a wait that fails, a capture that was told late.
#include "catch.hpp"
#include "failing_new.hpp"
#include "pool/fake_device.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/pool_core.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <vector>

using namespace assay;
using namespace assay::literals;
using assay::test::fake_backend;
using assay::test::fake_device;

namespace {

/// All memory is one piece, which goes back whole or not at all. So it stays at one place.
struct one_piece : fake_backend {
  std::size_t piece_bytes(std::size_t bytes) const noexcept { return bytes; }
};

struct bench {
  explicit bench(mr::pool const& options, unsigned ready_every = 0)
      : pool(one_piece{{&device, ready_every}}, options) {}

  void pair(int stream, std::size_t bytes) {
    void* const block = pool.allocate(stream, bytes);
    device.take(stream, block, bytes, 1);
    device.leave(stream, block, bytes, 1);
    pool.deallocate(stream, block, bytes);
  }
  /// Fills the pool with small blocks, and gives them back behind an event.
  void fill_slabs(int stream) {
    std::vector<void*> blocks;
    for (int i = 0; i < 34; ++i) { blocks.push_back(pool.allocate(stream, 200_KiB)); }
    for (void* const block : blocks) { pool.deallocate(stream, block, 200_KiB); }
    pool.release(stream);
  }

  fake_device device{64_MiB};
  int a = device.create();
  int b = device.create();
  mr::pool_core<one_piece> pool;
};

mr::pool fixed(std::size_t bytes) {
  return {.initial_bytes = bytes, .max_bytes = bytes, .growth_bytes = 2_MiB};
}

}  // namespace

TEST_CASE("a captured stream gets free memory of slabs where there is no other") {
  bench at{fixed(8_MiB), 1};
  at.fill_slabs(at.a);
  auto const hold = at.pool.begin_capture(at.b);
  at.device.begin_capture(at.b);
  void* const block = at.pool.allocate(at.b, 6_MiB);
  CHECK(block != nullptr);
  at.pool.deallocate(at.b, block, 6_MiB);
  at.device.end_capture(at.b);
  at.pool.drop_capture(*hold);
}

TEST_CASE("free memory of slabs behind an event costs a wait of the stream, and none of the host") {
  bench at{fixed(8_MiB)};
  at.fill_slabs(at.a);
  CHECK(at.pool.allocate(at.b, 7_MiB) != nullptr);
  CHECK(at.pool.stats().waits == 1u);
  CHECK(at.device.waits == 0);
}

TEST_CASE("a capture that began before the pool was told of it stays valid") {
  bool const trusted = GENERATE(false, true);
  bench at{{.growth_bytes = 2_MiB, .stream_cache_bytes = 4_MiB, .trust_handles = trusted}};
  at.pair(at.a, 16_MiB);
  at.device.begin_capture(at.a);
  CHECK(test::message_of([&] { (void)at.pool.begin_capture(at.a); }) ==
        "mr::pool: the stream is being captured already");
  CHECK(test::message_of([&] { at.pool.release(at.a); }) ==
        "mr::pool: release of a stream that is being captured: end() first");
  CHECK(at.device.spoilt == 0);
  at.device.end_capture(at.a);
  at.pair(at.a, 16_MiB);
  INFO(at.device.first_violation());
  CHECK(at.device.violations == 0);
}

TEST_CASE("every allocation that throws is counted, also where the wait for the device fails") {
  for (long fails_at = -1; fails_at < 9; ++fails_at) {
    bench at{fixed(16_MiB)};
    at.pair(at.a, 16_MiB);  // its cache keeps the block, behind no event
    if (fails_at < 0) {
      at.device.while_waiting = [] { throw test::injected_fault{"the device is gone"}; };
    }
    bool failed = false;
    test::allocations_until_failure = fails_at;
    try {
      (void)at.pool.allocate(at.b, 16_MiB);
    } catch (std::exception const&) { failed = true; }
    test::allocations_until_failure = -1;
    at.device.while_waiting = nullptr;
    INFO("host allocation " << fails_at);
    CHECK(failed);
    CHECK(at.pool.stats().failures == 1);
    auto const then = test::message_of([&] { at.pair(at.b, 16_MiB); });
    if (then != "nothing was thrown") { CHECK_THAT(then, test::contains("16 MiB lost track of")); }
    CHECK(at.device.violations == 0);
  }
}

TEST_CASE("memory runs out only where no free range holds the block") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr std::size_t all = 24_MiB;
  std::uint64_t refused = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    std::mt19937_64 random{seed + round};
    auto const one_in = [&](std::uint64_t n) { return random() % n == 0; };
    bool const trusted = one_in(3);
    auto options = fixed(all);
    options.trust_handles = trusted;
    options.stream_cache_bytes = one_in(3) ? 0 : one_in(2) ? 4_MiB : 64_MiB;
    bench at{options, static_cast<unsigned>(random() % 4)};
    std::vector<int> streams{at.a};
    for (auto more = random() % 6; more > 0; --more) { streams.push_back(at.device.create()); }
    struct item {
      std::size_t bytes;
      std::size_t slot;
      std::uint32_t tag;
    };
    std::map<std::uintptr_t, item> live;
    std::uint32_t tags = 0;
    auto const fits = [&](std::size_t bytes) {
      auto const block = [](std::size_t of) {
        return mr::size_class::bytes(mr::size_class::of(of));
      };
      std::uintptr_t free_from = fake_device::base;
      std::size_t most = 0;
      for (auto const& [address, each] : live) {
        most = std::max<std::size_t>(most, address - free_from);
        free_from = address + block(each.bytes);
      }
      most = std::max<std::size_t>(most, fake_device::base + all - free_from);
      // A piece of a slab at each end may hold a live block too.
      return most >= block(bytes) + 2 * mr::slab_heap::slab_piece_bytes;
    };
    auto const small_of_four = random() % 4;
    for (int i = 0; i < 300; ++i) {
      int const stream = streams[random() % streams.size()];
      auto const bytes =
          1 + random() % (random() % 4 < small_of_four ? 300_KiB : std::size_t{9_MiB});
      if (one_in(30)) {
        if (trusted || one_in(2)) { at.pool.release(stream); }
        at.device.replace(stream);
      } else if (!live.empty() && random() % 10 < (i % 100 < 60 ? 3U : 7U)) {
        auto const which = std::next(live.begin(), static_cast<long>(random() % live.size()));
        auto* const block = reinterpret_cast<void*>(which->first);
        auto const gone = which->second;
        live.erase(which);
        at.device.add_order(at.device.slot(stream), at.device.order_of(gone.slot));
        at.device.leave(stream, block, gone.bytes, gone.tag);
        at.pool.deallocate(stream, block, gone.bytes);
      } else if (one_in(40)) {
        auto const hold = at.pool.begin_capture(stream);
        at.device.begin_capture(stream);
        try {
          at.pool.deallocate(stream, at.pool.allocate(stream, bytes), bytes);
        } catch (mr::out_of_memory const&) {
          ++refused;
          REQUIRE_FALSE(fits(bytes));
        }
        at.device.end_capture(stream);
        at.pool.drop_capture(*hold);
      } else {
        try {
          void* const block = at.pool.allocate(stream, bytes);
          at.device.take(stream, block, bytes, ++tags);
          live[reinterpret_cast<std::uintptr_t>(block)] = {bytes, at.device.slot(stream), tags};
        } catch (mr::out_of_memory const&) {
          ++refused;
          REQUIRE_FALSE(fits(bytes));
        }
      }
    }
    INFO("round " << round << ": " << at.device.first_violation());
    REQUIRE(at.device.violations == 0);
    REQUIRE(at.device.spoilt == 0);
  }
  CHECK(refused > 1'000);
}
