// SPDX-License-Identifier: Apache-2.0
/// @file
/// What many comparisons said whose true difference is known.
#pragma once

#include "rules.hpp"

#include <assay/measure/comparison.hpp>
#include <assay/measure/summary.hpp>
#include <assay/report/json_parts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::benchmark {

/// One comparison and what it said on the GPU clock.
struct trial {
  measure::verdict outcome = measure::verdict::inconclusive;
  measure::estimate effect;
  int epochs = 0;
  double seconds = 0;
  std::vector<double> control, variant;  ///< seconds per launch of every cell
};

/// What a comparison of two variants said; throws `std::runtime_error` where it failed.
inline trial trial_of(measure::comparison const& found) {
  if (!found.failure.empty()) { throw std::runtime_error(found.failure); }
  auto const primary = std::ranges::find_if(found.findings, &measure::finding::primary);
  constexpr auto gpu = static_cast<std::size_t>(measure::clock::gpu);
  return {primary->outcome, primary->effect,          found.epochs,
          found.seconds,    found.arms[0].cells[gpu], found.arms[1].cells[gpu]};
}

inline bool says_different(trial const& one) {
  return one.outcome == measure::verdict::faster || one.outcome == measure::verdict::slower;
}

/// The upper end of Clopper and Pearson's 95 % interval (one-sided) for `hits` of `trials`.
inline double clopper_pearson_upper(int hits, int trials) {
  auto const at_most = [&](double p) {
    double sum = 0;
    for (int k = 0; k <= hits; ++k) {
      sum +=
          std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) -
                   std::lgamma(trials - k + 1.0) + k * std::log(p) + (trials - k) * std::log1p(-p));
    }
    return sum;
  };
  if (hits >= trials) { return 1; }
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    double const middle = (low + high) / 2;
    (at_most(middle) > 0.05 ? low : high) = middle;
  }
  return high;
}

/// What all trials said, for the record: one row each of verdict, ratio, interval, epochs.
inline report::document rows_of(std::vector<trial> const& trials) {
  auto rows = report::document::array();
  for (auto const& one : trials) {
    rows.push_back(
        {to_string(one.outcome), one.effect.ratio, one.effect.low, one.effect.high, one.epochs});
  }
  return rows;
}

/// How often each of the other rules says "different" of the same cells.
inline report::document other_rules(std::vector<trial> const& trials) {
  report::document all;
  for (auto const& each : rules::all) {
    int different = 0;
    for (auto const& one : trials) {
      auto const said = each.judge(one.control, one.variant);
      different += said == rules::answer::faster || said == rules::answer::slower ? 1 : 0;
    }
    all[std::string{each.name}] =
        static_cast<double>(different) / static_cast<double>(trials.size());
  }
  return all;
}

/// How often comparisons of equal things said "different": says so in a line that begins with
/// `name`, and returns it for the record, with a row for each trial.
inline report::document false_alarms_of(std::string const& name, std::vector<trial> const& all) {
  auto const trials = static_cast<int>(all.size());
  auto const alarms = static_cast<int>(std::ranges::count_if(all, says_different));
  auto const unproven =
      static_cast<int>(std::ranges::count(all, measure::verdict::unproven, &trial::outcome));
  auto const upper_bound = clopper_pearson_upper(alarms, trials);
  std::vector<double> half_widths;
  std::vector<double> seconds;
  for (auto const& one : all) {
    half_widths.push_back(std::log(one.effect.high / one.effect.low) / 2);
    seconds.push_back(one.seconds);
  }
  auto const half_width = measure::summarise(half_widths).median;
  auto const verdict_seconds = measure::summarise(seconds);
  std::printf(
      "%s: %d false alarms of %d (at most %.2f %%), %d unproven, %.2f s a verdict, "
      "half-width %.3f %%\n",
      name.c_str(), alarms, trials, 100 * upper_bound, unproven, verdict_seconds.median,
      100 * half_width);
  report::document found;
  found["trials"] = trials;
  found["false_alarms"] = alarms;
  found["unproven"] = unproven;
  found["rate_upper_bound"] = upper_bound;
  found["median_half_width"] = half_width;
  found["median_seconds_per_verdict"] = verdict_seconds.median;
  found["max_seconds_per_verdict"] = verdict_seconds.max;
  found["false_alarm_rate_of_other_rules_on_the_same_cells"] = other_rules(all);
  found["rows"] = rows_of(all);
  return found;
}

}  // namespace assay::benchmark
