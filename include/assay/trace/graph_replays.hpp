// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device time of the numbered operations of a step that a recorded graph replays.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/step_operations.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// A node of a recorded graph that traces have records of, and the operation that it belongs to.
struct graph_node {
  static constexpr std::uint64_t no_operation = std::numeric_limits<std::uint64_t>::max();

  operation_kind kind = operation_kind::kernel;
  std::uint64_t operation = no_operation;  ///< the number of the operation
  std::string part;                        ///< its name
};

namespace detail {

/// The executions of each node of one graph, first to last, by the identity of the node.
///
/// The upper half of an identity is that of the graph, and the lower half rises in the order in
/// which the nodes were created. Executions are told apart by their order, and not by the call that
/// launched the graph, since CUPTI up to 13.1 misnumbers these calls.
using graph_runs = std::map<std::uint64_t, std::vector<gpu_operation>>;

inline std::string name_of_graph(std::uint64_t graph) { return "graph " + std::to_string(graph); }

/// The number of replays of a graph. Throws `std::invalid_argument` unless its nodes are those that
/// were captured, and each ran once in each replay.
inline std::size_t replays_of(std::uint64_t graph, graph_runs const& runs,
                              std::span<graph_node const> nodes) {
  if (runs.size() != nodes.size()) {
    throw std::invalid_argument(concat(
        {name_of_graph(graph), " has ", std::to_string(runs.size()), " nodes in the trace, and ",
         std::to_string(nodes.size()), " were captured: trace the graph that these nodes are of"}));
  }
  auto const count = runs.begin()->second.size();
  std::size_t at = 0;
  for (auto const& [node, all] : runs) {
    auto const name = concat({"node ", std::to_string(at), " of ", name_of_graph(graph)});
    if (all.size() != count) {
      throw std::invalid_argument(
          concat({name, " ran ", std::to_string(all.size()), " times, and its first node ",
                  std::to_string(count), ": trace whole replays"}));
    }
    // The driver may run a copy or a set as a kernel, but no kernel as a copy or a set.
    auto const& captured = nodes[at++];
    if (captured.kind == operation_kind::kernel && all[0].kind != operation_kind::kernel) {
      throw std::invalid_argument(
          concat({name, " is `", captured.part,
                  "`, a kernel, and a copy or a set in the trace: trace the graph "
                  "that these nodes are of"}));
    }
  }
  return count;
}

/// The replay of that number, with an operation for each number up to the largest.
inline step_repetition replay_of(view const& rows, graph_runs const& runs, std::size_t number,
                                 std::span<graph_node const> nodes) {
  step_repetition made;
  std::size_t at = 0;
  for (auto const& [id, all] : runs) {
    auto const& owner = nodes[at++];
    auto const& ran = all[number];
    made.add(ran);
    if (owner.operation == graph_node::no_operation) {
      made.outside += {1, ran.when.length()};
      continue;
    }
    if (owner.operation >= made.operations.size()) { made.operations.resize(owner.operation + 1); }
    auto& to = made.operations[owner.operation];
    to.part = owner.part;
    to.work[operation_name(rows.of(), ran, true)] += {1, ran.when.length()};
  }
  return made;
}

}  // namespace detail

/// The replays of a step as a graph, by their begin, each within the range of the domain `assay`
/// that has the name `step`. `nodes` are those of the graph in the order of their creation; several
/// graphs of the same nodes may take turns.
///
/// Each kernel, copy and set of a replay belongs to one operation, or to none and so to
/// `step_repetition::outside`, with what the range launched beside the graph. Throws
/// `std::invalid_argument` where the graphs of the trace are others, and where there is not one
/// range for each replay.
inline std::vector<step_repetition> replayed_operations(view const& rows, std::string_view step,
                                                        std::span<graph_node const> nodes) {
  auto const& of = rows.of();
  std::map<std::pair<std::uint32_t, std::uint64_t>, detail::graph_runs> graphs;
  for (auto const& each : rows.operations()) {
    auto const& where = place_of(of, each);
    if (where.graph_node == 0) { continue; }
    graphs[{where.process, where.graph_node >> 32U}][where.graph_node].push_back(each);
  }
  std::vector<step_repetition> found;
  for (auto const& [graph, runs] : graphs) {
    auto const count = detail::replays_of(graph.second, runs, nodes);
    for (std::size_t number = 0; number < count; ++number) {
      found.push_back(detail::replay_of(rows, runs, number, nodes));
    }
  }
  std::ranges::sort(found, {}, [](auto const& each) { return each.device.begin; });
  auto const ranges = detail::step_ranges(of, step);
  if (ranges.size() != found.size()) {
    throw std::invalid_argument(
        concat({"the trace has ", std::to_string(ranges.size()), " ranges `", step,
                "` of the domain assay, and ", std::to_string(found.size()),
                " replays of graphs: each range has to launch one graph"}));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].host_ns = ranges[i].when.length();
    rows.visit(ranges[i], [&](gpu_operation const& each) {
      if (place_of(of, each).graph_node != 0 || each.kind == operation_kind::graph) { return; }
      found[i].add(each);
      found[i].outside += {1, each.when.length()};
    });
    found[i].settle();
  }
  return found;
}

}  // namespace assay::trace
