// SPDX-License-Identifier: Apache-2.0
/// @file
/// The all-reduce experiment's strategies: verdicts by size and stages, busbw by SMs, launches.
#pragma once

#include "all_reduce_device.cuh"
#include "all_reduce_files.hpp"
#include "collective_trace.hpp"
#include "strategy_rows.hpp"
#include "strategy_variants.cuh"
#include "traces.hpp"

#include <assay/measure/collective_subject.cuh>
#include <assay/measure/procedure.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// Runs the strategies on the devices of `peers`.
class strategy_bench {
 public:
  strategy_bench(all_reduce_parameters const& given, cli::options const& chosen,
                 comm::peers const& peers)
      : given_(given),
        chosen_(chosen),
        peers_(peers),
        strategies_(staged_strategies(peers)),
        team_(peers.devices()) {}

  /// Verdicts at every size, and where each row of the table came from.
  measure::comparison compare(strategy_findings& into) {
    measure::comparison all;
    auto const sizes = given_.compared_bytes();
    for (auto const bytes : sizes) {
      auto one = compare_at(bytes, chosen_.alpha / static_cast<double>(sizes.size()), into);
      if (all.variants.empty()) {
        all = std::move(one);
        all.alpha = chosen_.alpha;
      } else {
        append(all, std::move(one));
      }
    }
    all.title = "All-reduce over " + std::to_string(peers_.ranks()) + " ranks: what do copy " +
                "strategies change?";
    all.changed = "strategy";
    all.notes.emplace_back(
        "each size is a comparison of its own, and together they have the confidence above: each "
        "is tested at its share of alpha; times are of one graph launch, the slowest rank's");
    return all;
  }

  /// Busbw at the sweep's size with every number of blocks, each on an SM of its own; of a
  /// strategy no more blocks than there are tiles for.
  void sweep(strategy_findings& into) {
    into.sweep_bytes = static_cast<double>(given_.sweep_bytes());
    auto const arrays = arrays_of(given_.sweep_bytes());
    auto const sms = attribute(peers_.device(0), cudaDevAttrMultiProcessorCount);
    auto const most = sms / peers_.most_on_one();
    std::vector<int> counts;
    for (int each = 1; each < most; each *= 2) { counts.push_back(each); }
    counts.push_back(most);
    for (int const blocks : counts) {
      say(blocks, most, "busbw by SMs");
      for (auto const& each : strategies_) {
        auto const reduced = given_.sweep_bytes() / (each.stages == "1" ? 1U : ranks());
        if (reduced / each.tile_bytes < static_cast<unsigned>(blocks)) { continue; }
        contender<float> run{each.strategy, arrays,
                             each.make_engine(static_cast<unsigned>(blocks))};
        into.blocks.push_back(block_row_of(each, run, blocks));
      }
    }
  }

