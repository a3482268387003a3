// SPDX-License-Identifier: Apache-2.0
// How should comm::all_reduce be tuned: which algorithm, with how many blocks, which copy strategy
// with how much in flight, with dependent launch or without? Every variant is checked and timed in
// graphs of 20 operations back to back, for each size; the best come first. On all GPUs, up to 4;
// ASSAY_RANKS=N takes the first N.

#include "../examples/ranks/rank_arrays.cuh"
#include "../examples/ranks/rank_threads.cuh"
#include "support/ranks.hpp"
#include "support/result.hpp"

#include <assay/comm/all_reduce.cuh>
#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace assay;
using comm::algorithm;

constexpr int operations = 20;

struct result {
  std::size_t bytes;
  std::string how, copy;
  unsigned blocks, threads;
  bool dependent;
  double seconds;
};

/// Sizes, arrays and results of a sweep; one engine at a time.
class sweep {
 public:
  sweep(int ranks, bool quick)
      : peers_(comm::peers::first(ranks)),
        team_(peers_.devices()),
        quick_(quick),
        largest_(quick ? std::size_t{4} << 20U : std::size_t{256} << 20U),
        arrays_(team_, largest_ / sizeof(float), 1) {}

  int ranks() const { return peers_.ranks(); }
  bool takes(std::size_t bytes) const { return bytes <= largest_; }

  /// Times the sizes that an engine with these options can do.
  template <class Copy, int Threads>
  void measure(comm::all_reduce_options options, std::vector<std::size_t> const& sizes) {
    options.timeout_seconds = 5;
    comm::basic_all_reduce<Copy, Threads> engine{peers_, options};
    engine.template prepare<float>();
    for (auto const bytes : sizes) {
      if (!takes(bytes)) { continue; }
      auto const count = bytes / sizeof(float);
      auto const buffers = arrays_.out_of_place();
      auto const enqueue = [&](int rank, ::cuda::stream_ref on, int) {
        engine.enqueue(rank, on, buffers, count, comm::reduction::sum);
      };
      arrays_.poison();
      team_.run([&](int rank, ::cuda::stream_ref on) { enqueue(rank, on, 0); });
      team_.synchronize();
      engine.synchronize(0, team_.on(0));
      if (auto const wrong = arrays_.wrong(count, comm::reduction::sum); wrong != 0) {
        throw std::runtime_error(engine.describe() + ": " + std::to_string(wrong) +
                                 " wrong elements of " + std::to_string(count));
      }
      auto const graphs = team_.record(operations, enqueue);
      bool const whole = options.how == algorithm::pull || options.how == algorithm::two_shot;
      results_.push_back({bytes, std::string{to_string(options.how)},
                          whole ? describe(Copy{}) : std::string{"-"}, options.blocks,
                          whole ? static_cast<unsigned>(Threads) : 0U, options.dependent_launch,
                          seconds_of(graphs, bytes)});
      engine.synchronize(0, team_.on(0));
    }
  }

  std::vector<result>& results() { return results_; }

 private:
  /// Seconds of one operation: the least of a few samples of some milliseconds each.
  double seconds_of(examples::rank_graphs const& graphs, std::size_t bytes) {
    double const guess = 5e-6 + static_cast<double>(bytes) / 250e9;
    int const launches = std::clamp(static_cast<int>(4e-3 / (guess * operations)), 1, 20);
    double best = std::numeric_limits<double>::infinity();
    for (int sample = 0; sample < (quick_ ? 2 : 4); ++sample) {
      auto const taken = team_.time(graphs, launches, operations);
      best = std::min(best, taken.gpu / (launches * operations));
    }
    return best;
  }

  comm::peers peers_;
  examples::rank_threads team_;
  bool quick_;
  std::size_t largest_;
  examples::rank_arrays<float> arrays_;
  std::vector<result> results_;
};

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

