// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows and counts of many comparisons with a known true difference.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/document.hpp>
#include <assay/stats/summary.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace assay::benchmark {

/// One comparison of two variants as a row of a result: its verdict on the primary clock, its
/// ratio with the interval, and its effort.
using trial = report::document;

/// JSON has no NaN and no infinity: both become null.
inline report::document finite(double value) {
  return std::isfinite(value) ? report::document(value) : report::document(nullptr);
}

inline trial trial_of(measure::comparison const& found) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  measure::finding said;
  for (auto const& each : found.findings) {
    if (each.primary) { said = each; }
  }
  trial row;
  row["outcome"] = to_string(said.outcome);
  row["ratio"] = finite(said.effect.ratio);
  row["low"] = finite(said.effect.low);
  row["high"] = finite(said.effect.high);
  row["epochs"] = found.epochs;
  row["dropped_epochs"] = static_cast<int>(found.epoch_records.size()) - found.epochs;
  row["seconds"] = found.seconds;
  row["launch_seconds"] =
      finite(found.variants.empty() ? unknown : found.variants[0].on(found.primary).median);
  row["reason"] = said.reason;
  return row;
}

/// A trial that is no comparison is its own row.
inline trial trial_of(trial row) { return row; }

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

/// The finite values of one column.
inline std::vector<double> column(std::vector<trial> const& rows, char const* name) {
  std::vector<double> values;
  for (auto const& row : rows) {
    if (auto const& value = row.at(name); !value.is_null()) { values.push_back(value); }
  }
  return values;
}

inline int count_of(std::vector<trial> const& rows, measure::verdict outcome) {
  int count = 0;
  for (auto const& row : rows) { count += row.at("outcome") == to_string(outcome) ? 1 : 0; }
  return count;
}

/// Counts the verdicts of comparisons of equal work: FASTER and SLOWER are false alarms.
inline report::document counts_of(std::vector<trial> const& rows) {
  using measure::verdict;
  auto const trials = static_cast<int>(rows.size());
  report::document found;
  found["trials"] = trials;
  found["faster"] = count_of(rows, verdict::faster);
  found["slower"] = count_of(rows, verdict::slower);
  auto const alarms = count_of(rows, verdict::faster) + count_of(rows, verdict::slower);
  found["false_alarms"] = alarms;
  found["rate_upper_bound"] = clopper_pearson_upper(alarms, trials);
  found["equivalent"] = count_of(rows, verdict::equivalent);
  found["inconclusive"] = count_of(rows, verdict::inconclusive);
  found["unproven"] = count_of(rows, verdict::unproven);
  found["wrong_answers"] = count_of(rows, verdict::wrong_answer);
  auto const of = [&](char const* name) { return stats::summarise(column(rows, name)); };
  found["median_seconds_per_verdict"] = finite(of("seconds").median);
  found["max_seconds_per_verdict"] = finite(of("seconds").max);
  found["median_epochs"] = finite(of("epochs").median);
  found["median_launch_seconds"] = finite(of("launch_seconds").median);
  return found;
}

/// Prints the counts in one line that begins with `name`.
inline void print_counts(std::string const& name, report::document const& counts) {
  auto const whole = [&](char const* key) { return counts.at(key).get<int>(); };
  auto const real = [&](char const* key) {
    auto const& value = counts.at(key);
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  };
  std::printf(
      "%-24s %4d: %2d false (%d faster, %d slower; at most %.2f %%), %d equivalent, %d "
      "inconclusive, %d unproven, %d wrong; %.2f s (at most %.2f s), %.0f epochs, %.2f us\n",
      name.c_str(), whole("trials"), whole("false_alarms"), whole("faster"), whole("slower"),
      100 * real("rate_upper_bound"), whole("equivalent"), whole("inconclusive"), whole("unproven"),
      whole("wrong_answers"), real("median_seconds_per_verdict"), real("max_seconds_per_verdict"),
      real("median_epochs"), 1e6 * real("median_launch_seconds"));
  std::fflush(stdout);
}

/// Prints the counts of comparisons of equal work, and returns the counts with the rows.
inline report::document false_alarms_of(std::string const& name, std::vector<trial> const& all) {
  auto found = counts_of(all);
  print_counts(name, found);
  found["rows"] = all;
  return found;
}

}  // namespace assay::benchmark
