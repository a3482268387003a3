// SPDX-License-Identifier: Apache-2.0
/// @file
/// `pattern`: which names are meant, by globs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace assay::trace {

/// Whether a pattern means the whole name, or any part of it.
enum class pattern_scope { part, whole };

/// Names by a glob: `*` is any text, `?` any one character, `|` parts alternatives, `^` and `$` at
/// the ends of an alternative bind it to the ends of the name; all else means itself, case and all.
/// Not a regular expression, since those of the standard library take microseconds a name, and
/// names of kernels are full of the characters that would need escaping. An empty pattern matches
/// every name.
class pattern {
 public:
  pattern() = default;
  explicit pattern(std::string text, pattern_scope scope = pattern_scope::part)
      : text_{std::move(text)}, scope_{scope} {}

  std::string const& text() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }

  bool matches(std::string_view name) const noexcept {
    if (text_.empty()) { return true; }
    std::string_view rest{text_};
    for (;;) {
      auto const bar = rest.find('|');
      if (alternative(rest.substr(0, bar), name)) { return true; }
      if (bar == std::string_view::npos) { return false; }
      rest.remove_prefix(bar + 1);
    }
  }

  bool operator==(pattern const&) const = default;

 private:
  bool alternative(std::string_view glob, std::string_view name) const noexcept {
    auto from_begin = scope_ == pattern_scope::whole;
    auto to_end = from_begin;
    if (glob.starts_with('^')) {
      from_begin = true;
      glob.remove_prefix(1);
    }
    if (glob.ends_with('$')) {
      to_end = true;
      glob.remove_suffix(1);
    }
    return matches(glob, name, from_begin, to_end);
  }

  /// Compares from left to right; on a mismatch the last `*` takes one character more. So it needs
  /// no more than the product of the lengths, and no stack.
  static bool matches(std::string_view glob, std::string_view name, bool from_begin,
                      bool to_end) noexcept {
    std::size_t g = 0;
    std::size_t n = 0;
    constexpr auto none = std::string_view::npos;
    auto star = none;  // where in the glob to go on after a mismatch
    std::size_t retry = 0;
    if (!from_begin) { star = 0; }
    for (;;) {
      if (g == glob.size() && (!to_end || n == name.size())) { return true; }
      if (g < glob.size() && glob[g] == '*') {
        star = ++g;
        retry = n;
        continue;
      }
      if (g < glob.size() && n < name.size() && (glob[g] == '?' || glob[g] == name[n])) {
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
  pattern_scope scope_ = pattern_scope::part;
};

}  // namespace assay::trace
