// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variants that differ in one number or two, found in the texts of their choices.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

/// A number that variants differ in.
struct swept_field {
  std::string name;
  bool bytes = false;          ///< the values were written with a unit of bytes
  std::vector<double> values;  ///< by variant; NaN for a variant outside of the sweep

  /// The different values, in ascending order.
  std::vector<double> levels() const {
    std::set<double> found;
    for (double const each : values) {
      if (!std::isnan(each)) { found.insert(each); }
    }
    return {found.begin(), found.end()};
  }
};

/// A sweep: one field or two, and the series that each variant belongs to.
struct sweep {
  std::vector<swept_field> fields;  ///< the field with the most values first
  std::vector<std::string> series;  ///< by variant; empty for a variant outside of the sweep
};

namespace detail {

/// A number in a text, with its name.
struct found_number {
  std::string name;
  double value = 0;
  bool bytes = false;
};

/// A text with `#` in place of its numbers, and the numbers.
struct numbered_text {
  std::string pattern;
  std::vector<found_number> numbers;
};

/// The word that ends before `end`, as in `threads=4` or `block 64`; else empty.
inline std::string word_before(std::string_view text, std::size_t end) {
  if (end == 0 || (text[end - 1] != '=' && text[end - 1] != ' ')) { return {}; }
  auto begin = --end;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                       text[begin - 1] == '_')) {
    --begin;
  }
  return std::string{text.substr(begin, end - begin)};
}

/// Splits a text at its numbers. Digits within a word, as in `int32`, are no number. A unit of
/// bytes scales the number before it, and a plural after a number is read as its singular.
inline numbered_text numbers_of(std::string const& axis, std::string_view text) {
  numbered_text found;
  auto const is_word = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_';
  };
  for (std::size_t at = 0; at < text.size();) {
    auto const digit = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    if (!digit || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.'))) {
      found.pattern += text[at++];
      continue;
    }
    found_number one{word_before(text, at)};
    auto const end = std::from_chars(text.data() + at, text.data() + text.size(), one.value).ptr;
    at = static_cast<std::size_t>(end - text.data());
    found.pattern += '#';
    std::size_t stop = at;
    if (stop < text.size() && text[stop] == ' ') { ++stop; }
    auto const begin = stop;
    while (stop < text.size() && is_word(text[stop])) { ++stop; }
    std::string word{text.substr(begin, stop - begin)};
    constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double scale = 1;
    for (auto const unit : units) {
      if (word == unit) {
        one.value *= scale;
        one.bytes = true;
        at = stop;
      }
      scale *= 1024;
    }
    if (!one.bytes && begin > at && word.size() > 1) {
      if (word.ends_with('s')) { word.pop_back(); }
      found.pattern += ' ' + word;
      at = stop;
      if (one.name.empty()) { one.name = word; }
    }
    if (one.name.empty()) { one.name = axis; }
    found.numbers.push_back(std::move(one));
  }
  return found;
}

/// The choices of a variant as one text; its label where it has no axes.
inline numbered_text numbers_of(measure::variant_result const& of) {
  if (of.axes.empty()) { return numbers_of("value", of.label); }
  numbered_text all;
  for (auto const& [axis, choice] : of.axes) {
    auto one = numbers_of(axis, choice);
    all.pattern += one.pattern + "\n";
    std::ranges::move(one.numbers, std::back_inserter(all.numbers));
  }
  return all;
}

/// The choices that tell a series from the others. `n` stands for a number that varies in it.
inline std::string series_name(measure::variant_result const& of,
                               std::vector<measure::variant_result> const& all) {
  std::string name;
  for (std::size_t i = 0; i < of.axes.size(); ++i) {
    auto const pattern = numbers_of("", of.axes[i].second).pattern;
    bool differs = false, varies = false;
    for (auto const& each : all) {
      if (i >= each.axes.size()) { continue; }
      auto const same = numbers_of("", each.axes[i].second).pattern == pattern;
      differs = differs || !same;
      varies = varies || (same && each.axes[i].second != of.axes[i].second);
    }
    if (!differs) { continue; }
    auto text = varies ? pattern : of.axes[i].second;
    if (varies) { std::ranges::replace(text, '#', 'n'); }
    name += (name.empty() ? "" : ", ") + text;
  }
  return name.empty() ? "all" : name;
}

}  // namespace detail

/// The sweep in these variants, or none. All variants of one pattern must differ in the same number
/// or in the same two numbers. One of these needs three values or more. A variant alone in its
/// pattern, such as a control without the number, is outside of the sweep.
inline std::optional<sweep> sweep_of(std::vector<measure::variant_result> const& variants) {
  std::vector<detail::numbered_text> texts;
  for (auto const& each : variants) { texts.push_back(detail::numbers_of(each)); }
  std::vector<std::string> names;
  std::vector<std::vector<detail::found_number>> varied(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t p = 0; p < texts[i].numbers.size(); ++p) {
      auto const varies = [&](detail::numbered_text const& other) {
        return other.pattern == texts[i].pattern &&
               other.numbers[p].value != texts[i].numbers[p].value;
      };
      if (!std::ranges::any_of(texts, varies)) { continue; }
      varied[i].push_back(texts[i].numbers[p]);
      add_distinct(names, varied[i].back().name);
    }
  }
  if (names.empty() || names.size() > 2) { return std::nullopt; }
  sweep found;
  for (auto const& name : names) { found.fields.push_back({name, false, {}}); }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!std::ranges::equal(varied[i], names, {}, &detail::found_number::name) &&
        !varied[i].empty()) {
      return std::nullopt;
    }
    found.series.push_back(varied[i].empty() ? "" : detail::series_name(variants[i], variants));
    for (std::size_t f = 0; f < names.size(); ++f) {
      auto& field = found.fields[f];
      field.bytes = field.bytes || (!varied[i].empty() && varied[i][f].bytes);
      field.values.push_back(varied[i].empty() ? std::numeric_limits<double>::quiet_NaN()
                                               : varied[i][f].value);
    }
  }
  std::ranges::stable_sort(found.fields, std::greater<>{},
                           [](swept_field const& each) { return each.levels().size(); });
  if (found.fields.front().levels().size() < 3) { return std::nullopt; }
  return found;
}

}  // namespace assay::report
