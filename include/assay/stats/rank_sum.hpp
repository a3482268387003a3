// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rank-sum statistic of Mann, Whitney and Wilcoxon: its law, and the intervals of the shift
/// and of the ratio between two samples that invert its test. The samples may differ in size.
#pragma once

#include <assay/stats/cumulants.hpp>
#include <assay/stats/five_numbers.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::stats {

/// Critical values follow from the exact law where the product of the sizes is at most this: the
/// law takes at most 0.1 s. Beyond, an expansion is right to one rank, which changes the level by
/// less than 1 % of itself.
inline constexpr std::int64_t most_exact_rank_products = 10'000;
/// The least size of each sample for which the expansion is that good.
inline constexpr std::int64_t fewest_expanded_ranks = 50;

/// P(U <= u) for u = 0 ... mn. U is the number of pairs whose second value is below the first, of m
/// and n values of one law without ties.
///
/// The largest value belongs to the first sample with probability m / (m + n), and then has n
/// values of the second sample below it. No term is subtracted, so rounding stays near the last
/// bit. The time grows with (mn)^2.
inline std::vector<double> rank_sum_distribution(int m, int n) {
  if (m < 0 || n < 0) {
    throw std::invalid_argument("rank-sum samples have 0 or more values, not " + std::to_string(m) +
                                " and " + std::to_string(n));
  }
  if (m < n) { std::swap(m, n); }  // the law is the same, and takes less memory
  auto const columns = static_cast<std::size_t>(n);
  std::vector<std::vector<double>> laws(columns + 1, {1.0});  // of 0 and j values
  for (int i = 1; i <= m; ++i) {
    laws[0] = {1.0};
    for (std::size_t j = 1; j <= columns; ++j) {
      double const all = static_cast<double>(i) + static_cast<double>(j);
      auto const most = static_cast<std::size_t>(i) * j;
      std::vector<double> law(most + 1, 0.0);  // the same from either end
      auto const& shorter = laws[j];           // of i - 1 and j values
      for (std::size_t u = j; u <= most / 2; ++u) { law[u] += i / all * shorter[u - j]; }
      auto const& narrower = laws[j - 1];  // of i and j - 1 values
      for (std::size_t u = 0; u < std::min(narrower.size(), most / 2 + 1); ++u) {
        law[u] += static_cast<double>(j) / all * narrower[u];
      }
      for (std::size_t u = 0; u <= most / 2; ++u) { law[most - u] = law[u]; }
      laws[j] = std::move(law);
    }
  }
  auto& law = laws[columns];
  for (std::size_t u = 1; u < law.size(); ++u) { law[u] += law[u - 1]; }
  return std::move(law);
}

/// The largest c with P(U <= c) <= alpha / 2, or -1 where even P(U = 0) is above alpha / 2. The
/// two-sided test at level alpha rejects when U or its mirror image is at most c.
///
/// Exact where mn is at most `most_exact_rank_products`. Throws `std::invalid_argument` where it is
/// larger and one sample has fewer than `fewest_expanded_ranks` values.
inline std::int64_t rank_sum_critical_value(std::int64_t m, std::int64_t n, double alpha) {
  if (!(alpha > 0 && alpha < 1)) {
    throw std::invalid_argument("a level lies between 0 and 1, not " + number_text(alpha));
  }
  if (m <= 0 || n <= 0) { return -1; }
  if (std::max(m, n) <= most_exact_rank_products / std::min(m, n)) {
    auto const law = rank_sum_distribution(static_cast<int>(m), static_cast<int>(n));
    return std::upper_bound(law.begin(), law.end(), alpha / 2) - law.begin() - 1;
  }
  if (std::min(m, n) < fewest_expanded_ranks) {
    throw std::invalid_argument("rank sums of " + std::to_string(m) + " and " + std::to_string(n) +
                                " values: take fewer of the larger sample, or at least " +
                                std::to_string(fewest_expanded_ranks) + " of the smaller");
  }
  // U has the generating function of (1 - q^(n+i)) / (1 - q^i), i = 1 ... m. A factor 1 - q^k over
  // 1 - q has the cumulants of a uniform whole number below k: k^2 / 12, -k^4 / 120, k^6 / 252,
  // each less its value for 1.
  detail::symmetric_cumulants law{0.5 * static_cast<double>(m) * static_cast<double>(n)};
  for (std::int64_t i = 1; i <= m; ++i) {
    double const over = static_cast<double>(n + i) * static_cast<double>(n + i);
    double const under = static_cast<double>(i) * static_cast<double>(i);
    law.variance += (over - under) / 12;
    law.fourth -= (over * over - under * under) / 120;
    law.sixth += (over * over * over - under * under * under) / 252;
  }
  return law.critical_value(alpha / 2);
}

