// SPDX-License-Identifier: Apache-2.0
/// @file
/// The all-reduce experiment's strategies: verdicts by size and stages, busbw by SMs, launches.
#pragma once

#include "all_reduce_device.cuh"
#include "all_reduce_files.hpp"
#include "collective_trace.hpp"
#include "strategy_rows.hpp"
#include "traces.hpp"

#include <assay/measure/collective_subject.cuh>
#include <assay/measure/instruments.cuh>
#include <assay/measure/procedure.hpp>
#include <assay/measure/summary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// One strategy at one number of stages, for `float`.
struct strategy_engine {
  std::string strategy, stages;
  contender<float> run;  ///< its arrays are those of the first arena
};

/// Runs the strategies on the devices of `peers`.
class strategy_bench {
 public:
  strategy_bench(all_reduce_parameters const& given, cli::options const& chosen,
                 comm::peers const& peers)
      : given_(given), chosen_(chosen), peers_(peers), team_(peers.devices()), seed_(chosen.seed) {
    auto const sizes = given.compared_bytes();
    auto most = given.sweep_bytes();
    for (auto const each : sizes) { most = std::max(most, each); }
    for (auto& each : arenas_) {
      each = std::make_shared<comm::rank_arrays<float>>(team_, most / sizeof(float), seed_);
    }
  }

  /// Verdicts at every size, and where each row of the table came from.
  measure::comparison compare(strategy_findings& into) {
    auto engines = all_engines(0);
    measure::comparison all;
    bool first = true;
    for (auto const bytes : given_.compared_bytes()) {
      auto one = compare_at(bytes, engines, into);
      if (first) { all = std::move(one); }
      if (!first) { append(all, std::move(one)); }
      first = false;
    }
    all.title = "All-reduce over " + std::to_string(peers_.ranks()) + " ranks: what do copy " +
                "strategies change?";
    all.changed = "strategy";
    all.notes.emplace_back(
        "each size is a comparison of its own, with the confidence above; times are of one graph "
        "launch, the slowest rank's");
    return all;
  }

  /// Busbw at the sweep's size with every number of blocks, each on an SM of its own.
  void sweep(strategy_findings& into) {
    into.sweep_bytes = static_cast<double>(given_.sweep_bytes());
    auto const sms = attribute(peers_.device(0), cudaDevAttrMultiProcessorCount);
    auto const most = sms / peers_.most_on_one();
    std::vector<int> counts;
    for (int each = 1; each < most; each *= 2) { counts.push_back(each); }
    counts.push_back(most);
    for (int const blocks : counts) {
      say(blocks, most, "busbw by SMs");
      for (auto& each : all_engines(static_cast<unsigned>(blocks))) {
        into.blocks.push_back(block_row_of(each, blocks));
      }
    }
  }

  /// Traces each strategy and each variant of how small messages are launched.
  void trace(strategy_findings& into) {
    auto const bytes = given_.compared_bytes().front();
    auto const count = bytes / sizeof(float);
    std::vector<strategy_engine> variants = all_engines(0);
    for (bool const early : {false, true}) {
      if (early && peers_.most_on_one() > 1) { continue; }  // refused where ranks share a device
      comm::all_reduce_options options;
      options.dependent_launch = early;
      variants.push_back({early ? "automatic, dependent launch" : "automatic", "any",
                          engine_of<copy::regular<>>(options, "automatic")});
    }
    for (auto& each : variants) {
      say(0, 1, "tracing " + each.strategy);
      auto const name = each.strategy + ", " + each.stages;
      auto const buffers = each.run.arrays->out_of_place();
      auto const once = [&](int rank, ::cuda::stream_ref on) {
        each.run.enqueue(rank, on, buffers, count, comm::reduction::sum);
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

  void say(int step, int of, std::string const& what) const {
    if (chosen_.progress) { (*chosen_.progress)(step, of, what); }
  }

  template <class Copy>
  contender<float> engine_of(comm::all_reduce_options const& options, std::string name) {
    auto engine = std::make_shared<comm::basic_all_reduce<Copy>>(peers_, options);
    engine->template prepare<float>();
    return make_contender<float>(std::move(name), engine, arenas_[0]);
  }

  std::vector<strategy_engine> all_engines(unsigned blocks) {
    std::vector<strategy_engine> all;
    for (auto const how : {comm::algorithm::pull, comm::algorithm::two_shot}) {
      each_strategy([&](auto const& strategy) {
        comm::all_reduce_options options;
        options.how = how;
        options.blocks = blocks;
        auto const name = describe(strategy);
        all.push_back({name, how == comm::algorithm::pull ? "1" : "2",
                       engine_of<std::remove_cvref_t<decltype(strategy)>>(options, name)});
      });
    }
    return all;
  }

  measure::comparison compare_at(std::size_t bytes, std::vector<strategy_engine>& engines,
                                 strategy_findings& into) {
    auto const size = report::byte_size(static_cast<double>(bytes));
    std::vector<measure::variant> variants;
    std::vector<measure::contrast> contrasts;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      auto& each = engines[i];
      auto const stages = each.stages + (each.stages == "1" ? " stage" : " stages");
      variants.push_back(measure::collective_variant(
          size + ", " + stages + ", " + each.strategy,
          {{"size", size}, {"stages", each.stages}, {"strategy", each.strategy}},
          work_of(each.run, bytes)));
      variants.back().bytes = static_cast<double>(bytes) * operations_at(bytes);
      auto const control = i / 3 * 3;  // the first strategy at these stages
      if (i == control) { continue; }
      measure::contrast one{
          size + ", " + stages + ": " + each.strategy + " against " + engines[control].strategy,
          measure::contrast::kind::difference, std::vector<double>(engines.size(), 0.0)};
      one.weights[control] = -1;
      one.weights[i] = 1;
      contrasts.push_back(std::move(one));
    }
    auto options = chosen_.measuring();
    if (!given_.clock_named) { options.primary = measure::clock::gpu; }
    auto watch = measure::instruments<on::device>::watch(peers_.device(0));
    options.at_epoch_begin = [&watch](measure::epoch const&) { watch.settle(); };
    options.at_epoch_end = [&watch](measure::epoch const&) { return watch.vetoes(); };
    auto found = measure::run(variants, contrasts, options);
    watch.describe(found);
    add_rows(found, bytes, engines, into);
    return found;
  }

  measure::collective_work work_of(contender<float> const& run, std::size_t bytes) {
    auto const count = bytes / sizeof(float);
    auto const& arenas = arenas_;
    auto const at = [arenas](int arena) { return arenas[static_cast<std::size_t>(arena)]; };
    measure::collective_work work;
    work.places = peers_.devices();
    work.operations = operations_at(bytes);
    work.enqueue = [run, at, count](int rank, ::cuda::stream_ref on, int arena) {
      run.enqueue(rank, on, at(arena)->out_of_place(), count, comm::reduction::sum);
    };
    work.poison = [at](int rank, ::cuda::stream_ref on, int arena) { at(arena)->poison(rank, on); };
    work.verify = [at, count](int arena) -> std::optional<std::string> {
      auto const wrong = at(arena)->wrong(count, comm::reduction::sum);
      if (wrong == 0) { return std::nullopt; }
      return std::to_string(wrong) + " elements are wrong";
    };
    return work;
  }

  void add_rows(measure::comparison const& found, std::size_t bytes,
                std::vector<strategy_engine> const& engines, strategy_findings& into) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < engines.size() && i < found.arms.size(); ++i) {
      strategy_row row;
      row.bytes = static_cast<double>(bytes);
      row.stages = engines[i].stages;
      row.strategy = engines[i].strategy;
      row.seconds = found.arms[i].on(measure::clock::gpu).median / operations_at(bytes);
      row.busbw = bus_gigabytes(row.bytes, row.seconds, peers_.ranks());
      if (i % 3 != 0 && next < found.findings.size()) {  // the primary findings come first
        row.effect = found.findings[next].effect;
        row.verdict = measure::to_string(found.findings[next].outcome);
        ++next;
      }
      into.rows.push_back(std::move(row));
    }
  }

