// SPDX-License-Identifier: Apache-2.0
// assay-uses: rmm
// How long do whole programs take that allocate a lot, with mr::pool and with its peers? The
// programs are those of RMM's own benchmarks: random sizes, vectors, kernels on several streams,
// and the replay of a log. CCCL's pool, which is the driver's, is a peer too. Each program runs
// with pools that hold half of the card beforehand, and with pools that are empty at first, so that
// growth counts. RMM's random sizes are of the default stream; they also run on a stream of their
// own. For vectors and streams all resources are open at once and take turns.
// Predicts: mr::pool is faster than the fastest peer in each row of random sizes and of the replay,
// takes at most 1.02x of the best for vectors, and at most 1.00x for kernels on several streams. On
// the default stream it takes at most 1.5x of what it takes with `trust_handles` (measured: 2.1x at
// 1 MiB, 1.03x to 1.5x beyond). An empty pool's first block takes 20 to 40 us more than RMM's
// (measured: 3 to 16): it maps 64 MiB, where RMM's asks for that block.
// A thread never waits 100 us for another thread's trim. 1,500 threads that come and go leave at
// most twice what is live.

#include "support/memory_peers.hpp"
#include "support/result.hpp"

#include <assay/core/stream.hpp>
#include <assay/core/units.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/machine/memory_scrub.hpp>
#include <assay/memory/async.hpp>
#include <assay/pool/cuda_pool_backend.hpp>
#include <assay/pool/pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::kernel {

/// One thread that stays on the device for about this many nanoseconds.
template <class T>
__global__ void linger(T* out, long long nanoseconds) {
  long long begin = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  for (long long now = begin; now - begin < nanoseconds;) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  }
  *out = static_cast<T>(begin);
}

}  // namespace assay::kernel

