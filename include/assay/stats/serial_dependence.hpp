// SPDX-License-Identifier: Apache-2.0
/// @file
/// How far intervals that take values in turn as independent are to be widened where each value
/// depends on those before it.
#pragma once

#include <assay/stats/five_numbers.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace assay::stats {

/// Times that the variance of the values' mean exceeds that of independent values; 1 or more.
///
/// The larger of two estimates. The first is (1 + r) / (1 - r), where the correlation r of
/// neighbours is corrected for its bias of -(1 + 4 r) / n (Kendall 1954). The second is Geyer's sum
/// over correlations (1992), which ends at the first pair of lags whose sum is not positive: it
/// sees slow drift.
inline double variance_inflation(std::span<double const> values) {
  constexpr double most = 0.95;  // a larger correlation cannot be told from 1 by some 100 values
  if (values.size() < 2) { return 1; }
  auto const r = autocorrelation(values, 1);
  auto const corrected =
      std::clamp(r + (1 + 4 * std::max(r, 0.0)) / static_cast<double>(values.size()), 0.0, most);
  double sum = 0;  // from lag 0 on
  for (std::size_t lag = 0; lag + 1 < values.size(); lag += 2) {
    auto const pair = autocorrelation(values, lag) + autocorrelation(values, lag + 1);
    if (!(pair > 0)) { break; }
    sum += pair;
  }
  return std::max((1 + corrected) / (1 - corrected), 2 * sum - 1);
}

/// Times as wide as for independent values: an interval of the difference between the samples.
inline double interval_widening(std::span<double const> first, std::span<double const> second) {
  auto const m = static_cast<double>(first.size());
  auto const n = static_cast<double>(second.size());
  return std::sqrt((variance_inflation(first) / m + variance_inflation(second) / n) /
                   (1 / m + 1 / n));
}

/// An interval whose ends are `times` as far from its estimate.
inline interval widened(interval const& of, double times) {
  auto const end = [&](double at) { return of.estimate + (at - of.estimate) * times; };
  return {end(of.low), of.estimate, end(of.high)};
}

/// The same of a factor, whose ends are as far on the scale of logarithms.
inline interval widened_factor(interval const& of, double times) {
  auto const end = [&](double at) { return of.estimate * std::pow(at / of.estimate, times); };
  return of.estimate > 0 && std::isfinite(of.estimate)
             ? interval{end(of.low), of.estimate, end(of.high)}
             : of;
}

}  // namespace assay::stats