  block_row block_row_of(strategy_engine& of, int blocks) {
    auto const bytes = given_.sweep_bytes();
    auto const count = bytes / sizeof(float);
    auto const buffers = of.run.arrays->out_of_place();
    auto const once = [&](int rank, ::cuda::stream_ref on) {
      of.run.enqueue(rank, on, buffers, count, comm::reduction::sum);
    };
    if (auto const wrong = of.run.check(team_, count, comm::reduction::sum, false)) {
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
    auto const times = measure::summarise(seconds);
    auto const busbw = bus_gigabytes(static_cast<double>(bytes), times.median, peers_.ranks());
    return {blocks, of.stages, of.strategy, times.median, times.min, times.max, busbw};
  }

  all_reduce_parameters const& given_;
  cli::options const& chosen_;
  comm::peers const& peers_;
  comm::rank_team team_;
  std::uint64_t seed_;
  std::array<std::shared_ptr<comm::rank_arrays<float>>, 2> arenas_;
};

/// What remains when the experiment is over.
struct all_reduce_outcome {
  std::optional<measure::comparison> found;
  bool right = true;  ///< nothing wrong, and fast enough where that was asked for
};

inline bool all_right(std::vector<all_reduce_table> const& tables) {
  return std::ranges::all_of(tables, [](all_reduce_table const& each) {
    auto const sum = footer_of(each.rows, each.ranks, least_bandwidth_of_environment());
    return sum.right() && sum.fast();
  });
}

/// One of several processes: NCCL's table, printed by the first.
inline all_reduce_outcome all_reduce_as_rank(all_reduce_parameters const& given,
                                             cli::options const& chosen,
                                             comm::process_rank const& me) {
  auto const tables = tables_of_processes(given, chosen, me);
  if (me.rank == 0) {
    if (!chosen.quiet) {
      for (auto const& each : tables) { print_table(std::cout, each); }
    }
    write_all_reduce(chosen, tables, {});
  }
  return {std::nullopt, all_right(tables)};
}

/// The whole experiment in this process.
inline all_reduce_outcome all_reduce_on_devices(all_reduce_parameters const& given,
                                                cli::options const& chosen) {
  if (chosen.list) {
    each_strategy([](auto const& strategy) { std::cout << describe(strategy) << '\n'; });
    for (auto const& each : given.algorithm_names()) { std::cout << each << '\n'; }
    return {};
  }
  for (auto const& path : all_reduce_outputs(chosen)) { report::require_writable(path); }
  cli::check_traces(given.traces);
  auto const peers = peers_of(given, chosen);
  auto const tables = tables_of_process(given, chosen, peers);
  if (!chosen.quiet) {
    for (auto const& each : tables) { print_table(std::cout, each); }
    print_side_by_side(std::cout, tables);
  }
  strategy_findings found;
  found.ranks = peers.ranks();
  all_reduce_outcome outcome;
  outcome.right = all_right(tables);
  if (!given.table_only) {
    strategy_bench bench{given, chosen, peers};
    outcome.found = bench.compare(found);
    bench.sweep(found);
    if (given.traces.wants_traces()) { bench.trace(found); }
    if (!chosen.quiet) {
      print_strategies(std::cout, found);
      print_blocks(std::cout, found);
      print_launches(std::cout, found);
    }
  }
  write_all_reduce(chosen, tables, found);
  return outcome;
}

}  // namespace assay::examples
