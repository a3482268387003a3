// SPDX-License-Identifier: Apache-2.0
// assay-uses: rmm
// What does a pair of allocate and deallocate cost, on a thread's own stream, beside its peers?
// Predicts: mr::pool takes at most 30 ns (p50) and 150 ns (p99) for 4 KiB and for 21 MB, and from
// 16 threads at most 1.2x that; a block from another stream at most 2 us; and over a mixed trace it
// reserves at most 1.25x the peak of what is live, plus what its streams may keep.
//
// Built with RMM's headers in reach and its library linked, RMM's pool, arena and asynchronous
// resource are measured in the same run, and with CCCL 3.2 or later its pool.

#include "support/memory_peers.hpp"
#include "support/result.hpp"

#include <assay/core/stream.hpp>
#include <assay/core/units.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/checked.hpp>
#include <assay/memory/counted.hpp>
#include <assay/pool/pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

using namespace assay;
using namespace assay::literals;

constexpr std::size_t small_bytes = 4_KiB;
constexpr std::size_t large_bytes = 2'684'354 * sizeof(double);  // the column that null_cast writes
constexpr int most_threads = 16;

/// The processor's time stamps, and what one is in nanoseconds: measured against the steady clock
/// over 50 ms. The cost of reading it twice is measured too, and taken off every sample.
class tick_clock {
 public:
  static std::uint64_t now() {
#if defined(__x86_64__)
    unsigned processor = 0;
    return __rdtscp(&processor);
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  tick_clock() {
    using steady = std::chrono::steady_clock;
    auto const begin = steady::now();
    auto const first = now();
    while (steady::now() - begin < std::chrono::milliseconds{50}) {}
    auto const last = now();
    std::chrono::duration<double, std::nano> const passed = steady::now() - begin;
    nanoseconds_ = passed.count() / static_cast<double>(last - first);
    std::vector<std::uint64_t> costs(10'001);
    for (auto& cost : costs) {
      auto const before = now();
      cost = now() - before;
    }
    std::nth_element(costs.begin(), costs.begin() + 5'000, costs.end());
    own_ticks_ = costs[5'000];
  }

  double nanoseconds(std::uint64_t ticks) const {
    return static_cast<double>(ticks > own_ticks_ ? ticks - own_ticks_ : 0) * nanoseconds_;
  }
  double own_nanoseconds() const { return static_cast<double>(own_ticks_) * nanoseconds_; }

 private:
  double nanoseconds_ = 1;
  std::uint64_t own_ticks_ = 0;
};

struct quantiles {
  double p50 = 0;
  double p99 = 0;
  double mean = 0;
  std::size_t count = 0;
  double loop = 0;  // a pair in a loop that reads no clock, on the slowest thread
};

quantiles summarise(std::vector<std::uint64_t>& ticks, tick_clock const& clock) {
  if (ticks.empty()) { return {}; }
  std::sort(ticks.begin(), ticks.end());
  double sum = 0;
  for (auto const each : ticks) { sum += clock.nanoseconds(each); }
  auto const at = [&](double share) {
    return clock.nanoseconds(
        ticks[static_cast<std::size_t>(share * static_cast<double>(ticks.size() - 1))]);
  };
  return {at(0.5), at(0.99), sum / static_cast<double>(ticks.size()), ticks.size()};
}

/// Runs `work(number)` on `count` threads at once, after `ready(number)` on each of them.
template <class Ready, class Work>
void at_once(on::device place, int count, Ready ready, Work work) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      check(cudaSetDevice(place.id));
      ready(i);
      --waiting;
      while (waiting.load(std::memory_order_relaxed) > 0) {}
      work(i);
    });
  }
  for (auto& each : threads) { each.join(); }
}