  /// Traces each strategy and each variant of how small messages are launched.
  void trace(strategy_findings& into) {
    auto const bytes = given_.compared_bytes().front();
    auto const count = bytes / sizeof(float);
    auto const arrays = arrays_of(bytes);
    auto const buffers = arrays->out_of_place();
    std::vector<std::pair<std::string, enqueue_function<float>>> variants;
    for (auto const& each : strategies_) {
      variants.emplace_back(each.strategy + ", " + each.stages, each.make_engine(0));
    }
    for (bool const early : {false, true}) {
      if (early && peers_.most_on_one() > 1) { continue; }  // refused where ranks share a device
      comm::all_reduce_options options;
      options.dependent_launch = early;
      variants.emplace_back(early ? "automatic, dependent launch, any" : "automatic, any",
                            engine_function<copy::regular<>>(peers_, options));
    }
    for (auto const& [name, enqueue] : variants) {
      say(0, 1, "tracing " + name);
      auto const once = [&](int rank, ::cuda::stream_ref on) {
        enqueue(rank, on, buffers, count, comm::reduction::sum);
      };
      constexpr int operations = 50;
      auto const total = static_cast<std::size_t>(operations * peers_.ranks());
      into.launches.push_back(
          trace_launches(given_.traces, chosen_.quiet, name + ", launched", total, [&] {
            team_.run([&](int rank, ::cuda::stream_ref on) {
              for (int i = 0; i < operations; ++i) { once(rank, on); }
            });
            team_.synchronize();
          }));
      auto const graphs =
          team_.record(operations, [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
      into.launches.push_back(
          trace_launches(given_.traces, chosen_.quiet, name + ", in a graph", total, [&] {
            team_.run([&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); });
            team_.synchronize();
          }));
    }
  }

 private:
  /// Enough operations in a graph for its start to be lost in them, and 5 where one takes longer.
  static int operations_at(std::size_t bytes) {
    constexpr std::size_t long_bytes = std::size_t{8} << 20U;
    return bytes >= long_bytes ? 5 : 20;
  }

  unsigned ranks() const { return static_cast<unsigned>(peers_.ranks()); }

  void say(int step, int of, std::string const& what) const {
    if (chosen_.progress) { (*chosen_.progress)(step, of, what); }
  }

  std::shared_ptr<comm::rank_arrays<float>> arrays_of(std::size_t bytes) {
    return std::make_shared<comm::rank_arrays<float>>(team_, bytes / sizeof(float), chosen_.seed);
  }

  /// The strategy that one is held against: the first at as many stages.
  std::size_t control_of(std::size_t i) const {
    auto const first =
        std::ranges::find(strategies_, strategies_[i].stages, &staged_strategy::stages);
    return static_cast<std::size_t>(first - strategies_.begin());
  }

  measure::comparison compare_at(std::size_t bytes, double alpha, strategy_findings& into) {
    auto const size = report::byte_size(static_cast<double>(bytes));
    auto const count = bytes / sizeof(float);
    epoch_arrays arrays{team_, count};
    std::vector<measure::variant> variants;
    std::vector<measure::contrast> contrasts;
    for (std::size_t i = 0; i < strategies_.size(); ++i) {
      auto const& each = strategies_[i];
      auto const stages = each.stages + (each.stages == "1" ? " stage" : " stages");
      variants.push_back(measure::collective_variant(
          size + ", " + stages + ", " + each.strategy,
          {{"size", size}, {"stages", each.stages}, {"strategy", each.strategy}},
          [&](measure::epoch const& now) {
            return work_of(each.make_engine(0), peers_, operations_at(bytes), count,
                           arrays.of(now));
          }));
      variants.back().bytes = static_cast<double>(bytes) * operations_at(bytes);
      auto const control = control_of(i);
      if (i == control) { continue; }
      measure::contrast one{
          size + ", " + stages + ": " + each.strategy + " against " + strategies_[control].strategy,
          measure::contrast::kind::difference, std::vector<double>(strategies_.size(), 0.0)};
      one.weights[control] = -1;
      one.weights[i] = 1;
      contrasts.push_back(std::move(one));
    }
    auto options = chosen_.measuring();
    if (!given_.clock_named) { options.clock = measure::clock::gpu; }
    options.alpha = alpha;
    auto const watch = watch_of(peers_);
    auto found = measure::run(variants, contrasts, measure::watched(options, watch));
    watch.describe(found);
    add_rows(found, bytes, into);
    return found;
  }

  void add_rows(measure::comparison const& found, std::size_t bytes,
                strategy_findings& into) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < strategies_.size() && i < found.variants.size(); ++i) {
      strategy_row row;
      row.bytes = static_cast<double>(bytes);
      row.stages = strategies_[i].stages;
      row.strategy = strategies_[i].strategy;
      row.seconds = found.variants[i].on(measure::clock::gpu).median / operations_at(bytes);
      row.busbw = bus_gigabytes(row.bytes, row.seconds, peers_.ranks());
      if (i != control_of(i) && next < found.findings.size()) {  // the primary findings come first
        row.effect = found.findings[next].effect;
        row.effect.confidence = 1 - chosen_.alpha;
        row.verdict = to_string(found.findings[next].outcome);
        ++next;
      }
      into.rows.push_back(std::move(row));
    }
  }

  block_row block_row_of(staged_strategy const& of, contender<float>& run, int blocks) {
    auto const bytes = given_.sweep_bytes();
    auto const count = bytes / sizeof(float);
    auto const buffers = run.arrays->out_of_place();
    auto const once = [&](int rank, ::cuda::stream_ref on) {
      run.enqueue(rank, on, buffers, count, comm::reduction::sum);
    };
    if (auto const wrong = run.check(team_, count, comm::reduction::sum, false)) {
      throw std::runtime_error(of.strategy + " with " + std::to_string(blocks) +
                               " blocks: " + std::to_string(wrong) + " elements are wrong");
    }
    int const operations = chosen_.quick ? 2 : 5;
    auto const graphs =
        team_.record(operations, [&](int rank, ::cuda::stream_ref on, int) { once(rank, on); });
    std::vector<double> seconds;
    for (int i = 0; i < (chosen_.quick ? 3 : 7); ++i) {
      auto const time = team_.time(graphs, 1, operations).gpu / operations;
      if (i > 0) { seconds.push_back(time); }
    }
    auto const times = stats::summarise(seconds);
    auto const busbw = bus_gigabytes(static_cast<double>(bytes), times.median, peers_.ranks());
    return {blocks, of.stages, of.strategy, times.median, times.min, times.max, busbw};
  }

  all_reduce_parameters const& given_;
  cli::options const& chosen_;
  comm::peers const& peers_;
  std::vector<staged_strategy> strategies_;
  comm::rank_threads team_;
};

