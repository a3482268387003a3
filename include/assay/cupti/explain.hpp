// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explain`: why two variants take different time, from traced batches of both; needs CUPTI.
#pragma once

#include <assay/cupti/recorder_options.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/trace/results.hpp>

#include <functional>

namespace assay::trace {

/// Options of an explanation.
struct explain_options {
  int batches = 12;   ///< traced batches of each variant; from `fewest_pairs` on, reasons have
                      ///< intervals
  bool count = true;  ///< reads hardware counters of a batch of each, and of its kernels
  metric_set metrics = metric_sets::core();  ///< metrics of the batch; `deep` runs it several times
  recorder_options recording = {};
  double max_seconds = 20;  ///< begins no further batch then, and says how many pairs there are
  std::function<void()> after_pair = {};  ///< called for each pair of batches, with no tracer on
};

/// Explains the difference between two variants: records batches of both, of which one is open at a
/// time, reads counters, and accounts for `time`.
///
/// `control` and `variant` hold the evidence so far; traces and counters are added to it. A failure
/// of tracing or of the runs becomes `explanation::untraced`, and the rest goes on. Throws
/// `std::invalid_argument` for less than one batch.
explanation explain_runs(variant_runs const& control_runs, variant_runs const& variant_runs,
                         variant_evidence control, variant_evidence variant,
                         time_difference const& time, ceilings const& limits = {},
                         explain_options const& chosen = {});

/// Explains the wall-clock difference that a comparison found between two of its variants. Throws
/// `std::out_of_range` if the comparison has fewer variants.
explanation explain_variants(measure::comparison const& found, compared_runs const& control,
                             compared_runs const& variant, explain_options const& chosen = {});

}  // namespace assay::trace

namespace assay {

/// Explains why two pipelines of a comparison differ, and names the largest part first. Records
/// `explain_options::batches` warm batches of each on rigs of its own, one rig at a time, and runs
/// untraced ones between them. Reads hardware counters of one more batch of each. Accounts for the
/// wall-clock difference that the comparison found.
///
/// Blocks until done; needs memory for one pipeline at a time. Throws `std::invalid_argument` if
/// the comparison has no such variants. Obstacles to tracing become a line of the explanation.
template <class Control, class Variant>
trace::explanation explain(Control const& control, Variant const& variant,
                           measure::comparison const& found,
                           trace::explain_options const& chosen = {}) {
  auto const first = trace::variant_with(control.axes(), found);
  auto const second = trace::variant_with(variant.axes(), found, first);
  return trace::explain_variants(
      found, {first, trace::runs_of(control, found.variants[first].label)},
      {second, trace::runs_of(variant, found.variants[second].label)}, chosen);
}

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/cupti/explain_definitions.hpp>
#endif
