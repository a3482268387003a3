// SPDX-License-Identifier: Apache-2.0
/// @file
/// `comparison`: the result of measuring variants against each other, as plain data for reports.
#pragma once

#include <assay/machine/ceiling.hpp>
#include <assay/machine/environment.hpp>
#include <assay/stats/five_numbers.hpp>
#include <assay/stats/verdict.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure {

using machine::ceiling;
using machine::environment;
using stats::interval;
using stats::summary;
using stats::verdict;

/// `wall`: host time, first submit to drained. `gpu`: device time between events.
/// `submit`: host time per item as the submitting thread sees it.
enum class clock { wall, gpu, submit };

inline constexpr std::array all_clocks{clock::wall, clock::gpu, clock::submit};

constexpr std::string_view to_string(clock which) noexcept {
  constexpr std::array<std::string_view, 3> names{"wall", "gpu", "submit"};
  return names[static_cast<std::size_t>(which)];
}

/// Prints the clock as reports do; see `<<` of `verdict`.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, clock which) {
  return out << to_string(which);
}

/// The arrays of results that are compared with what is right: none, some, or all of them.
enum class checks { none, part, all };

constexpr std::string_view to_string(checks which) noexcept {
  constexpr std::array<std::string_view, 3> names{"not checked", "checked in part", "checked"};
  return names[static_cast<std::size_t>(which)];
}

/// An estimated ratio of times with its confidence interval; infinite ends mean "no bound yet".
struct estimate {
  double ratio = 1;  ///< time of the variant / time of the control (Hodges-Lehmann)
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double confidence = 0.95;  ///< simultaneous over all analyses and all contrasts of its family
};

/// A linear contrast of log times: weights over the variants that sum to zero. {-1, +1} is "second
/// against first"; {+1, -1, -1, +1} is the interaction of a 2x2.
struct contrast {
  enum class kind { difference, main_effect, interaction };
  std::string name;
  kind what = kind::difference;
  std::vector<double> weights;
};

/// The verdict on one contrast on one clock, with its effect.
struct finding {
  std::string contrast_name;
  contrast::kind what = contrast::kind::difference;
  clock on = clock::wall;
  bool primary = true;  ///< decided when to stop; secondary findings have a level of their own
  verdict outcome = verdict::inconclusive;
  bool exceeds_margin = true;  ///< false: the sign is resolved, and the interval is in the margin
  bool is_bound = false;       ///< the interval was widened by the bias of the control's instances
  std::string reason;  ///< the guard that objects, the wrong element, or the cause of a bound
  estimate effect;
  double noise = 0;  ///< standard deviation of the epoch effects, as a share
  /// Ratio of the times of typical calls, where it differs from `effect` by more than the margin;
  /// else NaN. `effect` and the verdict are of mean times, which a few slow calls can move.
  double typical_ratio = std::numeric_limits<double>::quiet_NaN();
  /// For an inconclusive finding: the epochs that settle it in 4 cases of 5; 0: unknown.
  int epochs_needed = 0;
  std::vector<double> epoch_effects;  ///< one log ratio per epoch
  std::vector<double> weights;        ///< its contrast, by variant
};

/// True for FASTER and SLOWER whose whole interval lies beyond the margin: a difference that
/// matters is proven. The margin is a ratio: 0.01 allows ratios from 1 / 1.01 to 1.01.
inline bool is_beyond_margin(finding const& found, double margin) noexcept {
  return stats::is_sign(found.outcome) && found.exceeds_margin &&
         (found.effect.low > 1 + margin || found.effect.high < 1 / (1 + margin));
}

/// Quantiles of host time per item, in nanoseconds.
struct latency {
  double p50 = 0, p99 = 0, max = 0, mean = 0;
};

/// The parts of the host time of an item, from batches that are not timed for the verdict.
struct submission_profile {
  latency total, allocation, lock_wait, launching;
  std::size_t items = 0;
};

/// Counts of a variant's memory resource in one batch.
struct memory_profile {
  std::uint64_t allocations = 0, deallocations = 0;
  std::uint64_t bytes = 0, peak_bytes = 0;
  std::optional<std::uint64_t> reserved_bytes;  ///< held from upstream, where the resource tells
  std::optional<std::uint64_t> reused_blocks;   ///< requests met without going upstream
  std::optional<std::uint64_t> upstream_calls;  ///< calls that went to the driver
};

