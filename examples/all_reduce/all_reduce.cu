// SPDX-License-Identifier: Apache-2.0
#include "../compared_strategies.cuh"
#include "../ranks/reduction_work.cuh"
#include "all_reduce.hpp"

#include <assay/cli/sweep.hpp>
#include <assay/measure/compare_variants.hpp>

#include <algorithm>
#include <type_traits>

namespace assay::examples {

namespace {

/// One strategy at one number of stages.
struct staged_strategy {
  std::string label, strategy, stages;
  /// Makes an engine; of 0 blocks: as many as the size needs.
  std::function<sum_function(comm::peers const&, unsigned blocks)> make_engine;
};

/// The least that there can be. Neither algorithm uses it, and every epoch allocates it anew.
constexpr std::size_t no_scratch = 4096;

/// All strategies at one stage, then all at two.
std::vector<staged_strategy> staged_strategies() {
  std::vector<staged_strategy> all;
  for (auto const how : {comm::algorithm::pull, comm::algorithm::two_shot}) {
    each_compared_strategy([&](auto const& strategy) {
      using copy_type = std::remove_cvref_t<decltype(strategy)>;
      bool const one = how == comm::algorithm::pull;
      all.push_back({(one ? "1 stage, " : "2 stages, ") + describe(strategy), describe(strategy),
                     one ? "1" : "2", [how](comm::peers const& peers, unsigned blocks) {
                       return engine_function<copy_type>(
                           peers, {.how = how, .blocks = blocks, .scratch_bytes = no_scratch});
                     }});
    });
  }
  return all;
}

/// Enough operations in a graph for its start to be lost in them: fewer where one takes longer, and
/// one on a few SMs, which take up to a millisecond for it.
int operations_at(std::size_t bytes, unsigned blocks) {
  if (blocks != 0) { return 1; }
  return bytes >= std::size_t{8} << 20U ? 5 : 20;
}

/// The strategies at one size. Each block has an SM of its own.
measure::comparison compare_at(std::size_t bytes, unsigned blocks, comm::peers const& peers,
                               measure::options const& measuring) {
  epoch_arrays arrays{peers, bytes / sizeof(float)};
  auto const strategies = staged_strategies();
  std::vector<measure::variant> variants;
  std::vector<measure::contrast> contrasts;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    auto const& each = strategies[i];
    auto const operations = operations_at(bytes, blocks);
    variants.push_back({each.label,
                        {{"stages", each.stages}, {"strategy", each.strategy}},
                        [&, blocks, operations](measure::epoch const& now) {
                          return arrays.subject([&] { return each.make_engine(peers, blocks); },
                                                operations, now);
                        },
                        static_cast<double>(bytes) * operations});
    // Each strategy is held against the first at as many stages.
    auto const control = static_cast<std::size_t>(
        std::ranges::find(strategies, each.stages, &staged_strategy::stages) - strategies.begin());
    if (i == control) { continue; }
    contrasts.push_back({each.label + " against " + strategies[control].strategy,
                         measure::contrast::kind::difference,
                         std::vector<double>(strategies.size(), 0.0)});
    contrasts.back().weights[control] = -1;
    contrasts.back().weights[i] = 1;
  }
  auto const watches = watches_of(peers);
  auto found = measure::compare_variants(variants, contrasts, watched(measuring, watches));
  watches.front().describe(found);
  return found;
}

}  // namespace

std::vector<std::string> all_reduce_variants() {
  std::vector<std::string> all;
  for (auto const& each : staged_strategies()) { all.push_back(each.label); }
  return all;
}

measure::comparison compare_strategies(all_reduce_parameters const& given, comm::peers const& peers,
                                       measure::options const& measuring) {
  struct cell {
    std::size_t bytes;
    unsigned blocks;
  };
  std::vector<cell> cells;
  for (auto const bytes : given.compared) { cells.push_back({bytes, 0}); }
  for (auto const sms : given.sms) { cells.push_back({given.sweep, sms}); }
  std::vector<point> points;
  for (auto const& each : cells) { points.push_back(all_reduce_point(each.bytes, each.blocks)); }
  return cli::sweep(points, measuring, [&](point const& at, measure::options const& own) {
    auto const& of = cells[static_cast<std::size_t>(&at - points.data())];
    return compare_at(of.bytes, of.blocks, peers, own);
  });
}

void trace_strategies(all_reduce_parameters const& given, comm::peers const& peers,
                      std::uint64_t seed, trace_recorder const& record) {
  auto const bytes = given.compared.front();
  epoch_arrays arrays{peers, bytes / sizeof(float)};
  for (auto const& each : staged_strategies()) {
    auto const subject = arrays.subject([&] { return each.make_engine(peers, 0); },
                                        operations_at(bytes, 0), {.seed = seed});
    record([&] { subject->warm(0, 1); }, each.label);
  }
}

}  // namespace assay::examples
