// SPDX-License-Identifier: Apache-2.0
/// @file
/// `trace_answers`: runs a transformer in a pipeline, records it and answers; needs cuBLAS, CUPTI.
#pragma once

#include <assay/cupti/recorder.hpp>
#include <assay/rig.hpp>
#include <assay/submit/concepts.hpp>
#include <assay/submit/graph.hpp>
#include <assay/trace/graph_replays.hpp>
#include <assay/transformer/answers.hpp>
#include <assay/transformer/bounds.hpp>
#include <assay/transformer/workload.cuh>

#include <type_traits>
#include <utility>
#include <vector>

namespace assay::nn {

/// The answers about one item of a pipeline, from batches with a trace and without.
struct traced_answers {
  answers found;
  untraced_times untraced;           ///< of an item, without events
  trace::model trace;                ///< with the operations among its notes
  std::vector<trace::table> tables;  ///< in numbers, FLOPs of attention, kernels, operations
};

/// Runs a pipeline of `workloads::transformer` on a rig of its own, then records a batch of it.
/// `most` gives the shares of the roofline.
///
/// Blocks until done. Throws what the rig throws, and `std::invalid_argument` where the trace does
/// not answer: CUPTI is missing, or the submission is another than `submit::sequential` and
/// `submit::graph`.
template <class Pipeline>
traced_answers trace_answers(Pipeline const& what, ceilings const& most = {}) {
  constexpr bool as_graph = std::is_same_v<decltype(Pipeline::submit), submit::graph>;
  rig<Pipeline> real{what};
  std::vector<captured_node> captured;  // of the items that a graph recorded in the first batch
  auto const batch = [&] {
    return real.run_items(0, submit::no_probe{}, [&](auto& where, auto& state, int) {
      workloads::enqueue(what.work, where, state);
      captured = state.items->captured();
    });
  };
  (void)batch();
  auto const seconds = batch().wall;
  auto recorded = trace::record({.driver_calls = true}, [&] { (void)batch(); });
  ledger const of{what.work.of(), what.work.how};
  auto const steps = as_graph ? trace::replayed_operations(recorded, "submit::graph launch",
                                                           graph_nodes(captured, of))
                              : trace::step_operations(recorded, decltype(what.work)::name);
  answers found{steps, of};
  untraced_times const untraced{1e9 * seconds / what.submit.batch_items(), 0};
  std::vector tables{summary_table(found, untraced), count_table(what.work.of()),
                     kernel_table(found), part_table(found, most), bound_table(found, most)};
  note_operations(recorded, of, captured);
  return {std::move(found), untraced, std::move(recorded), std::move(tables)};
}

}  // namespace assay::nn
