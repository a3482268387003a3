// SPDX-License-Identifier: Apache-2.0
/// @file
/// `glob`: a pattern of names.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace assay::trace {

/// The part of a name that a glob describes: any part, or the whole name.
enum class glob_scope { part, whole };

/// A pattern of names. `*` is any text, `?` any one character, and `|` separates alternatives. `^`
/// and `$` at the ends of an alternative bind it to the ends of the name. All other characters mean
/// themselves, and case matters. An empty glob matches every name, an empty alternative none.
///
/// A glob is not a regular expression: `std::regex` takes microseconds a name, and names of kernels
/// are full of characters that would need escaping.
class glob {
 public:
  glob() = default;
  explicit glob(std::string text, glob_scope scope = glob_scope::part)
      : text_{std::move(text)}, scope_{scope} {}

  std::string const& text() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }

  bool matches(std::string_view name) const noexcept {
    if (text_.empty()) { return true; }
    std::string_view rest{text_};
    for (;;) {
      auto const bar = rest.find('|');
      if (bar != 0 && !rest.empty() && matches_one(rest.substr(0, bar), name)) { return true; }
      if (bar == std::string_view::npos) { return false; }
      rest.remove_prefix(bar + 1);
    }
  }

  bool operator==(glob const&) const = default;

 private:
  bool matches_one(std::string_view alternative, std::string_view name) const noexcept {
    auto from_begin = scope_ == glob_scope::whole;
    auto to_end = from_begin;
    if (alternative.starts_with('^')) {
      from_begin = true;
      alternative.remove_prefix(1);
    }
    if (alternative.ends_with('$')) {
      to_end = true;
      alternative.remove_suffix(1);
    }
    return matches(alternative, name, from_begin, to_end);
  }

  /// Compares from left to right; on a mismatch the last `*` takes one character more. So the time
  /// is at most the product of the lengths, and there is no recursion.
  static bool matches(std::string_view alternative, std::string_view name, bool from_begin,
                      bool to_end) noexcept {
    std::size_t g = 0;
    std::size_t n = 0;
    constexpr auto none = std::string_view::npos;
    auto star = none;  // the place in the glob to go on from after a mismatch
    std::size_t retry = 0;
    if (!from_begin) { star = 0; }
    for (;;) {
      if (g == alternative.size() && (!to_end || n == name.size())) { return true; }
      if (g < alternative.size() && alternative[g] == '*') {
        star = ++g;
        retry = n;
        continue;
      }
      if (g < alternative.size() && n < name.size() &&
          (alternative[g] == '?' || alternative[g] == name[n])) {
        ++g;
        ++n;
        continue;
      }
      if (star == none || retry >= name.size()) { return false; }
      g = star;
      n = ++retry;
    }
  }

  std::string text_;
  glob_scope scope_ = glob_scope::part;
};

}  // namespace assay::trace
