// SPDX-License-Identifier: Apache-2.0
// What the pool reserves over the mixed trace of benchmarks/memory_pool.cu, on a device that has
// always finished, with the threads' turns drawn at random.
#include "catch.hpp"

#include <assay/core/units.hpp>
#include <assay/memory/pool_core.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

using namespace assay;
using namespace assay::literals;

namespace {

/// Chunks side by side in an address space without end; every event has passed.
struct idle_backend {
  using stream_type = int;
  using event_type = int;

  std::shared_ptr<std::uintptr_t> next = std::make_shared<std::uintptr_t>(std::uintptr_t{1} << 40U);

  std::uintptr_t key(int stream) const noexcept { return static_cast<std::uintptr_t>(stream); }
  mr::stream_identity identify(int stream) const {
    return {static_cast<std::uint64_t>(stream), false};
  }
  int make_event() const { return 0; }
  void destroy_event(int) const noexcept {}
  void record(int, int) const {}
  void wait(int, int) const {}
  bool query(int) const { return true; }
  void await(int) const {}
  bool capturing(int) const { return false; }
  bool contiguous() const noexcept { return true; }
  std::uintptr_t allocate(std::size_t bytes) const {
    *next += bytes;
    return *next - bytes;
  }
  void deallocate(std::uintptr_t, std::size_t) const noexcept {}
  bool synchronize() const { return true; }
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
};

constexpr int actors = 16;
constexpr int operations = 50'000;
constexpr std::size_t cache_bytes = 64_MiB;

/// Reserved bytes beyond what streams may keep, by the peak of what was live.
double reserved_share(std::uint64_t seed, std::uint64_t longest_turn) {
  mr::pool_options options;
  options.stream_cache_bytes = cache_bytes;
  mr::pool_core<idle_backend> pool{idle_backend{}, options};
  std::vector<actor> all(actors);
  for (auto& each : all) { each.random.seed(static_cast<std::uint64_t>(&each - all.data()) + 1); }
  std::mt19937_64 turns{seed};
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
    int const stream = number + 1;
    for (auto turn = 1 + turns() % longest_turn; turn > 0 && mine.done < operations; --turn) {
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
  auto const reserved = static_cast<double>(*pool.stats().reserved_bytes);
  auto const kept = static_cast<double>(actors * (cache_bytes + mr::remote_frees::limit_bytes));
  return (reserved - kept) / static_cast<double>(peak);
}

}  // namespace

// Turns drawn at random give 1.18 to 1.31: small live blocks hold apart what is free between them.
// The bound keeps it from getting worse; the target of the benchmark is 1.25.
TEST_CASE("over the benchmark's trace the pool reserves at most 1.35x the live peak and its caps") {
  auto const seed = test::fresh_seed();
  for (std::uint64_t const longest_turn : {64, 4096}) {
    auto const share = reserved_share(seed, longest_turn);
    INFO("seed " << seed << " turns of at most " << longest_turn << " operations: " << share);
    CHECK(share <= 1.35);
    CHECK(share >= 1.0);
  }
}
