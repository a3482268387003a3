// SPDX-License-Identifier: Apache-2.0
/// @file
/// The outcome of measuring variants against each other: plain data, what all reports print.
#pragma once

#include <assay/measure/clock.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::measure {

/// What can be said of a contrast. `faster` and `slower` speak of the variant against the control;
/// for an interaction they read as negative and positive.
enum class verdict { faster, slower, equivalent, inconclusive, unproven, wrong_answer };

constexpr std::string_view to_string(verdict which) noexcept {
  constexpr std::array<std::string_view, 6> names{"FASTER",       "SLOWER",   "EQUIVALENT",
                                                  "INCONCLUSIVE", "UNPROVEN", "WRONG ANSWER"};
  return names[static_cast<std::size_t>(which)];
}

/// An estimated ratio of times with its confidence interval; infinite ends mean "no bound yet".
struct estimate {
  double ratio = 1;  ///< time of the variant / time of the control (Hodges-Lehmann)
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double confidence = 0.95;  ///< simultaneous over all looks and all contrasts of its family
};

/// A linear contrast of log times: weights over the variants that sum to zero. {-1, +1} is "second
/// against first"; {+1, -1, -1, +1} is the interaction of a 2x2.
struct contrast {
  enum class kind { difference, main_effect, interaction };
  std::string name;
  kind what = kind::difference;
  std::vector<double> weights;
};

/// What was found for one contrast on one clock.
struct finding {
  std::string contrast_name;
  contrast::kind what = contrast::kind::difference;
  clock on = clock::wall;
  bool primary = true;  ///< decided the stopping; secondary findings are told with their own level
  verdict outcome = verdict::inconclusive;
  bool material = true;  ///< false: a difference that is resolved, and yet inside the margin
  std::string reason;    ///< for unproven and wrong answers: which guard; else empty
  estimate effect;
  double noise_floor = 0;  ///< half-width of the hidden A/A control on this clock, as a share
  int epochs_needed = 0;   ///< for inconclusive: how many epochs would settle it, 0 if unknown
  std::vector<double> epoch_effects;  ///< one log ratio per epoch
  std::vector<double> weights;  ///< of its contrast over the arms; reports take their words from it
};

/// Five numbers of a sample, and how many values it had.
struct summary {
  double median = std::numeric_limits<double>::quiet_NaN();
  double q1 = std::numeric_limits<double>::quiet_NaN();
  double q3 = std::numeric_limits<double>::quiet_NaN();
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::size_t count = 0;
};

/// Quantiles of host time per item, in nanoseconds.
struct latency {
  double p50 = 0, p99 = 0, max = 0, mean = 0;
};

/// Where the host time of an item goes, from batches run apart from the timed ones.
struct submission_profile {
  latency total, allocation, lock_wait, launching;
  std::size_t items = 0;
};

/// What a variant's memory resource did in one batch.
struct memory_profile {
  std::uint64_t allocations = 0, deallocations = 0;
  std::uint64_t bytes = 0, peak_bytes = 0;
  std::optional<std::uint64_t> reserved_bytes;  ///< held from upstream, where the resource tells
  std::optional<std::uint64_t> reused_blocks;   ///< requests met without going upstream
  std::optional<std::uint64_t> upstream_calls;  ///< calls that went to the driver
};

/// One variant as measured.
struct arm {
  std::string label;
  std::vector<std::pair<std::string, std::string>> axes;
  std::array<summary, 3> seconds;                              ///< per launch, over cells, by clock
  double sm_hertz = std::numeric_limits<double>::quiet_NaN();  ///< median over cells
  double bytes = 0, flops = 0;                                 ///< per launch, as declared
  std::optional<submission_profile> submission;
  std::optional<memory_profile> memory;
  std::array<std::vector<double>, 3> cells;  ///< every cell's seconds per launch, by clock

  summary const& on(clock which) const { return seconds[static_cast<std::size_t>(which)]; }
};

/// Where and with what a comparison ran; empty strings and NaN where unknown.
struct environment {
  std::string device, driver, toolkit, host_cpu, compiler, commit, command_line, started_at;
  int host_threads = 0;
  double sm_clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double memory_clock_mhz = std::numeric_limits<double>::quiet_NaN();
  double power_watts = std::numeric_limits<double>::quiet_NaN();
  double temperature_celsius = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> throttle_reasons;  ///< seen at the end of any epoch
};

/// A question that an experiment was made to answer, and what it found: one sentence or more a
/// line.
struct answer {
  std::string question;
  std::vector<std::string> lines;
};

/// A physical limit measured in the same run, as bytes or FLOPs per second.
struct ceiling {
  enum class unit { bytes, flops };
  std::string name;
  double per_second = 0;
  unit of = unit::bytes;
};

/// An experiment's whole result.
struct comparison {
  static constexpr int schema_version = 1;
  std::string title;
  std::string changed;  ///< the one axis that differs, "confounded" when several do
  std::vector<arm> arms;
  std::vector<finding> findings;
  std::vector<answer> answers;     ///< where the experiment asks more than its contrasts say
  std::vector<answer> reasons;     ///< why arms differ, where they were traced
  std::vector<std::string> notes;  ///< scope, guards that reported without a veto, fall-backs
  std::string failure;             ///< what ended it before its time; empty when it ran its course
  std::vector<ceiling> ceilings;
  environment where;
  clock primary = clock::wall;
  double margin = 0.01;
  double alpha = 0.05;
  std::uint64_t seed = 0;
  int epochs = 0;
  double seconds = 0;  ///< how long it took
};

}  // namespace assay::measure