namespace {

using namespace assay;
using namespace assay::literals;

/// As RMM's programs reserve.
std::size_t half_of_card() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  return total_bytes / 2 / 2_MiB * 2_MiB;
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// One call of a log: allocates the block of a number, or frees it.
struct log_call {
  std::size_t block;
  std::size_t bytes;
  bool allocates;
};

/// As RMM's random_allocations: sizes from 1 byte to the largest, 73 % allocations, at most
/// 16,000 MiB live, all freed at the end.
std::vector<log_call> random_log(std::size_t allocations, std::size_t largest_bytes) {
  std::mt19937_64 random{allocations * 31 + largest_bytes};
  std::uniform_int_distribution<std::size_t> sizes{1, largest_bytes};
  std::vector<log_call> log;
  std::vector<log_call> live;
  std::size_t live_bytes = 0;
  for (std::size_t made = 0; made < allocations || !live.empty();) {
    auto const bytes = sizes(random);
    bool const allocates = live.empty() || (random() % 100 < 73 && made < allocations &&
                                            live_bytes + bytes <= 16'000_MiB);
    if (allocates) {
      live.push_back({made++, bytes, true});
      live_bytes += bytes;
      log.push_back(live.back());
    } else {
      auto& gone = live[random() % live.size()];
      live_bytes -= gone.bytes;
      log.push_back({gone.block, gone.bytes, false});
      gone = live.back();
      live.pop_back();
    }
  }
  return log;
}

template <class R>
void run_log(R& resource, ::cuda::stream_ref where, std::vector<log_call> const& log,
             std::vector<void*>& blocks) {
  for (auto const& call : log) {
    if (call.allocates) {
      blocks[call.block] = resource.allocate(where, call.bytes, mr::default_alignment);
    } else {
      resource.deallocate(where, blocks[call.block], call.bytes, mr::default_alignment);
    }
  }
}

/// The times of all programs for all resources, in milliseconds.
class table {
 public:
  void add(std::string const& name, std::string const& parameters, std::string const& state,
           std::string const& resource, std::vector<double> passes) {
    auto const key = std::make_tuple(name, parameters, state);
    if (!times_.contains(key)) { order_.push_back(key); }
    auto const ms = times_[key][resource] = median(std::move(passes));
    std::printf("%-20s %-26s %-14s %-24s %12.4f ms\n", name.c_str(), parameters.c_str(),
                state.c_str(), resource.c_str(), ms);
    std::fflush(stdout);
  }

  report::document rows() const {
    auto rows = report::document::array();
    for (auto const& key : order_) {
      auto const& by_resource = times_.at(key);
      auto const ours = by_resource.find("mr::pool");
      double best_peer = 0;
      std::string best;
      for (auto const& [name, ms] : by_resource) {
        if (name.starts_with("mr::pool")) { continue; }
        if (best.empty() || ms < best_peer) { best_peer = ms, best = name; }
      }
      report::document row{{"program", std::get<0>(key)},
                           {"parameters", std::get<1>(key)},
                           {"state", std::get<2>(key)},
                           {"ms", by_resource},
                           {"best_peer", best}};
      if (ours != by_resource.end() && best_peer > 0) {
        row["to_best_peer"] = ours->second / best_peer;
        std::printf("%-20s %-26s %-14s pool to the best peer (%s): %.3f\n",
                    std::get<0>(key).c_str(), std::get<1>(key).c_str(), std::get<2>(key).c_str(),
                    best.c_str(), ours->second / best_peer);
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  using row_key = std::tuple<std::string, std::string, std::string>;
  std::vector<row_key> order_;
  std::map<row_key, std::map<std::string, double>> times_;
};

/// Times `work(resource)` with a resource from `make()`: the same one for all passes after a first
/// that is not timed, or, where it begins empty, a new one for each. After a second of passes there
/// are no more. The device has cleared what the former resource gave back: it moves bytes an eighth
/// slower meanwhile.
template <class Make, class Work>
std::vector<double> time_passes(on::device place, Make make, bool begins_empty, int passes,
                                Work work) {
  std::vector<double> times;
  double spent = 0;
  machine::memory_scrub scrub{place};
  auto const timed = [&](auto& resource) {
    auto const begin = std::chrono::steady_clock::now();
    work(resource);
    times.push_back(milliseconds_since(begin));
    spent += times.back();
    check(cudaDeviceSynchronize());
  };
  auto const enough = [&] { return spent > 1'000; };
  if (begins_empty) {
    for (int i = 0; i < passes && !enough(); ++i) {
      {
        auto fresh = make();
        timed(fresh);
        scrub.mark();
      }
      scrub.wait();
    }
  } else {
    {
      auto resource = make();
      for (int i = 0; i <= passes && (i < 2 || !enough()); ++i) { timed(resource); }
      scrub.mark();
    }
    scrub.wait();
    times.erase(times.begin());
  }
  return times;
}

/// Calls `use(name, make)` for ours and for all peers.
template <class Use>
void each_resource(on::device place, std::size_t initial_bytes, Use use) {
  use("mr::pool", [=] { return mr::pool{initial_bytes}.open(place); });
  use("mr::pool trusted",
      [=] { return mr::pool{.initial_bytes = initial_bytes, .trust_handles = true}.open(place); });
  use("mr::async", [=] { return mr::async{.initial_bytes = initial_bytes}.open(place); });
  benchmark::with_cccl_peer(place, initial_bytes, use);
  benchmark::each_rmm_peer(initial_bytes, use);
}

void add_random(on::device place, bool quick, table& times) {
  stream const own{place};
  struct kind {
    std::string state;
    std::vector<std::size_t> numbers;
    ::cuda::stream_ref where;
    bool empty;
  };
  std::vector<std::size_t> const numbers =
      quick ? std::vector<std::size_t>{1'000} : std::vector<std::size_t>{1'000, 10'000};
  for (auto const& each :
       {kind{"default stream", {1'000}, ::cuda::stream_ref{cudaStream_t{}}, false},
        kind{"reserved", numbers, own, false}, kind{"empty", numbers, own, true}}) {
    for (std::size_t const number : each.numbers) {
      for (std::size_t const largest : {1_MiB, 4_MiB, 64_MiB, 256_MiB, 1024_MiB, 4096_MiB}) {
        auto const log = random_log(number, largest);
        std::vector<void*> blocks(number);
        each_resource(place, each.empty ? 0 : half_of_card(), [&](auto const& name, auto make) {
          auto const passes = each.empty ? 3 : 9;
          times.add("random_allocations",
                    std::to_string(number) + " of at most " + mr::describe_bytes(largest),
                    each.state, name, time_passes(place, make, each.empty, passes, [&](auto& from) {
                      run_log(from, each.where, log, blocks);
                    }));
        });
      }
    }
  }
}

/// Times passes of `work(resource)` with all resources in turn: a drift of the machine then meets
/// all of them. Each resource holds `initial_bytes`; where these are 0, each pass has a new one.
/// The first round is not timed. A pool whose memory is not mapped takes part, which shows what
/// mapping costs.
template <class Work>
std::map<std::string, std::vector<double>> take_turns(on::device place, std::size_t initial_bytes,
                                                      int rounds, Work work) {
  machine::memory_scrub scrub{place};
  std::vector<std::pair<std::string, std::function<double()>>> all;
  auto const enter = [&](std::string const& name, auto make) {
    using resource = decltype(make());
    auto const kept = initial_bytes == 0 ? nullptr : std::make_shared<resource>(make());
    all.emplace_back(name, [make, kept, &work, &scrub] {
      auto const used = kept != nullptr ? kept : std::make_shared<resource>(make());
      auto const begin = std::chrono::steady_clock::now();
      work(*used);
      auto const took = milliseconds_since(begin);
      check(cudaDeviceSynchronize());
      scrub.mark();
      return took;
    });
  };
  each_resource(place, initial_bytes, enter);
  enter("mr::pool, cudaMalloc",
        [=] { return mr::pool{.initial_bytes = initial_bytes, .mapped = false}.open(place); });
  std::map<std::string, std::vector<double>> times;
  for (int i = -1; i < rounds; ++i) {
    for (auto const& [name, pass] : all) {
      auto const took = pass();
      scrub.wait();
      if (i >= 0) { times[name].push_back(took); }
    }
  }
  scrub.mark();
  all.clear();
  scrub.wait();
  return times;
}

/// What resources hold that are open at the same time.
constexpr std::size_t side_by_side_bytes = 8_GiB;

/// As RMM's device_uvector: a vector is made, filled, and freed in a loop.
void add_vectors(on::device place, table& times) {
  stream const where{place};
  for (bool const empty : {false, true}) {
    for (std::size_t const bytes :
         {std::size_t{4'000}, std::size_t{40'000}, std::size_t{400'000}, std::size_t{4'000'000},
          std::size_t{40'000'000}, std::size_t{400'000'000}, std::size_t{4'000'000'000}}) {
      auto const found = take_turns(
          place, empty ? 0 : side_by_side_bytes, bytes <= 40'000'000 ? 31 : 7, [&](auto& resource) {
            for (int i = 0; i < 20; ++i) {
              void* const vector = resource.allocate(where, bytes, mr::default_alignment);
              check(cudaMemsetAsync(vector, 0, bytes, where.get()));
              resource.deallocate(where, vector, bytes, mr::default_alignment);
              where.synchronize();
            }
          });
      for (auto const& [name, passes] : found) {
        times.add("vectors", std::to_string(bytes) + " bytes, 20 times",
                  empty ? "empty" : "reserved", name, passes);
      }
    }
  }
}

/// What the first block of an empty resource costs, which is what its first growth costs.
void add_first_blocks(on::device place, report::document& figures) {
  stream const where{place};
  auto& rows = figures["first_block"] = report::document::array();
  for (std::size_t const bytes : {std::size_t{4'000}, std::size_t{4'000'000}}) {
    auto const add = [&](std::string const& name, auto make) {
      auto const passes = time_passes(place, make, true, 21, [&](auto& resource) {
        void* const block = resource.allocate(where, bytes, mr::default_alignment);
        resource.deallocate(where, block, bytes, mr::default_alignment);
      });
      auto const microseconds = median(passes) * 1'000;
      std::printf("first block of %zu bytes, %-24s %8.1f us\n", bytes, name.c_str(), microseconds);
      rows.push_back({{"resource", name}, {"bytes", bytes}, {"us", microseconds}});
    };
    each_resource(place, 0, add);
    add("mr::pool, cudaMalloc", [=] { return mr::pool{.mapped = false}.open(place); });
    add("mr::pool, steps of 2 MiB", [=] { return mr::pool{.growth_bytes = 2_MiB}.open(place); });
  }
}

/// As RMM's multi_stream_allocations: kernels of 2 us in turn on several streams, each with a block
/// of its own.
void add_streams(on::device place, table& times) {
  for (std::size_t const count : {1, 2, 4}) {
    std::vector<stream> streams;
    for (std::size_t i = 0; i < count; ++i) { streams.emplace_back(place); }
    auto const found = take_turns(place, side_by_side_bytes, 45, [&](auto& resource) {
      for (std::size_t i = 0; i < 512; ++i) {
        auto const& where = streams[i % count];
        void* const block = resource.allocate(where, 8, mr::default_alignment);
        kernel::linger<<<1, 1, 0, where.get()>>>(static_cast<long long*>(block), 2'000);
        resource.deallocate(where, block, 8, mr::default_alignment);
      }
      check(cudaDeviceSynchronize());
    });
    for (auto const& [name, passes] : found) {
      times.add("streams", "512 kernels on " + std::to_string(count), "reserved", name, passes);
    }
  }
}

/// As RMM's replay: four threads make the calls of one log in its order.
void add_replay(on::device place, table& times) {
  constexpr std::size_t threads = 4;
  std::vector<stream> streams;
  for (std::size_t i = 0; i < threads; ++i) { streams.emplace_back(place); }
  std::mt19937_64 random{7};
  struct event {
    log_call call;
    std::size_t thread;
  };
  std::vector<event> log;
  std::vector<std::vector<log_call>> live(threads);
  std::size_t made = 0;
  while (made < 6'000 || log.size() < 12'000) {
    auto const thread = random() % threads;
    auto& mine = live[thread];
    if (made < 6'000 && (mine.empty() || random() % 100 < 60)) {
      auto const bytes = std::size_t{1} << (8 + random() % 18);
      mine.push_back({made++, bytes + random() % bytes, true});
      log.push_back({mine.back(), thread});
    } else if (!mine.empty()) {
      auto const which = random() % mine.size();
      log.push_back({{mine[which].block, mine[which].bytes, false}, thread});
      mine[which] = mine.back();
      mine.pop_back();
    }
  }
  std::vector<void*> blocks(made);
  for (bool const empty : {false, true}) {
    each_resource(place, empty ? 0 : half_of_card(), [&](auto const& name, auto make) {
      auto const passes = time_passes(place, make, empty, empty ? 3 : 9, [&](auto& resource) {
        std::atomic<std::size_t> next{0};
        std::vector<std::thread> workers;
        for (std::size_t thread = 0; thread < threads; ++thread) {
          workers.emplace_back([&, thread] {
            check(cudaSetDevice(place.id));
            auto mine = resource;
            for (std::size_t i = 0; i < log.size(); ++i) {
              auto const& [call, whose] = log[i];
              if (whose != thread) { continue; }
              while (next.load(std::memory_order_acquire) != i) {}
              if (call.allocates) {
                blocks[call.block] =
                    mine.allocate(streams[thread], call.bytes, mr::default_alignment);
              } else {
                mine.deallocate(streams[thread], blocks[call.block], call.bytes,
                                mr::default_alignment);
              }
              next.store(i + 1, std::memory_order_release);
            }
          });
        }
        for (auto& each : workers) { each.join(); }
      });
      times.add("replay", std::to_string(log.size()) + " events, 4 threads",
                empty ? "empty" : "reserved", name, passes);
    });
  }
}

/// Threads come and go, each with one pair of 32 MiB on its own default stream.
void add_churn(on::device place, report::document& figures) {
  constexpr std::size_t bytes = 32_MiB;
  auto const pool = mr::pool{}.open(place);
  for (int i = 0; i < 1'500; ++i) {
    std::thread{[&] {
      check(cudaSetDevice(place.id));
      auto mine = pool;
      ::cuda::stream_ref const where{cudaStreamPerThread};
      mine.deallocate(where, mine.allocate(where, bytes, mr::default_alignment), bytes,
                      mr::default_alignment);
    }}.join();
  }
  auto const reserved = pool.stats().reserved_bytes.value_or(0);
  auto const ratio = static_cast<double>(reserved) / static_cast<double>(bytes);
  std::printf("1,500 threads, one pair of 32 MiB each: %s reserved, %.2f times what was live\n",
              mr::describe_bytes(reserved).c_str(), ratio);
  figures["thread_churn"] = {{"reserved_bytes", reserved}, {"to_live", ratio}};
}

/// The longest that an allocation without a driver call waits while another thread trims.
void add_trims(on::device place, bool quick, report::document& figures) {
  auto const pool = mr::pool{.initial_bytes = 2_GiB, .stream_cache_bytes = 1_MiB}.open(place);
  stream const where{place};
  stream const busy{place};
  auto* const slow = static_cast<long long*>(
      const_cast<mr::pool_resource&>(pool).allocate(busy, 8, mr::default_alignment));
  std::atomic<bool> done{false};
  std::atomic<int> trims{0};
  std::thread trimmer{[&] {
    check(cudaSetDevice(place.id));
    auto mine = pool;
    while (!done) {
      // Work of 20 ms, which the trim waits for, and chunks beyond the initial ones to return.
      kernel::linger<<<1, 1, 0, busy.get()>>>(slow, 20'000'000);
      void* const large = mine.allocate(busy, 4_GiB, mr::default_alignment);
      mine.deallocate(busy, large, 4_GiB, mr::default_alignment);
      mine.trim();
      ++trims;
    }
  }};
  auto mine = pool;
  // The controls: how long the driver's answers, and nothing at all, take beside the same trims.
  std::vector<double> all;
  double longest_answer = 0;
  double longest_nothing = 0;
  auto const microseconds = [](auto work) {
    auto const start = std::chrono::steady_clock::now();
    work();
    return milliseconds_since(start) * 1'000;
  };
  mr::cuda_pool_backend const driver{place, false};
  auto const begin = std::chrono::steady_clock::now();
  while (milliseconds_since(begin) < (quick ? 500 : 3'000)) {
    void* block = nullptr;
    all.push_back(
        microseconds([&] { block = mine.allocate(where, 8_MiB, mr::default_alignment); }));
    mine.deallocate(where, block, 8_MiB, mr::default_alignment);
    longest_answer = std::max(longest_answer, microseconds([&] {
                                if (driver.capturing(where) == mr::capture_state::none) {
                                  (void)driver.identify(where);
                                }
                              }));
    longest_nothing = std::max(longest_nothing, microseconds([] {}));
  }
  done = true;
  trimmer.join();
  mine.deallocate(busy, slow, 8, mr::default_alignment);
  std::sort(all.begin(), all.end());
  auto const at = [&](double share) {
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  };
  std::printf(
      "allocation of 8 MiB from the heap beside %d trims: p50 %.2f us, p99.9 %.2f us, "
      "longest %.1f us of %zu; the driver's two answers alone %.1f us, nothing %.1f us\n",
      trims.load(), at(0.5), at(0.999), all.back(), all.size(), longest_answer, longest_nothing);
  figures["beside_trim"] = {{"trims", trims.load()},
                            {"p50_us", at(0.5)},
                            {"p999_us", at(0.999)},
                            {"longest_us", all.back()},
                            {"longest_answer_us", longest_answer},
                            {"longest_nothing_us", longest_nothing},
                            {"allocations", all.size()}};
}

void measure_all(benchmark::options const& chosen, report::document& figures) {
  figures["method"] =
      "median of passes, milliseconds a pass; reserved: one pool of half of the card, first pass "
      "not timed; default stream: the same on that stream; empty: a new pool each pass, growth "
      "included, opening and closing not timed; passes end after a second; vectors and streams: "
      "all resources take turns, and hold 8 GiB each where reserved; "
      "no arena where empty, as it never is: half of the card is its default";
  table times;
  add_random(chosen.place, chosen.quick, times);
  add_vectors(chosen.place, times);
  add_first_blocks(chosen.place, figures);
  add_streams(chosen.place, times);
  add_replay(chosen.place, times);
  figures["rows"] = times.rows();
  add_churn(chosen.place, figures);
  add_trims(chosen.place, chosen.quick, figures);
}

}  // namespace

int main(int argc, char** argv) {
  return assay::benchmark::run(argc, argv, "memory_workloads", measure_all);
}
