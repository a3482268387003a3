// SPDX-License-Identifier: Apache-2.0
/// @file
/// `string_table`: the names of a trace, each kept once.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::trace {

/// The number of a name in its `string_table`; 0 is the empty name.
using string_id = std::uint32_t;

/// Names, each kept once and known by a number. Equal names have equal numbers; numbers count from
/// 0, the empty name, in order of first use. Not safe for use from several threads.
class string_table {
 public:
  string_table() { intern({}); }
  string_table(string_table const& other) : string_table() { *this = other; }
  string_table(string_table&&) noexcept = default;
  string_table& operator=(string_table&&) noexcept = default;
  string_table& operator=(string_table const& other) {
    if (this == &other) { return *this; }
    numbers_.clear();
    texts_.clear();
    for (auto const& text : other.texts_) { intern(text); }
    return *this;
  }

  /// The number of `text`, new if it was not there.
  string_id intern(std::string_view text) {
    if (auto const known = numbers_.find(text); known != numbers_.end()) { return known->second; }
    auto const number = static_cast<string_id>(texts_.size());
    numbers_.emplace(texts_.emplace_back(text), number);
    return number;
  }

  /// The name with this number; valid as long as the table. Throws `std::out_of_range`.
  std::string_view operator[](string_id number) const { return texts_.at(number); }

  std::size_t size() const noexcept { return texts_.size(); }
  bool operator==(string_table const& other) const { return texts_ == other.texts_; }

 private:
  std::deque<std::string> texts_;  // a deque, since the keys below point into its elements
  std::unordered_map<std::string_view, string_id> numbers_;
};

/// A function that calls `make` once for each name and keeps the results: reports read a million
/// rows, but only hundreds of names.
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

}  // namespace assay::trace
