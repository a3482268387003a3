// SPDX-License-Identifier: Apache-2.0
#include "../compared_strategies.cuh"
#include "../ranks/reduction_work.cuh"
#include "all_reduce.hpp"

#include <assay/measure/procedure.hpp>
#include <assay/report/format.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>

namespace assay::examples {

namespace {

/// One strategy at one number of stages.
struct staged_strategy {
  std::string strategy, stages;
  std::size_t tile_bytes;  ///< of the data that each rank reduces
  /// Makes an engine; of 0 blocks: as many as the size needs.
  std::function<sum_function(unsigned blocks)> make_engine;
};

/// All strategies at one stage, then all at two.
std::vector<staged_strategy> staged_strategies(comm::peers const& peers) {
  std::vector<staged_strategy> all;
  for (auto const how : {comm::algorithm::pull, comm::algorithm::two_shot}) {
    each_compared_strategy([&](auto const& strategy) {
      using copy_type = std::remove_cvref_t<decltype(strategy)>;
      auto const tile = comm::tiled_shape<copy_type, threads_of_engine>(how, peers.ranks());
      all.push_back({describe(strategy), how == comm::algorithm::pull ? "1" : "2",
                     std::size_t{tile.tile_vecs} * comm::vec16_bytes,
                     [peers, how](unsigned blocks) {
                       comm::all_reduce_options options;
                       options.how = how;
                       options.blocks = blocks;
                       return engine_function<copy_type>(peers, options);
                     }});
    });
  }
  return all;
}

/// Enough operations in a graph for its start to be lost in them, and 5 where one takes longer.
int operations_at(std::size_t bytes) { return bytes >= std::size_t{8} << 20U ? 5 : 20; }

measure::comparison compare_at(std::size_t bytes, std::vector<staged_strategy> const& strategies,
                               comm::peers const& peers, rank_threads& team,
                               measure::options const& measuring) {
  auto const count = bytes / sizeof(float);
  epoch_arrays arrays{team, count};
  std::vector<measure::variant> variants;
  std::vector<measure::contrast> contrasts;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    auto const& each = strategies[i];
    auto const stages = each.stages + (each.stages == "1" ? " stage, " : " stages, ");
    variants.push_back(collective_variant(
        stages + each.strategy, {{"stages", each.stages}, {"strategy", each.strategy}},
        [&, bytes, count](measure::epoch const& now) {
          return work_of(each.make_engine(0), peers, operations_at(bytes), count, arrays.of(now));
        }));
    variants.back().bytes = static_cast<double>(bytes) * operations_at(bytes);
    // Each strategy is held against the first at as many stages.
    auto const control = static_cast<std::size_t>(
        std::ranges::find(strategies, each.stages, &staged_strategy::stages) - strategies.begin());
    if (i == control) { continue; }
    contrasts.push_back({stages + each.strategy + " against " + strategies[control].strategy,
                         measure::contrast::kind::difference,
                         std::vector<double>(strategies.size(), 0.0)});
    contrasts.back().weights[control] = -1;
    contrasts.back().weights[i] = 1;
  }
  auto const watch = watch_of(peers);
  auto found = measure::run(variants, contrasts, measure::watched(measuring, watch));
  watch.describe(found);
  return found;
}

/// One sum by an engine over the same arrays, for a team to run or to record.
struct sum {
  sum_function engine;
  std::shared_ptr<rank_arrays<float>> arrays;
  std::size_t count;

  void operator()(int rank, ::cuda::stream_ref on, int = 0) const {
    engine(rank, on, arrays->out_of_place(), count);
  }
};

/// Checks one operation, then times graphs of some.
block_row block_row_of(staged_strategy const& of, int blocks, sum const& once, rank_threads& team,
                       bool quick) {
  once.arrays->poison();
  team.run(once);
  team.synchronize();
  if (auto const wrong = once.arrays->wrong(once.count, comm::reduction::sum)) {
    throw std::runtime_error(of.strategy + ": " + std::to_string(wrong) + " elements are wrong");
  }
  int const operations = quick ? 2 : 5;
  auto const graphs = team.record(operations, once);
  std::vector<double> seconds;
  for (int i = 0; i < (quick ? 3 : 7); ++i) {
    auto const time = team.time(graphs, 1, operations).gpu / operations;
    if (i > 0) { seconds.push_back(time); }
  }
  auto const times = stats::summarise(seconds);
  auto const bytes = static_cast<double>(once.count * sizeof(float));
  auto const busbw = comm::bus_bytes(bytes, team.ranks()) / times.median * 1e-9;
  return {blocks, of.stages, of.strategy, times.median, times.min, times.max, busbw};
}

}  // namespace

