// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to signed_rank.hpp and rank_sum.hpp. The tail of a law of ranks by its cumulants, where
/// a sample is too large for the exact law.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace assay::stats::detail {

/// The z below which a normal number lies with probability p <= 1/2.
inline double lower_normal_quantile(double p) {
  double low = -40;  // below the normal quantile of every double
  double high = 0;
  for (int step = 0; step < 100; ++step) {
    double const middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) <= p ? low : high) = middle;
  }
  return low;
}

/// The cumulants of a law of whole numbers that is symmetric about its mean: those of odd order
/// above the first are 0.
struct symmetric_cumulants {
  double mean = 0;
  double variance = 0;
  double fourth = 0;
  double sixth = 0;

  /// The largest c with P(T <= c) <= p <= 1/2 by the expansion of Cornish and Fisher (1937) to the
  /// order n^-2, with a continuity correction; at least -1.
  ///
  /// The expansion does not hold far out. There the bound exp(-d^2 / 2) on the probability of d
  /// standard deviations gives a c that is too small rather than too large. It holds for sums of
  /// bounded numbers (Hoeffding), and for the rank sum: the logarithm of its moment generating
  /// function is below that of a normal number.
  std::int64_t critical_value(double p) const {
    auto const below_mean = [&](double deviations) {
      double const found = std::floor(mean - 0.5 - std::sqrt(variance) * deviations);
      return std::max(std::int64_t{-1}, static_cast<std::int64_t>(found));
    };
    if (p < 4e-9) { return below_mean(std::sqrt(-2 * std::log(p))); }
    double const k4 = fourth / (variance * variance);
    double const k6 = sixth / (variance * variance * variance);
    double const z = lower_normal_quantile(p);
    double const z3 = z * z * z;
    double const z5 = z3 * z * z;
    double const shifted = z + k4 / 24 * (z3 - 3 * z) + k6 / 720 * (z5 - 10 * z3 + 15 * z) -
                           k4 * k4 / 384 * (3 * z5 - 24 * z3 + 29 * z);
    return below_mean(-shifted);
  }
};

}  // namespace assay::stats::detail