/// A cell of fewer launches than the cells of the verdict, and those of its variant, epoch and
/// buffer set: the mean of their seconds. Both are of whole cells, on the primary clock.
struct short_cell {
  int epoch = 0, launches = 0;
  double seconds = 0, full_seconds = 0;
};

/// The seconds of a cell as a line: `per_cell + launches * per_launch`. Both intervals hold
/// together with this confidence.
struct launch_costs {
  interval per_launch, per_cell;
  double confidence = 0;
  std::vector<short_cell> cells;
};

/// One variant as measured.
struct variant_result {
  std::string label;
  std::vector<std::pair<std::string, std::string>> axes;
  std::array<summary, 3> seconds;                              ///< per launch, over cells, by clock
  double sm_hertz = std::numeric_limits<double>::quiet_NaN();  ///< median over cells
  double bytes = 0, flops = 0;                                 ///< per launch, as declared
  /// The share of calls that take at least half as long again as the typical call, and their median
  /// seconds. NaN where calls were not timed one by one.
  double slow_share = std::numeric_limits<double>::quiet_NaN();
  double slow_seconds = std::numeric_limits<double>::quiet_NaN();
  /// How many of its results were compared with what is right; none where that is unknown.
  std::optional<checks> results;
  std::optional<submission_profile> submission;
  std::optional<memory_profile> memory;
  std::optional<launch_costs> costs;  ///< where launches of all variants take less than 20 us
  std::array<std::vector<double>, 3> cells;  ///< every cell's seconds per launch, by clock

  summary const& on(clock which) const { return seconds[static_cast<std::size_t>(which)]; }
};

/// A question of an experiment, and its answer in lines of one or more sentences.
struct answer {
  std::string question;
  std::vector<std::string> lines;
};

/// A time in nanoseconds, with an interval or with ends that are NaN.
struct traced_time {
  double ns = 0;
  double low_ns = std::numeric_limits<double>::quiet_NaN(), high_ns = low_ns;

  bool has_interval() const noexcept { return low_ns <= high_ns; }
  /// True if there is an interval, and it excludes zero.
  bool distinguishable() const noexcept { return low_ns > 0 || high_ns < 0; }
};

/// A part of the difference between the traced batches of two variants.
struct traced_part {
  std::string kind;  ///< "kernel", "copy", "set", "idle", or the kind of a call of the host
  std::string name;
  traced_time delta;                      ///< the variant's less the control's
  double control_ns = 0, variant_ns = 0;  ///< medians over batches
  double control_count = 0, variant_count = 0;
  double control_bytes = 0, variant_bytes = 0;
};

/// The time in which all devices were idle for one cause, in a batch of one variant.
struct traced_idle {
  std::string cause;
  traced_time time;
};

/// A stretch of a timeline: an operation of a device, or a range of the host.
struct timeline_span {
  int lane = 0, name = 0;  ///< indices
  std::int64_t begin_ns = 0, length_ns = 0;
};

/// The batch of median length in short: its longest operations and ranges.
struct timeline {
  std::vector<std::string> lanes;         ///< streams, threads, calls of threads
  std::vector<std::string> kinds, names;  ///< of spans: "kernel", "copy", "call", "range, GPU"
  std::vector<timeline_span> spans;       ///< by lane and begin
  std::int64_t length_ns = 0;
  std::uint64_t left_out = 0;    ///< spans that did not fit
  std::int64_t left_out_ns = 0;  ///< their lengths, summed
};

/// One side of a traced difference.
struct traced_variant {
  int variant = 0;    ///< its index in the comparison
  traced_time batch;  ///< the length of a traced batch
  std::vector<traced_idle> idle;
  measure::timeline timeline;
  std::string file;  ///< the name of its file for Perfetto; empty without one
  /// DRAM bytes of a batch by hardware counters; NaN where they were not read.
  double dram_bytes = std::numeric_limits<double>::quiet_NaN();
  std::string bound, bound_reason;  ///< by hardware counters; empty where they were not read
};

