// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
// What the pool reserves over the mixed trace of benchmarks/memory_pool.cu, on a device whose
// events pass some operations later, with the threads' turns and speeds drawn at random.
#include "catch.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/pool_core.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

using namespace assay;
using namespace assay::literals;

namespace {

/// Chunks side by side in an address space without end; an event passes `latency` operations after
/// it was recorded.
struct idle_backend {
  using stream_type = int;
  using event_type = std::shared_ptr<std::uint64_t>;

  std::uint64_t const* now;
  std::uint64_t latency;
  std::uint64_t* chunks;
  std::shared_ptr<std::uintptr_t> next = std::make_shared<std::uintptr_t>(std::uintptr_t{1} << 40U);

  mr::stream_key key(int stream) const noexcept {
    return {static_cast<std::uintptr_t>(stream) + 1, 0};
  }
  std::uint64_t thread_token() const noexcept { return 1; }
  std::uint64_t identify(int stream) const { return static_cast<std::uint64_t>(stream); }
  void require_own(int) const {}
  event_type make_event() const { return std::make_shared<std::uint64_t>(0); }
  void destroy_event(event_type const&) const noexcept {}
  void record(event_type const& what, int) const { *what = *now; }
  void wait(int, event_type const&) const {}
  bool query(event_type const& what) const { return *now >= *what + latency; }
  mr::capture_state capturing(int) const { return mr::capture_state::none; }
  bool contiguous() const noexcept { return true; }
  std::size_t piece_bytes(std::size_t) const noexcept { return 2_MiB; }
  std::uintptr_t allocate(std::size_t bytes, std::uintptr_t wish) const {
    ++*chunks;
    auto const at = wish != 0 ? wish : *next;
    *next = std::max(*next, at + bytes);
    return at;
  }
  void deallocate(std::uintptr_t, std::size_t) const noexcept {}
  void synchronize() const {}
};

struct block {
  void* data;
  std::size_t bytes;
};

struct actor {
  std::mt19937_64 random;
  std::vector<block> live;
  std::size_t live_bytes = 0;
  int done = 0;
  std::uint64_t speed = 100;  // of 100
};

constexpr int actors = 16;
constexpr int operations = 50'000;
constexpr std::size_t cache_bytes = 64_MiB;

struct outcome {
  double share;  ///< reserved bytes beyond what streams may keep, by the peak of what was live
  std::uint64_t chunks;
  auto operator<=>(outcome const&) const = default;
};

outcome replay(std::uint64_t seed, bool even, std::uint64_t latency) {
  constexpr std::uint64_t longest_turn = 64;
  std::uint64_t now = 0;
  std::uint64_t chunks = 0;
  mr::pool options;
  options.stream_cache_bytes = cache_bytes;
  mr::pool_core<idle_backend> pool{idle_backend{&now, latency, &chunks}, options};
  std::vector<actor> all(actors);
  std::mt19937_64 turns{seed};
  for (auto& each : all) {
    each.random.seed(static_cast<std::uint64_t>(&each - all.data()) + 1);  // as the benchmark does
    if (!even) { each.speed = 15 + turns() % 86; }
  }
  std::size_t live = 0;
  std::size_t peak = 0;
  auto const drop = [&](actor& who, int stream, std::size_t which) {
    auto const gone = who.live[which];
    who.live[which] = who.live.back();
    who.live.pop_back();
    who.live_bytes -= gone.bytes;
    live -= gone.bytes;
    pool.deallocate(stream, gone.data, gone.bytes);
  };
  for (int left = actors; left > 0;) {
    int const number = static_cast<int>(turns() % actors);
    auto& mine = all[static_cast<std::size_t>(number)];
    if (turns() % 100 >= mine.speed) { continue; }
    int const stream = number + 1;
    for (auto turn = 1 + turns() % longest_turn; turn > 0 && mine.done < operations; --turn) {
      ++now;
      auto const typical = std::size_t{1} << (14 + (mine.done * 10 / operations + number) % 10);
      if (mine.live_bytes < 1_GiB && mine.random() % 5 < 3) {
        auto const bytes = typical / 2 + mine.random() % (2 * typical);
        mine.live.push_back({pool.allocate(stream, bytes), bytes});
        mine.live_bytes += bytes;
        live += bytes;
        peak = std::max(peak, live);
      } else if (!mine.live.empty()) {
        drop(mine, stream, mine.random() % mine.live.size());
      }
      if (++mine.done < operations) { continue; }
      while (!mine.live.empty()) { drop(mine, stream, mine.live.size() - 1); }
      --left;
    }
  }
  CHECK(live == 0);
  auto const stats = pool.stats();
  auto const reserved = static_cast<double>(*stats.reserved_bytes);
  auto const kept = static_cast<double>(actors * cache_bytes);
  return {(reserved - kept) / static_cast<double>(peak), chunks};
}

}  // namespace

// Of 180 orders of turns none took more than 1.39, and half of them no more than 1.22; plain best
// fit without streams takes up to 1.35. Memory came in at most 337 chunks, of which each costs some
// 60 us (H100). To map free pages anew, side by side, would keep all orders below 1.25, and made
// programs with blocks of up to 1 GiB wait for 7 s where they now wait for milliseconds.
TEST_CASE("over the benchmark's trace the pool reserves near the live peak and its caps") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  constexpr std::uint64_t orders = 5;
  std::uint64_t next = seed;
  for (bool const even : {true, false}) {
    for (std::uint64_t const latency : {0, 16}) {
      std::vector<outcome> all;
      for (std::uint64_t i = 0; i < orders; ++i) { all.push_back(replay(next++, even, latency)); }
      std::sort(all.begin(), all.end());
      auto const most = std::max_element(all.begin(), all.end(), [](auto& a, auto& b) {
                          return a.chunks < b.chunks;
                        })->chunks;
      INFO("even " << even << " latency " << latency << ": median " << all[2].share << " worst "
                   << all[4].share << ", at most " << most << " chunks");
      CHECK(all[0].share >= 1.0);
      CHECK(all[2].share <= 1.3);
      CHECK(all[4].share <= 1.5);
      CHECK(most <= 1'000);
    }
  }
}
