// SPDX-License-Identifier: Apache-2.0
// assay-uses: cupti
// Why does a copy strategy change so little in an all-reduce between two GPUs? Plain loads,
// cp.async and bulk copies, inside `pull` (one stage) and `two_shot` (two stages), run in turn with
// kernels that only send the bytes. A trace says for how much of the time a kernel runs, and
// counters of device 0 say how often no warp can issue an instruction, and for what warps wait.
// Predicts: kernels run for 95 % of the time or more. From 16 MiB on the bytes alone take 85 % of
// the time or more. In 90 % of the cycles or more no warp of plain loads can issue, and warps wait
// for memory most of all. Found on two H200s: 83 to 90 %, and 95 to 98 % of the cycles. Warps wait
// most for the other warps of their block, one of which waits for the other device.

#include "../examples/compared_strategies.cuh"
#include "../examples/ranks/rank_arrays.cuh"
#include "../examples/ranks/reduction_work.cuh"
#include "support/link_pushes.cuh"
#include "support/result.hpp"

#include <assay/comm/all_reduce.cuh>
#include <assay/core/policy.hpp>
#include <assay/cupti/counters.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/stats/summary.hpp>
#include <assay/trace/intervals.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace assay;

constexpr int ranks = 2;
constexpr std::uint64_t seed = 20261129;
constexpr std::size_t no_scratch = 4096;  ///< neither algorithm uses any

/// The reasons of a waiting warp that CUPTI tells apart. "selected" is the warp that issues.
constexpr auto reasons = std::to_array<std::string_view>(
    {"selected", "not_selected", "long_scoreboard", "short_scoreboard", "barrier", "membar",
     "sleeping", "wait", "branch_resolving", "no_instruction", "lg_throttle", "mio_throttle",
     "math_pipe_throttle", "dispatch_stall", "drain", "imc_miss", "tex_throttle", "misc"});

/// Graphs of one strategy, or of the bytes alone, and the time of an operation in each repetition.
struct entrant {
  std::string strategy, stages;
  examples::rank_graphs graphs;
  examples::sum_function sum;  ///< none: the bytes alone
  std::vector<double> seconds;

  double microseconds() const { return stats::summarise(seconds).median * 1e6; }
};

class bench {
 public:
  bench(std::size_t most_bytes, bool quick)
      : team_(peers_.devices()),
        quick_(quick),
        arrays_(team_, most_bytes / sizeof(float), seed),
        pushes_(team_, room()) {}

  report::document row(std::size_t bytes) {
    operations_ = bytes >= std::size_t{8} << 20U ? 5 : 20;
    count_ = bytes / sizeof(float);
    auto all = entrants();
    auto const strategies = all.size();
    for (auto const& how : pushes_.ways()) {
      all.push_back({how.name,
                     "",
                     pushes_.record(how, benchmark::push_pattern::to_all, bytes, operations_),
                     {},
                     {}});
    }
    measure_in_turn(all);
    auto const alone = std::min_element(
        all.begin() + static_cast<std::ptrdiff_t>(strategies), all.end(),
        [](auto const& a, auto const& b) { return a.microseconds() < b.microseconds(); });
    report::document made{
        {"bytes", bytes}, {"kib", bytes >> 10U}, {"alone_us", alone->microseconds()}};
    made["alone_how"] = alone->strategy;
    std::printf("%zu KiB: the bytes alone %.2f us\n", bytes >> 10U, alone->microseconds());
    for (std::size_t i = 0; i < strategies; ++i) {
      auto const us = all[i].microseconds();
      report::document told{{"stages", all[i].stages},
                            {"strategy", all[i].strategy},
                            {"us", us},
                            {"alone_share", alone->microseconds() / us},
                            {"busy_share", busy_share(all[i])}};
      try {
        told.update(counted(all[i]));
      } catch (std::exception const& error) {  // of the waits of the kernels, if they never met
        told["counters"] = error.what();
      }
      std::printf("  %s stages, %-22s %s\n", all[i].stages.c_str(), all[i].strategy.c_str(),
                  told.dump().c_str());
      std::fflush(stdout);
      made["strategies"].push_back(std::move(told));
    }
    return made;
  }

 private:
  static std::array<void*, comm::max_ranks> outputs(examples::rank_arrays<float> const& of) {
    std::array<void*, comm::max_ranks> made{};
    auto const out = of.out_of_place().out;
    std::copy(out.begin(), out.end(), made.begin());
    return made;
  }
  std::array<void*, comm::max_ranks> room() const { return outputs(arrays_); }

  void enqueue(examples::sum_function const& sum) {
    auto const buffers = arrays_.out_of_place();
    team_.run([&](int rank, ::cuda::stream_ref on) { sum(rank, on, buffers, count_); });
  }

