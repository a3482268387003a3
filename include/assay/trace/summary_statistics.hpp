// SPDX-License-Identifier: Apache-2.0
/// @file
/// `summary_statistics`: the numbers by which `nsys stats` describes a group of rows, and the
/// tables of these numbers by name.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Count, sum and shape of a group of whole numbers; all zero for an empty one.
struct summary_statistics {
  std::int64_t count = 0;
  std::int64_t total = 0;
  double mean = 0;
  double median = 0;  ///< the mean of the middle two of an even count
  std::int64_t min = 0;
  std::int64_t max = 0;
  double deviation = 0;  ///< of a sample (n - 1); 0 for one value
  bool operator==(summary_statistics const&) const = default;
};

/// The sum, limited to the range of the type: damaged traces hold any numbers.
constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) noexcept {
  using limits = std::numeric_limits<std::int64_t>;
  if (b > 0 && a > limits::max() - b) { return limits::max(); }
  if (b < 0 && a < limits::min() - b) { return limits::min(); }
  return a + b;
}

/// The statistics of `values`, which come out in another order. O(n).
inline summary_statistics summarize_in_place(std::vector<std::int64_t>& values) {
  summary_statistics result;
  auto const first = values.begin();
  auto const last = values.end();
  result.count = last - first;
  if (result.count == 0) { return result; }
  result.min = result.max = values.front();
  for (auto const each : values) {
    result.total = saturated_sum(result.total, each);
    result.min = std::min(result.min, each);
    result.max = std::max(result.max, each);
  }
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  auto const middle = first + result.count / 2;
  std::nth_element(first, middle, last);
  result.median = static_cast<double>(*middle);
  if (result.count % 2 == 0) {
    auto const below = *std::max_element(first, middle);
    result.median = (result.median + static_cast<double>(below)) / 2;
  }
  double squares = 0;  // about the mean, since the sum of plain squares cancels
  for (auto const each : values) {
    auto const off = static_cast<double>(each) - result.mean;
    squares += off * off;
  }
  if (result.count > 1) {
    result.deviation = std::sqrt(squares / static_cast<double>(result.count - 1));
  }
  return result;
}

/// The statistics of `values`. O(n).
inline summary_statistics summarize(std::vector<std::int64_t> values) {
  return summarize_in_place(values);
}

/// Statistics under keys.
template <class Key>
using keyed_statistics = std::vector<std::pair<Key, summary_statistics>>;

/// Sorts by falling total; what has equal totals keeps its order.
template <class Key>
void sort_by_total(keyed_statistics<Key>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](auto const& a, auto const& b) { return a.second.total > b.second.total; });
}

/// Values gathered under keys.
template <class Key>
class grouping {
 public:
  /// The number of a key's group, to add many values at no further look-up.
  std::uint32_t group(Key const& key) {
    auto const next = static_cast<std::uint32_t>(values_.size());
    auto const [at, added] = numbers_.try_emplace(key, next);
    if (added) { values_.emplace_back(); }
    return at->second;
  }
  void add(std::uint32_t group, std::int64_t value) { values_[group].push_back(value); }
  void add(Key const& key, std::int64_t value) { add(group(key), value); }

  /// The groups by falling total; groups of equal total by key.
  keyed_statistics<Key> by_total() {
    keyed_statistics<Key> result;
    for (auto const& [key, number] : numbers_) {
      result.emplace_back(key, summarize_in_place(values_[number]));
    }
    sort_by_total(result);
    return result;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<std::vector<std::int64_t>> values_;  // by number
};

/// The sum of the totals of groups.
template <class Key>
std::int64_t total_of(keyed_statistics<Key> const& groups) {
  std::int64_t sum = 0;
  for (auto const& [key, each] : groups) { sum = saturated_sum(sum, each.total); }
  return sum;
}

constexpr double percent_of(std::int64_t part, std::int64_t whole) noexcept {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

/// The first columns of every summary of times, followed by `last`. `count` names the count.
inline std::vector<column> time_columns(std::string const& count, std::string const& last) {
  return parse_columns(
      concat({"Time (%):1, Total Time (ns), ", count,
              ", Avg (ns):1, Med (ns):1, Min (ns), Max (ns), StdDev (ns):1, ", last}));
}

/// Adds a row for each group; `last_cells(key)` gives the tuple of its last cells.
template <class Key, class LastCells>
void add_times(table& to, keyed_statistics<Key> const& rows, LastCells&& last_cells) {
  auto const sum = total_of(rows);
  for (auto const& [key, each] : rows) {
    std::apply(
        [&, &row = each](auto const&... last) {
          to.add(percent_of(row.total, sum), row.total, row.count, row.mean, row.median, row.min,
                 row.max, row.deviation, last...);
        },
        last_cells(key));
  }
}

}  // namespace assay::trace
