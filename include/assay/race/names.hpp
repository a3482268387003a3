// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `race.hpp`: names and texts for the header of `write_header`, which always compiles.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::measure::detail {

/// The keywords of C++ up to C++26 and of GNU, other words for operators, and the macros that a
/// compiler defines by itself. A space is on both sides of each.
inline constexpr std::string_view words_of_cpp =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue contract_assert decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if "
    "inline int linux long mutable namespace new noexcept not not_eq nullptr operator or "
    "or_eq private protected public register reinterpret_cast requires return short signed "
    "sizeof static static_assert static_cast struct switch template this thread_local throw "
    "true try typedef typeid typename typeof union unix unsigned using virtual void volatile "
    "wchar_t while xor xor_eq ";

inline bool is_upper(char of) { return of >= 'A' && of <= 'Z'; }
inline bool is_digit(char of) { return of >= '0' && of <= '9'; }
inline bool is_letter(char of) { return is_upper(of) || (of >= 'a' && of <= 'z'); }
inline bool is_control(char of) { return (of >= 0 && of < ' ') || of == '\x7F'; }

/// A text as the inside of a string literal. Whatever is not plain ASCII is written in octal, and
/// a question mark cannot begin a trigraph.
inline std::string literal(std::string_view text) {
  std::string made;
  for (char const each : text) {
    auto const code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\' || each == '?') {
      made += {'\\', each};
    } else if (code >= ' ' && code < 0x7F) {
      made += each;
    } else {
      made += '\\';
      for (int const shift : {6, 3, 0}) { made += static_cast<char>('0' + ((code >> shift) & 7)); }
    }
  }
  return made;
}

/// A text as a part of a comment in one line, which no character continues or turns around.
inline std::string comment(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_control(text[at])) { text[at] = ' '; }
    if (text[at] == '\\' || text.compare(at, 3, "\?\?/") == 0) { text[at] = '_'; }
    // Most of U+2000 to U+207F is punctuation. Some of it ends a line, or reverses what follows.
    if (text.compare(at, 2, "\xE2\x80") == 0 || text.compare(at, 2, "\xE2\x81") == 0) {
      text.replace(at, 3, "_");
    }
  }
  return text;
}

/// A text in a message of one line.
inline std::string one_line(std::string_view text) {
  std::string made;
  for (char const each : text) {
    made += is_control(each) || each == '\\' ? literal({&each, 1}) : std::string{each};
  }
  return made;
}

/// Why no constant in a header can have this name; empty where it can.
inline std::string not_a_constant(std::string_view name) {
  auto const other = [](char of) { return !is_letter(of) && !is_digit(of) && of != '_'; };
  if (name.empty() || is_digit(name[0]) || std::ranges::any_of(name, other)) {
    return "is no identifier of C++";
  }
  if (words_of_cpp.find(concat({" ", name, " "})) != name.npos) { return "is a word of C++"; }
  if (name == "winner") { return "is the constant with the winner's name"; }
  bool const reserved =
      name.find("__") != name.npos || (name.size() > 1 && name[0] == '_' && is_upper(name[1]));
  return reserved ? "is reserved for the compiler" : "";
}

/// A name for a constant that is similar to this one.
inline std::string similar_constant(std::string_view name) {
  std::string made;
  for (char const each : name) {
    bool const good = is_letter(each) || is_digit(each);
    if (good || (!made.empty() && made.back() != '_')) { made += good ? each : '_'; }
  }
  if (made.empty() || is_digit(made[0])) { made.insert(0, "n"); }
  return not_a_constant(made).empty() ? made : made + (made.back() == '_' ? "1" : "_");
}

/// Throws `std::invalid_argument` for names that `write_header` could not write.
inline void require_constants(std::vector<std::string> const& names) {
  std::vector<std::string> seen;
  for (auto const& each : names) {
    if (each.empty()) { throw std::invalid_argument("a parameter needs a name"); }
    if (auto const why = not_a_constant(each); !why.empty()) {
      throw std::invalid_argument(
          concat({"the name of parameter \"", one_line(each), "\" ", why,
                  ", and write_header makes a constant of it: name it ", similar_constant(each)}));
    }
    if (add_distinct(seen, each)) { continue; }
    throw std::invalid_argument(concat({"two parameters are named \"", each, "\""}));
  }
}

/// Throws `std::invalid_argument` for a namespace that `write_header` could not write.
inline void require_namespace(std::string const& name) {
  std::size_t begin = 0;
  while (begin <= name.size()) {
    auto const end = std::min(name.find("::", begin), name.size());
    auto const part = name.substr(begin, end - begin);
    auto const why = part == "winner" ? "" : not_a_constant(part);
    if (!why.empty()) {
      throw std::invalid_argument(
          concat({"\"", one_line(part), "\" of the namespace \"", one_line(name), "\" ", why,
                  ": write names as in tuning::copy"}));
    }
    begin = end + 2;
  }
}

}  // namespace assay::measure::detail

namespace assay::report::detail {

/// Text as lines of a comment.
inline std::string comment_lines(std::string const& text) {
  return wrapped(measure::detail::comment(text), "// ", "// ");
}

}  // namespace assay::report::detail