void sweep_pushes(sweep& all) {
  for (bool const dependent : {false, true}) {
    for (unsigned const blocks : {0U, 1U, 8U, 32U, 64U, 96U, 132U, 264U}) {
      comm::all_reduce_options options;
      options.blocks = blocks;
      options.dependent_launch = dependent;
      options.how = algorithm::lamport_push;
      if (blocks <= 32) { all.measure<copy::regular<>, 512>(options, {kib, 16 * kib}); }
      if (blocks == 1 || blocks == 8) { continue; }
      options.scratch_bytes = 64 * mib;
      all.measure<copy::regular<>, 512>(options,
                                        {64 * kib, 256 * kib, mib, 4 * mib, 16 * mib, 64 * mib});
    }
  }
}

void sweep_fifo(sweep& all) {
  for (bool const dependent : {false, true}) {
    for (unsigned const blocks : {0U, 32U, 64U, 96U}) {
      comm::all_reduce_options options;
      options.blocks = blocks;
      options.dependent_launch = dependent;
      options.scratch_bytes = mib;
      for (auto const how : {algorithm::fifo_one_shot, algorithm::fifo_two_shot}) {
        options.how = how;
        all.measure<copy::regular<>, 512>(options, {mib, 4 * mib, 16 * mib, 64 * mib, 256 * mib});
      }
    }
  }
}

template <class Copy, int Threads>
void sweep_whole(sweep& all) {
  for (auto const how : {algorithm::pull, algorithm::two_shot}) {
    for (unsigned const blocks : {16U, 32U, 64U, 96U, 132U}) {
      comm::all_reduce_options options;
      options.how = how;
      options.blocks = blocks;
      options.scratch_bytes = mib;
      all.measure<Copy, Threads>(options, {mib, 4 * mib, 16 * mib, 64 * mib, 256 * mib});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(
      argc, argv, "all_reduce_tune", [](benchmark::options const& chosen, report::document& out) {
        sweep all{benchmark::ranks_wanted(4), chosen.quick};
        sweep_pushes(all);
        sweep_fifo(all);
        sweep_whole<copy::regular<16, 2>, 512>(all);
        sweep_whole<copy::regular<16, 4>, 512>(all);
        sweep_whole<copy::regular<16, 8>, 512>(all);
        sweep_whole<copy::regular<16, 8>, 256>(all);
        sweep_whole<copy::cp_async<2>, 512>(all);
        sweep_whole<copy::bulk<2>, 512>(all);
        sweep_whole<copy::bulk<4>, 256>(all);
        auto& found = all.results();
        std::stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) {
          return a.bytes != b.bytes ? a.bytes < b.bytes : a.seconds < b.seconds;
        });
        std::printf("%d ranks, float, out of place, graphs of %d\n", all.ranks(), operations);
        std::printf("%11s %-17s %-18s %6s %7s %3s %10s %8s\n", "bytes", "algorithm", "copy",
                    "blocks", "threads", "dep", "us", "busbw");
        out = report::document::array();
        double const travel = 2.0 * (all.ranks() - 1) / all.ranks();
        std::size_t shown = 0;
        std::size_t last = 0;
        for (auto const& each : found) {
          shown = each.bytes == last ? shown + 1 : 0;
          last = each.bytes;
          auto const busbw = travel * static_cast<double>(each.bytes) / each.seconds * 1e-9;
          if (shown < 12) {
            std::printf("%11zu %-17s %-18s %6u %7u %3s %10.2f %8.1f\n", each.bytes,
                        each.how.c_str(), each.copy.c_str(), each.blocks, each.threads,
                        each.dependent ? "yes" : "-", each.seconds * 1e6, busbw);
          }
          out.push_back({{"bytes", each.bytes},
                         {"ranks", all.ranks()},
                         {"algorithm", each.how},
                         {"copy", each.copy},
                         {"blocks", each.blocks},
                         {"threads", each.threads},
                         {"dependent_launch", each.dependent},
                         {"seconds", each.seconds},
                         {"bus_bytes_per_second", busbw * 1e9}});
        }
      });
}
