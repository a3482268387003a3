// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five-number summaries, moments, and the correlation of successive values.
#pragma once

#include <assay/stats/five_numbers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace assay::stats {

/// The quantile `share` of sorted values, linear between them (type 7 of Hyndman and Fan, 1996);
/// NaN without values.
inline double quantile(std::vector<double> const& sorted, double share) {
  if (sorted.empty()) { return std::numeric_limits<double>::quiet_NaN(); }
  double const at = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(at);
  auto const above = std::min(below + 1, sorted.size() - 1);
  double const beyond = at - static_cast<double>(below);
  // The difference of two infinities is no number.
  if (beyond == 0 || sorted[below] == sorted[above]) { return sorted[below]; }
  return sorted[below] + beyond * (sorted[above] - sorted[below]);
}

/// Summarises the finite values of a sample; infinities and NaNs are not counted.
inline summary summarise(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  std::sort(values.begin(), values.end());
  if (values.empty()) { return {}; }
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75),
          values.front(),        values.back(),          values.size()};
}

/// The mean; 0 of no values.
inline double mean(std::span<double const> values) {
  double sum = 0;
  for (double const each : values) { sum += each / static_cast<double>(values.size()); }
  return sum;
}

/// The sample variance, with n - 1 in its denominator; 0 for fewer than 2 values.
inline double variance(std::span<double const> values) {
  if (values.size() < 2) { return 0; }
  double const middle = mean(values);
  double squares = 0;
  for (double const each : values) { squares += (each - middle) * (each - middle); }
  return squares / static_cast<double>(values.size() - 1);
}

/// The square root of `variance`.
inline double standard_deviation(std::span<double const> values) {
  return std::sqrt(variance(values));
}

/// The third central moment over the cube of the deviation; 0 of equal values. Normal samples of
/// n values have a skewness within 2 sqrt(6 / n) of 0 in 19 of 20 cases.
inline double skewness(std::span<double const> values) {
  double const middle = mean(values);
  double squares = 0;
  double cubes = 0;
  for (double const each : values) {
    double const distance = each - middle;
    squares += distance * distance;
    cubes += distance * distance * distance;
  }
  auto const count = static_cast<double>(values.size());
  return squares > 0 ? cubes / count / std::pow(squares / count, 1.5) : 0;
}

/// Correlation of the values with those `lag` later; 0 for values that are all equal.
inline double autocorrelation(std::span<double const> values, std::size_t lag) {
  // The rounding of their mean would correlate equal values.
  if (std::ranges::adjacent_find(values, std::not_equal_to{}) == values.end()) { return 0; }
  double const middle = mean(values);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - middle) * (values[i] - middle);
    if (i >= lag) { products += (values[i] - middle) * (values[i - lag] - middle); }
  }
  return squares > 0 ? products / squares : 0;
}

/// The same of neighbours; NaN for fewer than 4 values and for equal values. Independent values
/// give a result within 2 / sqrt(count) of 0 in 19 samples of 20.
inline double lag_one_autocorrelation(std::span<double const> values) {
  bool const varies = std::ranges::adjacent_find(values, std::not_equal_to{}) != values.end();
  return values.size() >= 4 && varies ? autocorrelation(values, 1)
                                      : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace assay::stats