/// The least that an allocator can cost on these threads: each copy of it has a list of its own,
/// which nobody shares and nothing guards.
class own_list {
 public:
  own_list() { blocks_.reserve(64); }
  own_list(own_list const&) : own_list() {}
  own_list& operator=(own_list const&) = delete;
  [[gnu::noinline]] void* allocate(::cuda::stream_ref, std::size_t, std::size_t) {
    if (blocks_.empty()) { return this; }
    void* const block = blocks_.back();
    blocks_.pop_back();
    return block;
  }
  [[gnu::noinline]] void deallocate(::cuda::stream_ref, void* block, std::size_t, std::size_t) {
    blocks_.push_back(block);
  }

 private:
  alignas(128) std::vector<void*> blocks_;
};

/// The same behind a lock of its own that nobody else takes: what two locked instructions a pair
/// cost on these threads, which is the least for an allocator whose streams other threads may use.
class own_locked_list {
 public:
  own_locked_list() = default;
  own_locked_list(own_locked_list const&) {}
  own_locked_list& operator=(own_locked_list const&) = delete;
  [[gnu::noinline]] void* allocate(::cuda::stream_ref where, std::size_t bytes,
                                   std::size_t alignment) {
    held const lock{taken_};
    return list_.allocate(where, bytes, alignment);
  }
  [[gnu::noinline]] void deallocate(::cuda::stream_ref where, void* block, std::size_t bytes,
                                    std::size_t alignment) {
    held const lock{taken_};
    list_.deallocate(where, block, bytes, alignment);
  }

 private:
  struct held {
    std::atomic<bool>& taken;
    explicit held(std::atomic<bool>& which) : taken(which) {
      while (taken.exchange(true, std::memory_order_acquire)) {}
    }
    ~held() { taken.store(false, std::memory_order_release); }
  };
  alignas(128) std::atomic<bool> taken_{false};
  own_list list_;
};

/// Nothing between two readings of the clock.
struct no_pair {
  void* allocate(::cuda::stream_ref, std::size_t, std::size_t) { return nullptr; }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) { asm volatile(""); }
};

struct setting {
  on::device place;
  tick_clock const& clock;
  std::vector<stream>& streams;
  double seconds;
};

/// One sample is one pair; every thread has a stream of its own. Then a quarter as many pairs run
/// without a clock between them.
template <class R>
quantiles time_pairs(setting const& with, R const& resource, int threads, std::size_t bytes) {
  // Of each thread: enough for a p99, and few enough to sort.
  std::size_t const most_samples = threads == 1 ? 100'000 : 25'000;
  std::vector<std::vector<std::uint64_t>> samples(static_cast<std::size_t>(threads));
  std::vector<double> loops(static_cast<std::size_t>(threads));
  auto const pair = [bytes](R& mine, ::cuda::stream_ref where) {
    void* const block = mine.allocate(where, bytes, mr::default_alignment);
    mine.deallocate(where, block, bytes, mr::default_alignment);
  };
  at_once(
      with.place, threads,
      [&](int number) {
        samples[static_cast<std::size_t>(number)].reserve(most_samples);
        R mine = resource;
        auto const until = std::chrono::steady_clock::now() + std::chrono::milliseconds{5};
        for (int i = 0; i < 100 && std::chrono::steady_clock::now() < until; ++i) {
          pair(mine, with.streams[static_cast<std::size_t>(number)]);
        }
      },
      [&](int number) {
        R mine = resource;
        ::cuda::stream_ref const where = with.streams[static_cast<std::size_t>(number)];
        // On this thread's stack: the vectors side by side would share cache lines, and the locked
        // instruction of the pair after would wait for them.
        auto into = std::move(samples[static_cast<std::size_t>(number)]);
        std::chrono::duration<double> const limit{with.seconds};
        auto const begin = std::chrono::steady_clock::now();
        while (into.size() < most_samples) {
          for (int i = 0; i < 16 && into.size() < most_samples; ++i) {
            auto const before = tick_clock::now();
            pair(mine, where);
            into.push_back(tick_clock::now() - before);
          }
          if (std::chrono::steady_clock::now() - begin > limit) { break; }
        }
        auto const pairs = std::max<std::size_t>(into.size() / 4, 1);
        auto const start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < pairs; ++i) { pair(mine, where); }
        std::chrono::duration<double, std::nano> const spent =
            std::chrono::steady_clock::now() - start;
        loops[static_cast<std::size_t>(number)] = spent.count() / static_cast<double>(pairs);
        samples[static_cast<std::size_t>(number)] = std::move(into);
      });
  std::vector<std::uint64_t> all;
  for (auto const& each : samples) { all.insert(all.end(), each.begin(), each.end()); }
  check(cudaDeviceSynchronize());
  auto found = summarise(all, with.clock);
  found.loop = *std::max_element(loops.begin(), loops.end());
  return found;
}