/// The difference between two variants as their traced batches show it. The parts sum up to
/// `traced`, which is `untraced` and what tracing added; to `traced` less `tracing` if that is
/// taken off already.
struct traced_difference {
  traced_variant control, variant;
  std::uint64_t pairs = 0;     ///< traced batches of each
  double confidence = 0;       ///< of the intervals of all parts together; 0: there are none
  double control_seconds = 0;  ///< a batch of the control, without a tracer
  traced_time untraced, traced, tracing;
  bool tracing_taken = false;      ///< the parts are without what tracing added
  std::vector<traced_part> parts;  ///< the largest first
};

/// One timed cell.
struct cell_record {
  int epoch = 0;     ///< number of its epoch, dropped epochs counted
  int position = 0;  ///< in the epoch, from 0
  int variant = 0;   ///< index; the number of variants stands for the control's second instance
  int buffer_set = 0;
  double start_seconds = 0;         ///< since the comparison began
  std::array<double, 3> seconds{};  ///< per launch, by clock; NaN where there is no such clock
  double sm_hertz = std::numeric_limits<double>::quiet_NaN();
};

/// One epoch as it was run.
struct epoch_record {
  int number = 0;
  int blocks = 0;
  double start_seconds = 0, seconds = 0;
  std::uint64_t throttle = 0;  ///< NVML's clocks event reasons at its end, 0 where unknown
  std::string dropped;         ///< why its cells do not count; empty where they do
};

/// One interim analysis as it was made.
struct analysis_record {
  int epochs = 0;
  double alpha = 0;
  int critical_value = -1;
  std::vector<verdict> outcomes;  ///< by contrast, on the primary clock, before the guards
};

/// The whole result of an experiment.
struct comparison {
  static constexpr int schema_version = 2;
  std::string title;
  std::string changed;  ///< the one axis that differs, "confounded" when several do
  std::vector<variant_result> variants;
  std::vector<finding> findings;
  std::vector<answer> answers;            ///< beyond the verdicts on the contrasts
  std::vector<answer> reasons;            ///< of differences, if variants were traced
  std::vector<traced_difference> traced;  ///< what the reasons rest on
  std::vector<std::string> notes;         ///< scope, reports of guards, fall-backs
  std::vector<std::string> caveats;       ///< changes in the way of measuring
  std::string failure;                    ///< the cause of an early end; else empty
  int failed_variant = -1;                ///< the index of the variant that caused it; -1: none
  std::vector<ceiling> ceilings;
  environment where;
  clock primary = clock::wall;
  double margin = 0.01;
  double alpha = 0.05;
  bool checks_required = false;  ///< `options::require_checks`
  std::uint64_t seed = 0;
  int launches = 0;    ///< timed ones of each cell; 0 where that is unknown
  int epochs = 0;      ///< without the dropped ones
  double seconds = 0;  ///< duration of the comparison
  /// Ratio of the times of the control's second and first instance, at 99 %; none without a hidden
  /// control and before the first analysis.
  std::optional<estimate> hidden_control;
  double autocorrelation = std::numeric_limits<double>::quiet_NaN();  ///< lag 1, of epoch effects
  std::vector<cell_record> cells;
  std::vector<epoch_record> epoch_records;
  std::vector<analysis_record> analyses;

  comparison();
  comparison(comparison const&);
  comparison(comparison&&) noexcept;
  comparison& operator=(comparison const&);
  comparison& operator=(comparison&&) noexcept;
  ~comparison();

  /// True if this is the verdict on the second of two variants against the first. Throws
  /// `std::invalid_argument` for a comparison with several verdicts, which needs `outcome`.
  bool is(verdict asked) const;

  /// The guard that objected to the verdict on two variants, the wrong element, or the cause of a
  /// bound; else empty.
  std::string const& reason() const;

  /// The verdict on `variant` against `control`, and their ratio of times. Both functions throw
  /// `std::invalid_argument` for a pair that was not compared.
  verdict outcome(std::string_view control, std::string_view variant) const;
  estimate const& effect(std::string_view control, std::string_view variant) const;

  /// The finding on the primary clock that holds `variant` against `control`.
  finding const& of_pair(std::string_view control, std::string_view variant) const;
};

/// Prints the short report; `<assay/report/text.hpp>` has the full one.
std::ostream& operator<<(std::ostream& out, comparison const& all);

}  // namespace assay::measure

namespace assay {

using measure::comparison;
using stats::verdict;

}  // namespace assay

#ifndef ASSAY_DECLARED
#include <assay/measure/comparison_definitions.hpp>
#endif