std::vector<std::string> all_reduce_strategies() {
  std::vector<std::string> all;
  each_compared_strategy([&](auto const& strategy) { all.push_back(describe(strategy)); });
  return all;
}

std::vector<cli::named_comparison> compare_strategies(all_reduce_parameters const& given,
                                                      comm::peers const& peers,
                                                      cli::options const& chosen,
                                                      measure::clock clock) {
  rank_threads team{peers.devices()};
  auto const strategies = staged_strategies(peers);
  auto measuring = chosen.measuring();
  measuring.clock = clock;
  measuring.alpha /= static_cast<double>(given.compared.size());
  std::vector<cli::named_comparison> all;
  for (auto const bytes : given.compared) {
    all.emplace_back(report::byte_size(static_cast<double>(bytes)),
                     compare_at(bytes, strategies, peers, team, measuring));
  }
  return all;
}

std::vector<block_row> sweep_blocks(all_reduce_parameters const& given, comm::peers const& peers,
                                    cli::options const& chosen) {
  rank_threads team{peers.devices()};
  auto const count = given.sweep / sizeof(float);
  auto const arrays = std::make_shared<rank_arrays<float>>(team, count, chosen.seed);
  // Each block has an SM of its own, also where ranks share a device.
  auto const most =
      attribute(peers.device(0), cudaDevAttrMultiProcessorCount) / peers.most_on_one();
  std::vector<int> counts;
  for (int each = 1; each < most; each *= 2) { counts.push_back(each); }
  counts.push_back(most);
  std::vector<block_row> rows;
  for (int const blocks : counts) {
    chosen.say(blocks, most, "busbw by SMs");
    for (auto const& each : staged_strategies(peers)) {
      // A strategy gets no more blocks than there are tiles.
      auto const reduced =
          given.sweep / (each.stages == "1" ? 1U : static_cast<unsigned>(peers.ranks()));
      if (reduced / each.tile_bytes < static_cast<unsigned>(blocks)) { continue; }
      sum const once{each.make_engine(static_cast<unsigned>(blocks)), arrays, count};
      rows.push_back(block_row_of(each, blocks, once, team, chosen.quick));
    }
  }
  return rows;
}

std::vector<named_trace> trace_strategies(all_reduce_parameters const& given,
                                          comm::peers const& peers, cli::options const& chosen,
                                          cli::tracing const& by) {
  rank_threads team{peers.devices()};
  auto const count = given.compared.front() / sizeof(float);
  auto const arrays = std::make_shared<rank_arrays<float>>(team, count, chosen.seed);
  std::vector<std::pair<std::string, sum_function>> all;
  for (auto const& each : staged_strategies(peers)) {
    all.emplace_back(each.strategy + ", " + each.stages, each.make_engine(0));
  }
  for (bool const dependent : {false, true}) {
    if (dependent && peers.most_on_one() > 1) { continue; }  // refused where ranks share a device
    comm::all_reduce_options options;
    options.dependent_launch = dependent;
    all.emplace_back(dependent ? "automatic, dependent launch" : "automatic",
                     engine_function<copy::regular<>>(peers, options));
  }
  constexpr int operations = 50;
  std::vector<named_trace> traces;
  for (auto const& [name, engine] : all) {
    chosen.say(0, 1, "tracing " + name);
    sum const once{engine, arrays, count};
    traces.emplace_back(name + ", launched", by.record([&] {
      team.run([&](int rank, ::cuda::stream_ref on) {
        for (int i = 0; i < operations; ++i) { once(rank, on); }
      });
      team.synchronize();
    }));
    auto const graphs = team.record(operations, once);
    traces.emplace_back(name + ", in a graph", by.record([&] {
      team.run([&](int rank, ::cuda::stream_ref on) { graphs.launch(rank, on); });
      team.synchronize();
    }));
  }
  return traces;
}

}  // namespace assay::examples