/// The p50 and loop figures of the control, by threads.
using control_figures = std::map<int, quantiles>;

double ratio(double what, double to) { return to > 0 ? what / to : 0; }

template <class R>
void add_pairs(setting const& with, R const& resource, std::string const& name,
               report::document& rows, control_figures& control, bool is_control = false) {
  quantiles alone;
  for (auto const bytes : {small_bytes, large_bytes}) {
    for (int const threads : {1, 2, 4, 8, most_threads}) {
      auto const found = time_pairs(with, resource, threads, bytes);
      if (threads == 1) { alone = found; }
      if (is_control) { control[threads] = found; }
      std::printf(
          "%-28s %9zu bytes %2d threads: p50 %9.1f ns  p99 %9.1f ns  mean %9.1f ns  "
          "loop %9.1f ns; to 1 thread: p50 %.2f loop %.2f; to the control: loop %.2f\n",
          name.c_str(), bytes, threads, found.p50, found.p99, found.mean, found.loop,
          ratio(found.p50, alone.p50), ratio(found.loop, alone.loop),
          ratio(found.loop, control[threads].loop));
      std::fflush(stdout);
      rows.push_back({{"resource", name},
                      {"bytes", bytes},
                      {"threads", threads},
                      {"p50_ns", found.p50},
                      {"p99_ns", found.p99},
                      {"mean_ns", found.mean},
                      {"loop_ns", found.loop},
                      {"p50_to_one_thread", ratio(found.p50, alone.p50)},
                      {"loop_to_one_thread", ratio(found.loop, alone.loop)},
                      {"p50_to_control", ratio(found.p50, control[threads].p50)},
                      {"loop_to_control", ratio(found.loop, control[threads].loop)},
                      {"samples", found.count}});
    }
  }
}

void add_steals(setting const& with, int rounds, report::document& figures) {
  ::cuda::stream_ref const first = with.streams[0];
  ::cuda::stream_ref const second = with.streams[1];
  auto const pair = [](mr::pool_resource& pool, ::cuda::stream_ref where) {
    pool.deallocate(where, pool.allocate(where, 2_MiB), 2_MiB);
  };
  // One block, which two streams take from each other: an event and a wait each time.
  std::vector<std::uint64_t> ordered;
  {
    auto pool = mr::pool{.initial_bytes = 2_MiB, .max_bytes = 2_MiB}.open(with.place);
    for (int i = 0; i < rounds; ++i) {
      pair(pool, first);
      auto const before = tick_clock::now();
      void* const block = pool.allocate(second, 2_MiB);
      ordered.push_back(tick_clock::now() - before);
      pool.deallocate(second, block, 2_MiB);
    }
  }
  // Many blocks that were freed before one event: all but the first need no call.
  std::vector<std::uint64_t> known;
  for (int i = 0; i < rounds / 50; ++i) {
    auto pool = mr::pool{.initial_bytes = 128_MiB, .max_bytes = 128_MiB}.open(with.place);
    std::vector<void*> blocks(64);
    for (auto& block : blocks) { block = pool.allocate(first, 2_MiB); }
    for (auto& block : blocks) { pool.deallocate(first, block, 2_MiB); }
    for (auto& block : blocks) {
      auto const begin = tick_clock::now();
      block = pool.allocate(second, 2_MiB);
      if (&block != blocks.data()) { known.push_back(tick_clock::now() - begin); }
    }
    for (auto& block : blocks) { pool.deallocate(second, block, 2_MiB); }
  }
  auto const tell = [&](char const* key, char const* what, std::vector<std::uint64_t>& ticks) {
    auto const found = summarise(ticks, with.clock);
    std::printf("%-50s p50 %9.1f ns  p99 %9.1f ns  (%zu)\n", what, found.p50, found.p99,
                found.count);
    figures[key] = {{"p50_ns", found.p50}, {"p99_ns", found.p99}, {"samples", found.count}};
  };
  tell("steal_with_event", "block from another stream, event and wait", ordered);
  tell("steal_in_known_order", "block from another stream, order known", known);
}

