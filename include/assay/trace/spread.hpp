// SPDX-License-Identifier: Apache-2.0
/// @file
/// `spread`: the numbers by which `nsys stats` describes a group of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace assay::trace {

/// Count, sum and shape of a group of whole numbers; all zero for an empty one.
struct spread {
  std::int64_t count = 0;
  std::int64_t total = 0;
  double mean = 0;
  double median = 0;  ///< the mean of the middle two of an even count
  std::int64_t min = 0;
  std::int64_t max = 0;
  double deviation = 0;  ///< of a sample (n - 1); 0 for one value
  bool operator==(spread const&) const = default;
};

/// The sum, or what is nearest to it of the numbers that there are: damaged traces have any.
constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) noexcept {
  using limits = std::numeric_limits<std::int64_t>;
  if (b > 0 && a > limits::max() - b) { return limits::max(); }
  if (b < 0 && a < limits::min() - b) { return limits::min(); }
  return a + b;
}

/// Describes the values from `first` to `last`, whose order it changes. O(n).
template <class Iterator>
spread spread_of(Iterator first, Iterator last) {
  spread result;
  result.count = last - first;
  if (result.count == 0) { return result; }
  for (auto at = first; at != last; ++at) { result.total = saturated_sum(result.total, *at); }
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  auto const middle = first + result.count / 2;
  std::nth_element(first, middle, last);
  result.median = static_cast<double>(*middle);
  if (result.count % 2 == 0) {
    auto const below = *std::max_element(first, middle);
    result.median = (result.median + static_cast<double>(below)) / 2;
  }
  auto const [low, high] = std::minmax_element(first, last);
  result.min = *low;
  result.max = *high;
  double squares = 0;  // about the mean, since the sum of plain squares cancels
  for (auto at = first; at != last; ++at) {
    auto const off = static_cast<double>(*at) - result.mean;
    squares += off * off;
  }
  if (result.count > 1) {
    result.deviation = std::sqrt(squares / static_cast<double>(result.count - 1));
  }
  return result;
}

/// Describes `values`.
inline spread spread_of(std::vector<std::int64_t> values) {
  return spread_of(values.begin(), values.end());
}

/// A value and the number of the group that it belongs to.
struct grouped_value {
  std::uint32_t group = 0;
  std::int64_t value = 0;
};

/// Describes each of `groups` groups; the values may come in any order. O(n).
inline std::vector<spread> spreads_of(std::vector<grouped_value> const& values,
                                      std::size_t groups) {
  std::vector<std::size_t> begin(groups + 1, 0);
  for (auto const& each : values) { ++begin[each.group + 1]; }
  for (std::size_t i = 0; i < groups; ++i) { begin[i + 1] += begin[i]; }
  std::vector<std::int64_t> sorted(values.size());
  auto next = begin;
  for (auto const& each : values) { sorted[next[each.group]++] = each.value; }
  std::vector<spread> result;
  result.reserve(groups);
  auto const at = [&](std::size_t i) {
    return sorted.begin() + static_cast<std::ptrdiff_t>(begin[i]);
  };
  for (std::size_t i = 0; i < groups; ++i) { result.push_back(spread_of(at(i), at(i + 1))); }
  return result;
}

}  // namespace assay::trace
