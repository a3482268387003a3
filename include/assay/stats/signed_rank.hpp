// SPDX-License-Identifier: Apache-2.0
/// @file
/// Wilcoxon's signed-rank statistic: its law, and the interval that inverts its test.
#pragma once

#include <assay/stats/cumulants.hpp>
#include <assay/stats/five_numbers.hpp>
#include <assay/stats/number_text.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::stats {

/// The largest sample whose critical values follow from the exact law. The laws of all smaller
/// samples together take 10 MB; beyond, an expansion is right to one rank.
inline constexpr int most_exact_signed_ranks = 192;

namespace detail {

inline void require_sample(std::int64_t n) {
  if (n >= 0) { return; }
  throw std::invalid_argument("a signed-rank sample has 0 or more values, not " +
                              std::to_string(n));
}

}  // namespace detail

/// P(T+ <= t) for t = 0 ... n(n+1)/2. T+ is the sum of the ranks of the positive values among n
/// values with random signs.
///
/// Each rank is in the sum or not, so the law is the convolution of n two-point laws. Halving is
/// exact in binary, so there is no rounding up to n = 53, and negligible rounding above. The time
/// grows with the third power of n.
inline std::vector<double> signed_rank_distribution(int n) {
  detail::require_sample(n);
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
  return law;
}

namespace detail {

/// The law of n <= `most_exact_signed_ranks` values, which the process computes once and keeps.
///
/// Never destroyed: destructors of static objects may compare. Without a lock, which a forked child
/// could inherit held.
inline std::vector<double> const& kept_signed_rank_law(int n) {
  static constinit std::array<std::atomic<std::vector<double> const*>, most_exact_signed_ranks + 1>
      laws{};
  auto& kept = laws.at(static_cast<std::size_t>(n));
  if (auto const* const known = kept.load(std::memory_order_acquire)) { return *known; }
  auto made = std::make_unique<std::vector<double> const>(signed_rank_distribution(n));
  std::vector<double> const* first = nullptr;
  if (kept.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *first;  // another thread was faster
}

/// The largest c with P(T+ <= c) <= p <= 1/2 by the expansion; at least -1.
///
/// T+ is a sum of n independent ranks with probability 1/2 each, so its third and fifth cumulants
/// are 0. The others are sums of powers of the ranks i: i^2 / 4, -i^4 / 8, i^6 / 4.
inline std::int64_t expanded_critical_value(std::int64_t n, double p) {
  double squares = 0;
  double fourths = 0;
  double sixths = 0;
  for (std::int64_t i = 1; i <= n; ++i) {
    double const square = static_cast<double>(i) * static_cast<double>(i);
    squares += square;
    fourths += square * square;
    sixths += square * square * square;
  }
  symmetric_cumulants const law{0.25 * static_cast<double>(n) * static_cast<double>(n + 1),
                                squares / 4, -fourths / 8, sixths / 4};
  return law.critical_value(p);
}

}  // namespace detail

/// The largest c with P(T+ <= c) <= alpha / 2, or -1 where even P(T+ = 0) is above alpha / 2.
/// The two-sided test at level alpha rejects when T+ or its mirror image is at most c.
///
/// Exact up to `most_exact_signed_ranks` values. Beyond, c may be off by one rank, which changes
/// the level by less than 1 % of itself; the time grows with n.
inline std::int64_t signed_rank_critical_value(std::int64_t n, double alpha) {
  if (!(alpha > 0 && alpha < 1)) {
    throw std::invalid_argument("a level lies between 0 and 1, not " + number_text(alpha));
  }
  detail::require_sample(n);
  if (n > most_exact_signed_ranks) { return detail::expanded_critical_value(n, alpha / 2); }
  auto const& law = detail::kept_signed_rank_law(static_cast<int>(n));
  auto const above = std::upper_bound(law.begin(), law.end(), alpha / 2);
  return above - law.begin() - 1;
}

/// The level 2 P(T+ <= c) of the test with the critical value c >= 0 that was found for the level
/// `alpha`. Beyond `most_exact_signed_ranks` values this is `alpha` itself.
inline double attained_level(std::int64_t n, std::int64_t critical_value, double alpha) {
  if (n > most_exact_signed_ranks) { return alpha; }
  auto const& law = detail::kept_signed_rank_law(static_cast<int>(n));
  return 2 * law.at(static_cast<std::size_t>(critical_value));
}

namespace detail {

/// A number whose order as an unsigned integer is the order of doubles, and its inverse.
inline std::uint64_t order_of(double value) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  auto const bits = std::bit_cast<std::uint64_t>(value);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}
inline double value_of(std::uint64_t order) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
  return std::bit_cast<double>((order & sign) != 0 ? order & ~sign : ~order);
}

/// The number of Walsh averages (x_i + x_j) / 2, i <= j, of sorted values that are at most `bound`.
/// The last such j falls as i grows, so each index moves once over the values.
inline std::int64_t walsh_averages_within(std::vector<double> const& sorted, double bound) {
  std::int64_t count = 0;
  auto end = static_cast<std::int64_t>(sorted.size());
  for (std::int64_t i = 0; i < end; ++i) {
    auto const first = sorted[static_cast<std::size_t>(i)];
    while (end > i && 0.5 * (first + sorted[static_cast<std::size_t>(end - 1)]) > bound) { --end; }
    count += end - i;
  }
  return count;
}

}  // namespace detail

/// The Walsh average (x_i + x_j) / 2, i <= j, of sorted values that has `rank` averages before it.
/// It is found by halving the range of doubles, at most 64 times; each step takes a pass over the
/// values.
inline double walsh_average(std::vector<double> const& sorted, std::int64_t rank) {
  auto low = detail::order_of(sorted.front());
  auto high = detail::order_of(sorted.back());
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    if (detail::walsh_averages_within(sorted, detail::value_of(middle)) > rank) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return detail::value_of(low) + 0.0;  // -0 becomes 0
}

/// Hodges-Lehmann estimate (median of the Walsh averages) and the closed interval
/// [W(c+1), W(N-c)] of those shifts that the signed-rank test with critical value c accepts.
///
/// The interval is exact for values of any law that is symmetric about the shift. Zeros and ties
/// stay in the sample, which widens it. Negating all values negates all three numbers bit for bit,
/// but for the sign of 0. With c < 0 no level can be reached, and both ends are infinite. Throws on
/// no values. The time grows with n log n.
inline interval signed_rank_interval(std::span<double const> values, std::int64_t critical_value) {
  if (values.empty()) {
    throw std::invalid_argument("a signed-rank interval needs 1 value or more");
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  auto const count = static_cast<std::int64_t>(sorted.size());
  auto const size = count * (count + 1) / 2;
  interval found;
  found.estimate = 0.5 * (walsh_average(sorted, (size - 1) / 2) + walsh_average(sorted, size / 2));
  if (critical_value < 0) { return found; }
  if (2 * critical_value >= size) {
    throw std::invalid_argument("critical value " + std::to_string(critical_value) +
                                " is past the middle of " + std::to_string(size) +
                                " Walsh averages");
  }
  found.low = walsh_average(sorted, critical_value);
  found.high = walsh_average(sorted, size - 1 - critical_value);
  return found;
}

}  // namespace assay::stats