/// Threads with streams of their own allocate and free blocks of sizes spread over ten doublings,
/// each phase around another size. Nothing runs on the device.
template <class R>
void run_trace(on::device place, R const& resource, std::vector<stream>& streams, int operations) {
  at_once(
      place, most_threads, [](int) {},
      [&](int number) {
        struct block {
          void* data;
          std::size_t bytes;
        };
        R mine = resource;
        ::cuda::stream_ref const where = streams[static_cast<std::size_t>(number)];
        std::mt19937_64 random{static_cast<std::uint64_t>(number) + 1};
        std::vector<block> live;
        std::size_t live_bytes = 0;
        for (int i = 0; i < operations; ++i) {
          auto const typical = std::size_t{1} << (14 + (i * 10 / operations + number) % 10);
          if (live_bytes < 1_GiB && random() % 5 < 3) {
            auto const bytes = typical / 2 + random() % (2 * typical);
            live.push_back({mine.allocate(where, bytes, mr::default_alignment), bytes});
            live_bytes += bytes;
          } else if (!live.empty()) {
            auto const which = random() % live.size();
            mine.deallocate(where, live[which].data, live[which].bytes, mr::default_alignment);
            live_bytes -= live[which].bytes;
            live[which] = live.back();
            live.pop_back();
          }
        }
        for (auto const& each : live) {
          mine.deallocate(where, each.data, each.bytes, mr::default_alignment);
        }
      });
  check(cudaDeviceSynchronize());
}

template <class Policy>
void add_trace(setting const& with, Policy const& policy, double allowance_bytes, int operations,
               report::document& rows) {
  auto counted = mr::counted<Policy>{policy}.open(with.place);
  auto const begin = std::chrono::steady_clock::now();
  run_trace(with.place, counted, with.streams, operations);
  std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - begin;
  auto const stats = counted.stats();
  auto const reserved = static_cast<double>(stats.reserved_bytes.value_or(0));
  auto const peak = static_cast<double>(stats.peak_bytes);
  std::printf(
      "mixed trace, %-12s reserved %.3f GiB, peak live %.3f GiB, ratio %.3f; beyond what "
      "streams may keep (%.3f GiB) %.3f; %.0f ns an operation of one thread, %llu upstream "
      "calls\n",
      describe(policy).c_str(), reserved / 0x1p30, peak / 0x1p30, reserved / peak,
      allowance_bytes / 0x1p30, (reserved - allowance_bytes) / peak,
      seconds.count() * 1e9 / operations,
      static_cast<unsigned long long>(stats.upstream_calls.value_or(0)));
  rows.push_back({{"resource", describe(policy)},
                  {"reserved_bytes", reserved},
                  {"peak_live_bytes", peak},
                  {"kept_by_streams_at_most_bytes", allowance_bytes},
                  {"ratio", reserved / peak},
                  {"ratio_beyond_kept", (reserved - allowance_bytes) / peak},
                  {"operations", operations * most_threads},
                  {"ns_per_operation_of_a_thread", seconds.count() * 1e9 / operations},
                  {"upstream_calls", stats.upstream_calls.value_or(0)},
                  {"reused_blocks", stats.reused_blocks.value_or(0)},
                  {"waits", stats.waits.value_or(0)}});
}