/// True where all results are right, and fast enough where a rate was asked for.
inline bool all_right(std::vector<all_reduce_table> const& tables) {
  return std::ranges::all_of(tables, [](all_reduce_table const& each) {
    auto const sum = footer_of(each.rows, each.ranks, least_bandwidth_of_environment());
    return sum.right() && sum.fast();
  });
}

inline void list_strategies(all_reduce_parameters const& given) {
  each_compared_strategy([](auto const& strategy) { std::cout << describe(strategy) << '\n'; });
  for (auto const& each : given.algorithm_names()) { std::cout << each << '\n'; }
}

/// One of several processes: NCCL's table, printed by the first. Whether `all_right` in `right`.
inline void all_reduce_as_rank(all_reduce_parameters const& given, cli::options const& chosen,
                               bool& right) {
  auto const& me = *given.job;
  if (me.rank == 0) { require_all_reduce_outputs(chosen); }
  auto const tables = tables_of_processes(given, chosen, me);
  right = all_right(tables);
  if (me.rank != 0) { return; }
  if (!chosen.quiet) {
    for (auto const& each : tables) { print_table(std::cout, each); }
  }
  strategy_findings none;
  none.ranks = me.ranks;
  write_all_reduce(chosen, tables, none);
}

/// The whole experiment in this process. Whether its tables are `all_right` in `right`.
inline std::optional<measure::comparison> all_reduce_on_devices(all_reduce_parameters const& given,
                                                                cli::options const& chosen,
                                                                bool& right) {
  require_all_reduce_outputs(chosen);
  cli::check_traces(given.traces);
  auto const peers = peers_of(given, chosen);
  auto const tables = tables_of_process(given, chosen, peers);
  if (!chosen.quiet) {
    for (auto const& each : tables) { print_table(std::cout, each); }
    print_side_by_side(std::cout, tables);
  }
  strategy_findings found;
  found.ranks = peers.ranks();
  right = all_right(tables);
  std::optional<measure::comparison> compared;
  if (!given.table_only) {
    strategy_bench bench{given, chosen, peers};
    compared = bench.compare(found);
    bench.sweep(found);
    if (given.traces.wants_traces()) { bench.trace(found); }
    if (!chosen.quiet) {
      print_strategies(std::cout, found);
      print_blocks(std::cout, found);
      print_launches(std::cout, found);
    }
  }
  write_all_reduce(chosen, tables, found);
  return compared;
}

}  // namespace assay::examples
