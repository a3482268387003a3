// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
// assay-precompiled: no
// assay-grouped: no, since it replaces operator new
// Every call that the pool makes of its backend fails once, and every allocation of host memory:
// nothing is used twice, and nothing is lost but what the host has no memory to note.
#include "catch.hpp"
#include "failing_new.hpp"
#include "pool/fake_device.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/pool_core.hpp>

#include <utility>

using namespace assay;
using namespace assay::literals;
using assay::test::fake_backend;
using assay::test::fake_device;

namespace {

struct outcome {
  std::uint64_t calls = 0;
  std::uint64_t faults = 0;
  bool host_failed = false;
};

/// A script that needs every kind of call: misses, growth, waits, a capture, a release,
/// device waits. What throws is left out, the rest goes on.
/// `host_fails_at`: the allocation of host memory in the pool's calls that fails; -1 is none.
outcome script(bool trust_handles, std::uint64_t fail_at, long host_fails_at = -1) {
  fake_device device{64_MiB};
  device.fail_at = fail_at;
  outcome found;
  auto left = host_fails_at;
  auto const in_pool = [&](auto f) {
    struct watch {
      long& left;
      explicit watch(long& of) : left(of) { test::allocations_until_failure = of; }
      ~watch() { left = std::exchange(test::allocations_until_failure, -1); }
    } const watched{left};
    return f();
  };
  {
    mr::pool const options{.initial_bytes = 2_MiB,
                           .max_bytes = 12_MiB,
                           .growth_bytes = 4_MiB,
                           .stream_cache_bytes = 2_MiB,
                           .trust_handles = trust_handles};
    std::optional<mr::pool_core<fake_backend>> pool;
    try {
      in_pool([&] { pool.emplace(fake_backend{&device, 3}, options); });
    } catch (std::exception const&) {
      CHECK(device.reserved_bytes() == 0);
      return {device.calls, 1, host_fails_at >= 0};
    }
    int const streams[] = {device.create(), device.create(), fake_device::per_thread_handle};
    struct item {
      void* block;
      std::size_t bytes;
      int stream;
      std::uint32_t tag;
    };
    std::vector<item> live;
    std::uint32_t tags = 0;
    std::uint64_t state = 12345;
    auto const random = [&] {
      return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33U;
    };
    auto const drop = [&](std::size_t which) {
      auto const what = live[which];
      live[which] = live.back();
      live.pop_back();
      device.leave(what.stream, what.block, what.bytes, what.tag);
      in_pool([&] { pool->deallocate(what.stream, what.block, what.bytes); });
    };
    auto const attempt = [&](auto f) {
      try {
        f();
      } catch (test::injected_fault const&) { ++found.faults; } catch (mr::out_of_memory const&) {
      } catch (std::bad_alloc const&) { ++found.faults; }
    };
    for (int step = 0; step < 300; ++step) {
      if (random() % 5 < 2 && !live.empty()) {
        drop(random() % live.size());
      } else {
        attempt([&] {
          std::size_t const bytes =
              random() % 3 == 0 ? 1_MiB + random() % 2_MiB : random() % 60'000 + 1;
          int const stream = streams[random() % 3];
          void* const block = in_pool([&] { return pool->allocate(stream, bytes); });
          device.take(stream, block, bytes, ++tags);
          live.push_back({block, bytes, stream, tags});
        });
      }
      if (step == 150) {
        for (std::size_t i = live.size(); i-- > 0;) {
          if (live[i].stream == streams[0]) { drop(i); }
        }
        attempt([&] {
          in_pool([&] { pool->release(streams[0]); });
          device.replace(streams[0]);
        });
      }
      if (step == 200 || step == 250) {
        attempt([&] {
          auto graph = in_pool([&] { return pool->begin_capture(streams[1]); });
          try {
            for (int i = 0; i < 2; ++i) {
              void* const block = in_pool([&] { return pool->allocate(streams[1], 500'000); });
              in_pool([&] { pool->deallocate(streams[1], block, 500'000); });
            }
          } catch (...) {
            in_pool([&] { pool->drop_capture(*graph); });
            throw;
          }
          in_pool([&] { pool->drop_capture(*graph); });
        });
      }
      if (step == 275) {
        attempt([&] { in_pool([&] { pool->trim(); }); });
      }
    }
    while (!live.empty()) { drop(live.size() - 1); }
    INFO("call " << fail_at << " fails, or host allocation " << host_fails_at << ": "
                 << device.first_violation());
    CHECK(device.violations == 0);
    CHECK(pool->stats().live_bytes == 0);
    CHECK(*pool->stats().late_frees <= 2);
    CHECK(*pool->stats().reserved_bytes == device.reserved_bytes());
    device.fail_at = 0;
    pool->trim();
    CHECK(*pool->stats().reserved_bytes <= 4_MiB);  // a chunk
  }
  CHECK(device.reserved_bytes() == 0);
  CHECK(device.violations == 0);
  found.calls = device.calls;
  found.host_failed = host_fails_at >= 0 && left < 0;
  return found;
}

}  // namespace

TEST_CASE("a backend that fails at any one call leaves every block in one place") {
  bool const trust_handles = GENERATE(false, true);
  auto const whole = script(trust_handles, 0);
  CHECK(whole.faults == 0);
  REQUIRE(whole.calls > 100);
  std::uint64_t reached = 0;
  for (std::uint64_t n = 1; n <= whole.calls; ++n) { reached += script(trust_handles, n).faults; }
  // Nearly every fault comes out of the call that met it; identities that are only compared, and
  // events that are only a courtesy, are done without.
  CHECK(reached > whole.calls / 4);
}

TEST_CASE("host memory that runs out at any one point leaves every block in one place") {
  bool const trust_handles = GENERATE(false, true);
  long reached = 0;
  while (script(trust_handles, 0, reached).host_failed) { ++reached; }
  CHECK(reached > 100);
}
