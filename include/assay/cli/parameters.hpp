// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `experiment.hpp`: parameters as options of a command line, and the types among them.
#pragma once

#include <assay/cli/parse.hpp>
#include <assay/core/distinct.hpp>
#include <assay/race/space.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::cli::detail {

/// A parameter as the command line has it: the values that the program declares, and those that
/// `--name` puts in their place.
struct swept {
  std::string name;
  bool types = false;  ///< only declared values may be named
  std::vector<std::string> declared;
  std::optional<std::string> given{};

  std::string option() const { return "--" + name; }
};

inline swept swept_of(parameter<> const& of) {
  swept made{of.name, false, {}};
  for (auto const value : of.values) { made.declared.push_back(std::to_string(value)); }
  return made;
}
template <class... Types>
swept swept_of(parameter<Types...> const& of) {
  return {of.name, true, {type_name<Types>()...}};
}

inline std::vector<std::string> split(std::string const& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    auto const end = std::min(list.find(',', at), list.size());
    words.push_back(list.substr(at, end - at));
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
      "'" + text + "' is not a whole number of 64 bits: write numbers such as 4096,8192");
}

inline std::string comma_separated(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& each : words) { text += (text.empty() ? "" : ",") + each; }
  return text;
}

/// The value of a parameter from a word. Throws `std::invalid_argument` for text that is no such
/// value.
inline std::string read_value(swept const& of, std::string const& word) {
  if (word.empty()) {
    throw std::invalid_argument("'" + of.given.value_or("") +
                                "' has an empty value: write a list such as " +
                                comma_separated(of.declared));
  }
  if (of.types) { return of.declared[choose("type", word, of.declared)]; }
  return std::to_string(parse_whole(word));  // 007 is 7
}

/// The values of a parameter as texts. Throws `std::invalid_argument` for values that it cannot
/// have, for an empty list, and for a value that is named twice.
inline std::vector<std::string> values_of(swept const& of) {
  return value_of(of.option(), [&] {
    std::vector<std::string> values;
    for (auto const& word : of.given ? split(*of.given) : of.declared) {
      if (!add_distinct(values, read_value(of, word))) {
        throw std::invalid_argument("'" + word + "' is named twice: name each value once");
      }
    }
    if (values.empty()) { throw std::invalid_argument("the program gives it no value: add one"); }
    return values;
  });
}

/// Calls `then` with the types that a point names, one for each list.
template <class Then, class... Chosen>
void with_types(point const&, Then const& then, type_list<Chosen...> chosen) {
  then(chosen);
}
template <class Then, class... Chosen, class... Types, class... Rest>
void with_types(point const& at, Then const& then, type_list<Chosen...>, type_list<Types...>,
                Rest... rest) {
  auto const& name = at.types[sizeof...(Chosen)].second;
  ((type_name<Types>() == name ? with_types(at, then, type_list<Chosen..., Types>{}, rest...)
                               : void()),
   ...);
}

/// The lists of types among parameters, as a tuple.
inline std::tuple<> list_of(parameter<> const&) { return {}; }
template <class... Types>
std::tuple<type_list<Types...>> list_of(parameter<Types...> const&) {
  return {};
}

/// All combinations of values; parameters of types come last.
inline std::vector<point> points_of(std::vector<swept> const& parameters) {
  std::vector<parameter<>> numbers;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;
  for (auto const& each : parameters) {
    auto values = values_of(each);
    if (each.types) {
      lists.emplace_back(each.name, std::move(values));
      continue;
    }
    numbers.push_back({each.name, {}});
    for (auto const& value : values) { numbers.back().values.push_back(parse_whole(value)); }
  }
  auto all = space{std::move(numbers)}.points();
  for (auto const& [name, values] : lists) {
    std::vector<point> longer;
    for (auto const& begun : all) {
      for (auto const& value : values) {
        longer.push_back(begun);
        longer.back().types.emplace_back(name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace assay::cli::detail
