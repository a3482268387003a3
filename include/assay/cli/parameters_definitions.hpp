// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to parameters.hpp: the definitions of its functions.
#pragma once

#include <assay/cli/parameters.hpp>
#include <assay/cli/parse.hpp>
#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/race/space.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::cli::detail {

ASSAY_INLINE swept swept_of(parameter<> const& of) {
  swept made{of.name, swept::kind::numbers, {}};
  for (auto const value : of.values) { made.declared.push_back(std::to_string(value)); }
  return made;
}

ASSAY_INLINE swept swept_of(parameter<text_values> const& of) {
  return {of.name, swept::kind::texts, of.values};
}

/// Without spaces around it.
inline std::string trimmed(std::string const& text) {
  auto const first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

inline std::vector<std::string> split(std::string const& list, char at_each) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    auto const end = std::min(list.find(at_each, at), list.size());
    words.push_back(trimmed(list.substr(at, end - at)));
    at = end + 1;
  }
  return words;
}

inline long long parse_whole(std::string const& text) {
  long long value = 0;
  auto const* const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end) { return value; }
  throw std::invalid_argument(
      concat({"'", text, "' is not a whole number of 64 bits: write numbers such as 4096,8192"}));
}

/// The numbers of `first:last` or `first:last:stride`, the ends included.
inline std::vector<std::string> words_of_range(std::string const& range) {
  auto const parts = split(range, ':');
  auto const refuse = [&](char const* why) {
    throw std::invalid_argument(
        concat({"'", range, "' ", why, ": write FIRST:LAST or FIRST:LAST:STRIDE"}));
  };
  if (parts.size() > 3) { refuse("has more than three parts"); }
  auto const first = parse_whole(parts[0]);
  auto const last = parse_whole(parts[1]);
  auto const stride = parts.size() == 3 ? parse_whole(parts[2]) : 1;
  if (stride < 1) { refuse("has a stride below 1"); }
  if (last < first) { refuse("ends before it begins"); }
  auto const step = static_cast<std::uint64_t>(stride);
  auto const from = static_cast<std::uint64_t>(first);
  auto const count = (static_cast<std::uint64_t>(last) - from) / step;
  if (count >= 10'000) { refuse("has more than 10000 values"); }
  std::vector<std::string> words;
  for (std::uint64_t i = 0; i <= count; ++i) {
    words.push_back(std::to_string(static_cast<long long>(from + i * step)));
  }
  return words;
}

/// The words of a list, also in the forms of nvbench: `1,2`, `[1,2]`, `1:9:2`, `[1:9:2]`.
inline std::vector<std::string> words_of(swept const& of) {
  auto list = of.given.value_or("");
  if (list.size() >= 2 && list.front() == '[' && list.back() == ']') {
    list = list.substr(1, list.size() - 2);
  }
  bool const is_range = of.of == swept::kind::numbers && list.find(':') != list.npos;
  return is_range ? words_of_range(list) : split(list, ',');
}

/// The name of a type here, from nvbench's: I32 is int32, F64 is double.
inline std::string own_type_name(std::string const& word) {
  if (word == "F32") { return "float"; }
  if (word == "F64") { return "double"; }
  auto const bits = word.empty() ? "" : word.substr(1);
  bool const whole = bits == "8" || bits == "16" || bits == "32" || bits == "64";
  if (!whole || (word[0] != 'I' && word[0] != 'U')) { return word; }
  return (word[0] == 'I' ? "int" : "uint") + bits;
}

/// The value of a parameter from a word. Throws `std::invalid_argument` for what it cannot be.
inline std::string read_value(swept const& of, std::string const& word) {
  if (word.empty()) {
    throw std::invalid_argument(
        concat({"'", of.given.value_or(""), "' has an empty value: write a list such as ",
                cli::joined(of.declared, ",")}));
  }
  if (of.of == swept::kind::types) {
    return of.declared[find_choice("type", own_type_name(word), of.declared)];
  }
  if (of.of == swept::kind::texts) { return word; }
  auto const value = parse_whole(word);  // 007 is 7
  if (!of.given || !of.powers) { return std::to_string(value); }
  if (value < 0 || value > 62) {
    throw std::invalid_argument(concat({"'", word, "' is no exponent: 2^0 to 2^62 are possible"}));
  }
  return std::to_string(1LL << value);
}

ASSAY_INLINE std::vector<std::string> values_of(swept const& of) {
  return value_of(of.option(), [&] {
    std::vector<std::string> values;
    for (auto const& word : of.given ? words_of(of) : of.declared) {
      if (!add_distinct(values, read_value(of, word))) {
        throw std::invalid_argument(concat({"'", word, "' is named twice: name each value once"}));
      }
    }
    if (values.empty()) { throw std::invalid_argument("the program gives it no value: add one"); }
    return values;
  });
}

ASSAY_INLINE void read_axis(std::string const& spec, std::vector<swept>& all) {
  value_of("--axis", [&] {
    auto const equals = spec.find('=');
    auto name = trimmed(spec.substr(0, equals));
    bool const powers = name.ends_with("[pow2]");
    if (powers) { name.resize(name.size() - 6); }
    std::vector<std::string> names;
    for (auto const& each : all) { names.push_back(each.name); }
    auto& of = all[find_choice("parameter", name, names)];
    if (equals == spec.npos || (powers && of.of != swept::kind::numbers)) {
      throw std::invalid_argument(
          concat({"'", spec, "': write ", of.name, "=", cli::joined(of.declared, ",")}));
    }
    of.given = trimmed(spec.substr(equals + 1));
    of.powers = powers;
    return 0;
  });
}

ASSAY_INLINE std::tuple<> list_of(parameter<> const&) { return {}; }

ASSAY_INLINE std::tuple<> list_of(parameter<text_values> const&) { return {}; }

ASSAY_INLINE std::vector<point> points_of(std::vector<swept> const& parameters) {
  std::vector<point> all{{}};
  for (auto const kind : {swept::kind::numbers, swept::kind::texts, swept::kind::types}) {
    for (auto const& each : parameters) {
      if (each.of != kind) { continue; }
      std::vector<point> longer;
      for (auto const& begun : all) {
        for (auto const& value : values_of(each)) {
          auto& at = longer.emplace_back(begun);
          if (kind == swept::kind::numbers) {
            at.values.emplace_back(each.name, parse_whole(value));
          } else {
            (kind == swept::kind::texts ? at.texts : at.types).emplace_back(each.name, value);
          }
        }
      }
      all = std::move(longer);
    }
  }
  return all;
}

}  // namespace assay::cli::detail