/// The least size of two equal samples for which the test can reject at level alpha: 4 for 5 %.
inline std::int64_t fewest_rank_sum_values(double alpha) {
  double least = 1;  // P(U = 0), one over the number of ways to choose n of 2n
  std::int64_t n = 0;
  for (; least > alpha / 2; ++n) {
    auto const next = static_cast<double>(n) + 1;
    least *= next / (2 * (2 * next - 1));
  }
  return n;
}

namespace detail {

/// The median of some numbers and, for a critical value c >= 0, those with c numbers before them
/// and after them. `undecided` more numbers are unknown: each widens the interval.
inline interval middle_of(std::vector<double> all, std::int64_t critical_value,
                          std::int64_t undecided = 0) {
  auto const at = [&](std::int64_t index) {
    auto const found = all.begin() + index;
    std::nth_element(all.begin(), found, all.end());
    return *found;
  };
  auto const size = static_cast<std::int64_t>(all.size());
  interval found;
  found.estimate = 0.5 * at((size - 1) / 2) + 0.5 * at(size / 2);
  if (critical_value < 0) { return found; }
  if (2 * critical_value >= size + undecided) {
    throw std::invalid_argument("critical value " + std::to_string(critical_value) +
                                " is past the middle of " + std::to_string(size + undecided) +
                                " pairs");
  }
  if (critical_value >= undecided) {
    found.low = at(critical_value - undecided);
    found.high = at(size - 1 - critical_value + undecided);
  }
  return found;
}

inline void require_two_samples(std::span<double const> first, std::span<double const> second) {
  if (!first.empty() && !second.empty()) { return; }
  throw std::invalid_argument("a rank-sum interval needs 1 value or more on each side");
}

}  // namespace detail

/// Hodges-Lehmann estimate of the shift from the first sample to the second (the median of all
/// differences), and the closed interval of those shifts that the rank-sum test with critical value
/// c accepts.
///
/// Exact for samples of laws that differ by a shift. Ties widen the interval. With c < 0 no level
/// can be reached, and both ends are infinite. Takes memory and time for all mn differences.
inline interval rank_sum_shift(std::span<double const> first, std::span<double const> second,
                               std::int64_t critical_value) {
  detail::require_two_samples(first, second);
  std::vector<double> all;
  all.reserve(first.size() * second.size());
  for (double const x : first) {
    for (double const y : second) { all.push_back(y - x); }
  }
  return detail::middle_of(std::move(all), critical_value);
}

/// As `rank_sum_shift`, the factor from the first sample to the second. Values are 0 or more. A
/// pair of zeros fits every factor and widens the interval; NaN and all factors where all pairs do.
inline interval rank_sum_ratio(std::span<double const> first, std::span<double const> second,
                               std::int64_t critical_value) {
  detail::require_two_samples(first, second);
  std::vector<double> all;
  all.reserve(first.size() * second.size());
  for (double const x : first) {
    for (double const y : second) {
      if (x != 0 || y != 0) { all.push_back(y / x); }
    }
  }
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  if (all.empty()) { return {0, std::numeric_limits<double>::quiet_NaN(), infinite}; }
  auto const undecided = static_cast<std::int64_t>(first.size() * second.size() - all.size());
  auto found = detail::middle_of(std::move(all), critical_value, undecided);
  found.low = std::max(0.0, found.low);
  return found;
}

}  // namespace assay::stats
