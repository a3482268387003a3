// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explanation`: the reasons for which two variants take different time, from traced batches of
/// each.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/trace/bound.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/results.hpp>
#include <assay/workload/concepts.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The evidence of one variant. Parts that were not recorded stay empty.
struct variant_evidence {
  std::string label;
  double seconds = ceilings::unknown;  ///< wall-clock time of a batch, without a tracer
  model trace;                         ///< of one batch: of median length, where there are several
  /// Traced batches in the order of their pairs: batch `i` of both variants ran one after the
  /// other. Empty: `trace` is the only batch.
  std::vector<run_breakdown> batches;
  std::optional<measure::submission_profile> submission;
  std::optional<measure::memory_profile> memory;
  std::optional<counter_values> counters;  ///< of one batch
  std::optional<work_bound> limits;        ///< the bound by these counters
  totals_by_kernel kernels;                ///< counters of each kernel alone
};

/// What a tracer makes of the batches of one side: medians, in nanoseconds. NaN: not measured.
struct tracing_cost {
  double traced_ns = ceilings::unknown;
  double untraced_ns = ceilings::unknown;  ///< of batches that ran between the traced ones
  double compared_ns = ceilings::unknown;  ///< of the comparison's batches
  /// What tracing adds, as a share of an untraced batch.
  double share() const noexcept { return traced_ns / untraced_ns - 1; }
  /// True where so much is added that shares of traced time say little about untraced batches.
  bool distorts() const noexcept { return share() > most - 1; }
  /// True where untraced batches take another time than those of the comparison.
  bool untraced_differ() const noexcept { return differ(untraced_ns); }
  /// The same of traced batches.
  bool traced_differ() const noexcept { return differ(traced_ns); }
  /// True where shares of traced time are not those of the comparison's batches.
  bool misleads() const noexcept { return distorts() || untraced_differ() || traced_differ(); }

 private:
  static constexpr double most = 1.2;
  bool differ(double ns) const noexcept {
    return ns > most * compared_ns || compared_ns > most * ns;
  }
};
tracing_cost tracing_cost_of(variant_evidence const& of);

/// What the trace of one side says of its batches in the comparison, for `find_bound`. Where
/// tracing `misleads`, nobody knows how long devices waited for the host.
workload_facts facts_of(variant_evidence const& of, traffic required);

/// The difference of two times that is to be accounted for: variant less control, a batch.
struct time_difference {
  double ns = 0;
  double low_ns = ceilings::unknown;  ///< its confidence interval; NaN where there is none
  double high_ns = ceilings::unknown;
  std::string from = {};  ///< the source of the numbers

  /// True if the interval excludes zero.
  bool resolved() const noexcept { return low_ns > 0 || high_ns < 0; }
};

/// A metric of both variants, beside the breakdown of the wall-clock time.
struct metric_pair {
  enum class unit { seconds, count, number, bytes, bytes_per_second, share };
  std::string_view name;
  unit of = unit::count;
  double control = ceilings::unknown;
  double variant = ceilings::unknown;
};

/// The reasons for which a variant takes more or less time than its control.
struct explanation {
  variant_evidence control, variant;
  time_difference time;
  std::string untraced;                ///< the reason for a missing trace; empty: there is one
  trace_difference changes;            ///< the changes between the traces, the largest first
  std::vector<kernel_change> kernels;  ///< changes of kernels by their counters, largest first
  std::vector<metric_pair> metrics;    ///< the metrics that one variant has at least
  std::vector<std::string> notes;      ///< the losses of the traces and counters

  explanation();
  explanation(explanation const&);
  explanation(explanation&&) noexcept;
  explanation& operator=(explanation const&);
  explanation& operator=(explanation&&) noexcept;
  ~explanation();
};

/// The note of a trace that has ranges only; its text says why.
inline constexpr std::string_view cuda_is_missing = "CUDA is not recorded";

/// True if a trace shows calls or work of CUDA.
bool shows_cuda(model const& of);

/// The losses of a trace and the notes of its recorder, a line each. The note `cuda_is_missing` is
/// not among them.
std::vector<std::string> loss_notes(model const& of);

/// The index of the first variant of a comparison with these choices that is not `but`. Throws
/// `std::invalid_argument` if there is none.
std::size_t variant_with(std::vector<std::pair<std::string, std::string>> const& axes,
                         measure::comparison const& found,
                         std::size_t but = std::numeric_limits<std::size_t>::max());

/// The wall-clock difference between two variants of a comparison: the estimate of the contrast
/// between just these two, else the difference of their medians.
time_difference difference_between(measure::comparison const& found, std::size_t control,
                                   std::size_t variant);

/// Explains a difference in time from what was seen of both sides; records and runs nothing.
///
/// The parts of the difference have intervals if both sides have `fewest_pairs` batches. If the
/// traces lack CUDA (no driver, another tool, no permission), the split of the host's time and the
/// metrics stay.
explanation explain_traces(variant_evidence control, variant_evidence variant,
                           time_difference const& time);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/trace/explanation_definitions.hpp>
#endif