  /// All strategies at one stage, then all at two. The results of each are checked.
  std::vector<entrant> entrants() {
    std::vector<entrant> all;
    for (auto const how : {comm::algorithm::pull, comm::algorithm::two_shot}) {
      examples::each_compared_strategy([&](auto const& strategy) {
        using copy_type = std::remove_cvref_t<decltype(strategy)>;
        auto sum = examples::engine_function<copy_type>(
            peers_, {.how = how, .scratch_bytes = no_scratch, .timeout_seconds = 20});
        arrays_.poison();
        enqueue(sum);
        team_.synchronize();
        if (arrays_.wrong(count_, comm::reduction::sum) != 0) {
          throw std::runtime_error(describe(strategy) + ": wrong elements");
        }
        auto const buffers = arrays_.out_of_place();
        auto graphs = team_.record(operations_, [&](int rank, ::cuda::stream_ref on, int) {
          sum(rank, on, buffers, count_);
        });
        all.push_back({describe(strategy),
                       how == comm::algorithm::pull ? "1" : "2",
                       std::move(graphs),
                       std::move(sum),
                       {}});
      });
    }
    return all;
  }

  void measure_in_turn(std::vector<entrant>& all) {
    for (int i = -1; i < (quick_ ? 5 : 25); ++i) {
      for (auto& each : all) {
        auto const seconds = team_.time(each.graphs, 2, operations_).gpu / 2 / operations_;
        if (i >= 0) { each.seconds.push_back(seconds); }  // the first is the warm-up
      }
    }
  }

  /// The share of the time from the first kernel to the end of the last one in which a kernel runs
  /// on device 0, by a trace of a graph of operations; 0 without CUPTI. Kernels may overlap: the
  /// next one begins before the last one has ended.
  double busy_share(entrant const& of) {
    trace::recorder tracer{{.runtime_calls = false, .ranges = false}};
    tracer.start();
    team_.run([&](int rank, ::cuda::stream_ref on) { of.graphs.launch(rank, on); });
    team_.synchronize();
    std::vector<trace::span> kernels;
    for (auto const& each : tracer.stop().kernels) {
      if (each.where.device == 0) { kernels.push_back(each.when); }
    }
    trace::interval_set const busy{std::move(kernels)};
    auto const all = busy.extent().length();
    return all > 0 ? static_cast<double>(busy.length()) / static_cast<double>(all) : 0;
  }

  /// Counts on device 0 while a graph runs: how often a scheduler issues, what warps wait for, and
  /// how many bytes of the other device each operation reads or writes.
  report::document counted(entrant const& of) {
    trace::metric_set wanted{std::string{trace::metric::issue}, "lts__t_sectors_aperture_peer.sum"};
    for (auto const each : reasons) { wanted.push_back(trace::metric::stall(each)); }
    auto const found =
        trace::counters{{.metrics = wanted, .place = peers_.devices().front()}}.measure([&] {
          team_.run([&](int rank, ::cuda::stream_ref on) { of.graphs.launch(rank, on); });
          team_.synchronize();
        });
    if (!found.status || found.ranges.empty()) { return {{"counters", found.status.line()}}; }
    auto const& values = found.ranges.front();
    std::map<std::string, double> shares;
    double sum = 0;
    for (auto const each : reasons) {
      auto const value = values[trace::metric::stall(each)];
      if (value > 0) { sum += shares[std::string{each}] = value; }  // false where it was not read
    }
    for (auto& [name, share] : shares) { share /= sum; }
    std::erase_if(shares, [](auto const& each) { return each.second < 0.005; });
    report::document made{{"issue_share", values[trace::metric::issue] / 100},
                          {"warps", shares},
                          {"passes", found.passes}};
    auto const sectors = values["lts__t_sectors_aperture_peer.sum"];
    if (sectors > 0) { made["peer_bytes"] = sectors * 32 / operations_; }
    return made;
  }

  comm::peers peers_ = comm::peers::first(ranks);
  examples::rank_threads team_;
  bool quick_;
  examples::rank_arrays<float> arrays_;
  benchmark::link_pushes pushes_;
  std::size_t count_ = 0;
  int operations_ = 0;
};

void measure_all(benchmark::options const& chosen, report::document& figures) {
  std::vector<std::size_t> const kib =
      chosen.quick ? std::vector<std::size_t>{1024}
                   : std::vector<std::size_t>{256, 1024, 4096, 16384, 65536};
  bench with{kib.back() << 10U, chosen.quick};
  figures["gpus"] = ranks;
  figures["seed"] = seed;
  for (auto const each : kib) {
    figures["sizes"].push_back(with.row(each << 10U));
    chosen.save(figures);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "all_reduce_reason", measure_all);
}
