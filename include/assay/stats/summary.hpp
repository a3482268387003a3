// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five-number summaries, and the location of a small sample with outliers.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace assay::stats {

/// Five numbers of a sample, and the number of its values.
struct summary {
  double median = std::numeric_limits<double>::quiet_NaN();
  double q1 = std::numeric_limits<double>::quiet_NaN();
  double q3 = std::numeric_limits<double>::quiet_NaN();
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::size_t count = 0;
};

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

/// The mean of the values without outliers; NaN of no values.
///
/// An outlier is farther from the median than 3 times the third quartile of all distances from it,
/// which is 3.5 standard deviations of normal values. Values within `always` of the median are no
/// outliers, so that ticks of a coarse clock average out. Up to a quarter of the values may be
/// outliers. Negated values give the negated mean bit for bit.
inline double mean_without_outliers(std::vector<double> const& values, double always = 0) {
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) { return std::numeric_limits<double>::quiet_NaN(); }
  // The mean of both middle values negates exactly; an interpolation does not.
  double const median = 0.5 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]);
  std::vector<double> distances;
  for (double const each : sorted) { distances.push_back(std::abs(each - median)); }
  std::sort(distances.begin(), distances.end());
  double const limit = std::max(always, 3 * quantile(distances, 0.75));
  double above = 0;
  double below = 0;  // two sums, added from the outside in: negation exchanges them
  int count = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    double const low = sorted[i] - median;
    double const high = sorted[sorted.size() - 1 - i] - median;
    if (low < 0 && low >= -limit) { below += low; }
    if (high > 0 && high <= limit) { above += high; }
    count += std::abs(low) <= limit ? 1 : 0;
  }
  return median + (above + below) / count;
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

/// Correlates each value with the one before it. The result is in [-1, 1], and NaN for fewer than 4
/// values and for equal values.
///
/// Independent values give a result within 2 / sqrt(count) of 0 in 19 samples of 20.
inline double lag_one_autocorrelation(std::span<double const> values) {
  if (values.size() < 4) { return std::numeric_limits<double>::quiet_NaN(); }
  double const middle = mean(values);
  double squares = 0;
  double products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double const here = values[i] - middle;
    squares += here * here;
    if (i > 0) { products += here * (values[i - 1] - middle); }
  }
  return squares > 0 ? products / squares : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace assay::stats