void add_identity(setting const& with, report::document& figures) {
  figures["stream_get_id"] = report::document::array();
  for (int const threads : {1, most_threads}) {
    constexpr int calls = 100'000;
    std::vector<double> nanoseconds(static_cast<std::size_t>(threads));
    at_once(
        with.place, threads, [](int) {},
        [&](int number) {
          auto const handle = with.streams[static_cast<std::size_t>(number)].get();
          auto const begin = std::chrono::steady_clock::now();
          for (int i = 0; i < calls; ++i) {
            unsigned long long id = 0;
            check(cudaStreamGetId(handle, &id));
          }
          std::chrono::duration<double, std::nano> const spent =
              std::chrono::steady_clock::now() - begin;
          nanoseconds[static_cast<std::size_t>(number)] = spent.count() / calls;
        });
    auto const worst = *std::max_element(nanoseconds.begin(), nanoseconds.end());
    std::printf("cudaStreamGetId, %2d threads: %.1f ns a call (slowest thread)\n", threads, worst);
    figures["stream_get_id"].push_back({{"threads", threads}, {"ns", worst}});
  }
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  tick_clock const clock;
  std::vector<stream> streams;
  for (int i = 0; i < most_threads; ++i) { streams.emplace_back(chosen.place); }
  setting const with{chosen.place, clock, streams, chosen.quick ? 0.03 : 0.1};
  std::printf("timer: %.1f ns a sample, taken off\n", clock.own_nanoseconds());
  figures["timer_ns"] = clock.own_nanoseconds();
  figures["method"] =
      "time stamp counter around each pair, its own median cost taken off; threads start together; "
      "loop_ns: no clock inside, slowest thread; ratios: to the same row with one thread, and to a "
      "thread's own list (no lock, nothing shared) with as many threads; 0 where that is too small";

  auto& pairs = figures["pairs"] = report::document::array();
  control_figures control;
  add_pairs(with, own_list{}, "control: a thread's own list", pairs, control, true);
  add_pairs(with, own_locked_list{}, "control: the same behind its own lock", pairs, control);
  add_pairs(with, no_pair{}, "control: nothing", pairs, control);
  auto const pool = mr::pool{4_GiB}.open(chosen.place);
  add_pairs(with, pool, "mr::pool", pairs, control);
  add_pairs(with, mr::counted_resource{pool}, "mr::counted{mr::pool}", pairs, control);
  add_pairs(with, mr::pool{.initial_bytes = 4_GiB, .trust_handles = true}.open(chosen.place),
            "mr::pool, trust_handles", pairs, control);
  add_pairs(with, mr::checked_resource{pool}, "mr::checked{mr::pool}", pairs, control);
  add_pairs(with, mr::async{.initial_bytes = 4_GiB}.open(chosen.place), "mr::async", pairs,
            control);
  add_pairs(with, mr::cuda_malloc{}.open(chosen.place), "mr::cuda_malloc", pairs, control);
  auto const add_peer = [&](char const* name, auto make) {
    add_pairs(with, make(), name, pairs, control);
  };
  benchmark::with_cccl_peer(chosen.place, 4_GiB, add_peer);
  benchmark::each_rmm_peer(4_GiB, add_peer);
  add_identity(with, figures);
  add_steals(with, chosen.quick ? 500 : 5000, figures);

  auto& traces = figures["traces"] = report::document::array();
  int const operations = chosen.quick ? 5'000 : 50'000;
  mr::pool const bounded{.stream_cache_bytes = 64_MiB};
  add_trace(with, bounded, most_threads * (64.0 + 16) * 0x1p20, operations, traces);
  add_trace(with, mr::async{}, 0, operations, traces);
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "memory_pool", measure_all);
}
