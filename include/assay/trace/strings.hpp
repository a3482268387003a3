// SPDX-License-Identifier: Apache-2.0
/// @file
/// `string_table`: the names of a trace, each kept once; the characters of UTF-8 in names.
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

/// The number of bytes of the UTF-8 character that begins at `at`; 0 if there is none. Overlong
/// forms, surrogates and code points beyond U+10FFFF are not characters (Unicode 15, table 3-7).
constexpr std::size_t utf8_character(std::string_view text, std::size_t at) noexcept {
  auto const byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  auto const lead = byte(at);
  if (lead < 0x80) { return 1; }
  if (lead < 0xc2 || lead > 0xf4) { return 0; }
  std::size_t const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  auto const lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  auto const highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(at + 1) < lowest || byte(at + 1) > highest) { return 0; }
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) { return 0; }
  }
  return length;
}

/// `text` with U+FFFD in the place of each byte that belongs to no character.
inline std::string repaired_utf8(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    auto const length = utf8_character(text, at);
    result += length == 0 ? std::string_view{"\xef\xbf\xbd"} : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return result;
}

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
