// SPDX-License-Identifier: Apache-2.0
/// @file
/// Wilcoxon's signed-rank statistic: its exact law, and the interval that inverts its test.
#pragma once

#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::stats {

/// P(T+ <= t) for t = 0 ... n(n+1)/2. T+ is the sum of the ranks of the positive values among n
/// values with random signs.
///
/// Each rank is in the sum or not, so the law is the convolution of n two-point laws. Halving is
/// exact in binary, so there is no rounding up to n = 53, and negligible rounding above. A thread
/// computes the law of each n once and keeps it until the thread ends.
inline std::vector<double> const& signed_rank_distribution(int n) {
  if (n < 0) {
    throw std::invalid_argument("a signed-rank sample has 0 or more values, not " +
                                std::to_string(n));
  }
  thread_local std::map<int, std::vector<double>> laws;
  if (auto const known = laws.find(n); known != laws.end()) { return known->second; }
  auto const size = static_cast<std::size_t>(n) * (static_cast<std::size_t>(n) + 1) / 2 + 1;
  std::vector<double> law(size, 0.0);
  law[0] = 1;
  std::size_t top = 0;
  for (std::size_t rank = 1; rank <= static_cast<std::size_t>(n); ++rank) {
    top += rank;
    for (std::size_t t = top + 1; t-- > 0;) {
      law[t] = 0.5 * (law[t] + (t >= rank ? law[t - rank] : 0.0));
    }
  }
  for (std::size_t t = 1; t < size; ++t) { law[t] += law[t - 1]; }
  return laws.emplace(n, std::move(law)).first->second;
}

/// The largest c with P(T+ <= c) <= alpha / 2, or -1 where even P(T+ = 0) is above alpha / 2.
/// The two-sided test at level alpha rejects when T+ or its mirror image is at most c.
inline int signed_rank_critical_value(int n, double alpha) {
  if (!(alpha > 0 && alpha < 1)) {
    throw std::invalid_argument("a level lies between 0 and 1, not " + number_text(alpha));
  }
  auto const& law = signed_rank_distribution(n);
  auto const above = std::upper_bound(law.begin(), law.end(), alpha / 2);
  return static_cast<int>(above - law.begin()) - 1;
}

/// A location and its interval, on the scale of the values.
struct interval {
  double low = -std::numeric_limits<double>::infinity();
  double estimate = 0;
  double high = std::numeric_limits<double>::infinity();

  bool excludes(double value) const noexcept { return low > value || high < value; }
  bool inside(double bound) const noexcept { return low > -bound && high < bound; }
  double half_width() const noexcept { return 0.5 * (high - low); }
};

/// The sorted averages (x_i + x_j) / 2 over all i <= j.
inline std::vector<double> walsh_averages(std::span<double const> values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) {
      averages.push_back(0.5 * (values[i] + values[j]));
    }
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

/// Hodges-Lehmann estimate (median of the Walsh averages) and the closed interval
/// [W(c+1), W(N-c)] of those shifts that the signed-rank test with critical value c accepts.
///
/// The interval is exact for values of any law that is symmetric about the shift. Zeros and ties
/// stay in the sample, which widens it. Negating all values negates all three numbers bit for bit.
/// With c < 0 no level can be reached, and both ends are infinite. Throws on no values.
inline interval signed_rank_interval(std::span<double const> values, int critical_value) {
  if (values.empty()) {
    throw std::invalid_argument("a signed-rank interval needs 1 value or more");
  }
  auto const averages = walsh_averages(values);
  auto const size = averages.size();
  interval found;
  found.estimate = 0.5 * (averages[(size - 1) / 2] + averages[size / 2]);
  if (critical_value < 0) { return found; }
  auto const c = static_cast<std::size_t>(critical_value);
  if (2 * c >= size) {
    throw std::invalid_argument("critical value " + std::to_string(c) + " is past the middle of " +
                                std::to_string(size) + " Walsh averages");
  }
  found.low = averages[c];
  found.high = averages[size - 1 - c];
  return found;
}

}  // namespace assay::stats
