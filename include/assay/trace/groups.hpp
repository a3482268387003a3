// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows gathered into groups by name, and the tables that summarise them.
#pragma once

#include <assay/trace/spread.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Gives each name of a model, once, what `make` says of it: reports look at a million rows, but
/// only at hundreds of names.
template <class Make>
auto once_per_name(std::size_t names, Make make) {
  using result_type = decltype(make(string_id{}));
  return [make = std::move(make), known = std::vector<bool>(names),
          results = std::vector<result_type>(names)](string_id name) mutable -> result_type {
    if (!known[name]) {
      results[name] = make(name);
      known[name] = true;
    }
    return results[name];
  };
}

/// Values gathered under keys.
template <class Key>
class grouping {
 public:
  std::uint32_t group(Key const& key) {
    auto const next = static_cast<std::uint32_t>(keys_.size());
    auto const [at, added] = numbers_.try_emplace(key, next);
    if (added) { keys_.push_back(key); }
    return at->second;
  }
  void add(std::uint32_t group, std::int64_t value) { values_.push_back({group, value}); }
  void add(Key const& key, std::int64_t value) { add(group(key), value); }
  void reserve(std::size_t count) { values_.reserve(count); }

  /// The groups by falling total; equal ones by key.
  std::vector<std::pair<Key, spread>> by_total() const {
    auto const spreads = spreads_of(values_, keys_.size());
    std::vector<std::pair<Key, spread>> result;
    result.reserve(keys_.size());
    for (std::size_t i = 0; i < keys_.size(); ++i) { result.emplace_back(keys_[i], spreads[i]); }
    std::sort(result.begin(), result.end(), [](auto const& a, auto const& b) {
      if (a.second.total != b.second.total) { return a.second.total > b.second.total; }
      return a.first < b.first;
    });
    return result;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Key> keys_;
  std::vector<grouped_value> values_;
};

/// The first columns of every summary of times: share of the column's sum, total, count, spread.
inline std::vector<column> time_columns(std::string const& count, std::vector<column> const& last) {
  using enum cell_format;
  std::vector<column> all{
      {"Time (%)", one_decimal}, {"Total Time (ns)"}, {count},      {"Avg (ns)", one_decimal},
      {"Med (ns)", one_decimal}, {"Min (ns)"},        {"Max (ns)"}, {"StdDev (ns)", one_decimal}};
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

/// Adds a row for each group, `tell(key)` being the tuple of its last cells.
template <class Key, class Tell>
void add_times(table& to, grouping<Key> const& groups, Tell&& tell) {
  auto const rows = groups.by_total();
  std::int64_t sum = 0;
  for (auto const& [key, each] : rows) { sum = saturated_sum(sum, each.total); }
  for (auto const& [key, each] : rows) {
    auto const share =
        sum == 0 ? 0 : 100 * static_cast<double>(each.total) / static_cast<double>(sum);
    std::apply(
        [&, &each = each](auto const&... last) {
          to.add(share, each.total, each.count, each.mean, each.median, each.min, each.max,
                 each.deviation, last...);
        },
        tell(key));
  }
}

}  // namespace assay::trace
