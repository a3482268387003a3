// SPDX-License-Identifier: Apache-2.0
/// @file
/// `space`: parameters with their values, and the points that a constraint allows.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/race/result.hpp>

#include <algorithm>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

/// Types, as the values of a parameter: `types<float, double>`.
template <class... Types>
struct type_list {};

template <class... Types>
inline constexpr type_list<Types...> types{};

/// The name of a type on a command line and in reports: `int32`, `uint8`, `float`; else the
/// compiler's name.
template <class T>
std::string type_name() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
  } else {
    std::string_view text = __PRETTY_FUNCTION__;  // "... [with T = float; ...]", or "[T = float]"
    text.remove_prefix(text.find("T = ") + 4);
    return std::string{text.substr(0, text.find_first_of(";]"))};
  }
}

/// Stands for texts where `parameter` has a list of types.
struct text_values;

/// A parameter and the values that it may take: whole numbers, texts, or types.
template <class... Types>
struct parameter {
  std::string name;
  type_list<Types...> values;
};
template <>
struct parameter<> {
  std::string name;
  std::vector<long long> values;
};
template <>
struct parameter<text_values> {
  std::string name;
  std::vector<std::string> values;
};
parameter(std::string, std::vector<long long>) -> parameter<>;
template <class Text>
requires std::convertible_to<Text, std::string>
parameter(std::string, std::initializer_list<Text>) -> parameter<text_values>;
template <class... Types>
parameter(std::string, type_list<Types...>) -> parameter<Types...>;

/// A parameter of a `space`: its values are whole numbers, or texts.
struct dimension {
  dimension(std::string own, std::initializer_list<long long> values)
      : name(std::move(own)), numbers(values) {}
  template <std::convertible_to<std::string_view> Text>
  dimension(std::string own, std::initializer_list<Text> values) : name(std::move(own)) {
    for (std::string_view const each : values) { texts.emplace_back(each); }
  }
  template <std::integral Number>
  dimension(std::string own, std::vector<Number> const& values)
      : name(std::move(own)), numbers(values.begin(), values.end()) {}
  dimension(std::string own, std::vector<std::string> values)
      : name(std::move(own)), texts(std::move(values)) {}
  dimension(parameter<> of) : name(std::move(of.name)), numbers(std::move(of.values)) {}
  dimension(parameter<text_values> of) : dimension(std::move(of.name), std::move(of.values)) {}

  std::string name;
  std::vector<long long> numbers;
  std::vector<std::string> texts;  ///< where there are no numbers
};

/// One value of each parameter.
struct point {
  measure::constants values;
  measure::constant_texts texts{};
  std::vector<std::pair<std::string, std::string>> types{};  ///< parameter, name of the type

  /// The value of a parameter of numbers. Throws `std::invalid_argument` for another name.
  long long operator[](std::string_view name) const { return found(values, name); }
  /// The value of a parameter of texts.
  std::string const& text(std::string_view name) const { return found(texts, name); }

  /// `block=128 items=2`.
  std::string label() const {
    std::string all;
    for (auto const& [name, value] : choices()) {
      all += concat({all.empty() ? "" : " ", name, "=", value});
    }
    return all;
  }
  /// Names and values: numbers, then texts, then types.
  std::vector<std::pair<std::string, std::string>> choices() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (auto const& [name, value] : values) { all.emplace_back(name, std::to_string(value)); }
    all.insert(all.end(), texts.begin(), texts.end());
    all.insert(all.end(), types.begin(), types.end());
    return all;
  }

 private:
  template <class Value>
  Value const& found(std::vector<std::pair<std::string, Value>> const& in,
                     std::string_view name) const {
    for (auto const& [own, value] : in) {
      if (own == name) { return value; }
    }
    auto const names = [&](auto const& each) { return each.first == name; };
    if (std::ranges::any_of(values, names) || std::ranges::any_of(texts, names)) {
      throw std::invalid_argument(
          std::is_same_v<Value, long long>
              ? concat({"parameter \"", name, "\" has texts: read it by text(\"", name, "\")"})
              : concat({"parameter \"", name, "\" has numbers: read it by [\"", name, "\"]"}));
    }
    throw std::invalid_argument(
        concat({"the space has no parameter \"", name, "\", only ", label()}));
  }
};

/// All combinations of the values of some parameters that a constraint allows.
class space {
 public:
  /// Throws `std::invalid_argument` for equal names, and for a parameter without a name or values.
  space(std::initializer_list<dimension> all) : space(std::vector<dimension>{all}) {}
  explicit space(std::vector<dimension> all) : dimensions_(std::move(all)) {
    std::vector<std::string> names;
    for (auto const& each : dimensions_) {
      if (each.name.empty()) { throw std::invalid_argument("a parameter needs a name"); }
      if (each.numbers.empty() && each.texts.empty()) {
        throw std::invalid_argument(
            concat({"parameter \"", each.name, "\" needs 1 value or more, not 0"}));
      }
      if (!add_distinct(names, each.name)) {
        throw std::invalid_argument(concat({"two parameters are named \"", each.name, "\""}));
      }
    }
  }
  explicit space(std::vector<parameter<>> const& all)
      : space(std::vector<dimension>(all.begin(), all.end())) {}

  /// Keeps the points for which `allows` returns true.
  space& where(std::function<bool(point const&)> allows) {
    allows_.push_back(std::move(allows));
    return *this;
  }

  /// The names of all parameters.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& each : dimensions_) { all.push_back(each.name); }
    return all;
  }

  /// The allowed points; the values of the last parameter change fastest.
  std::vector<point> points() const {
    std::vector<point> all{{}};
    for (auto const& each : dimensions_) {
      std::vector<point> longer;
      for (auto const& begun : all) {
        for (auto const value : each.numbers) {
          longer.emplace_back(begun).values.emplace_back(each.name, value);
        }
        for (auto const& value : each.texts) {
          longer.emplace_back(begun).texts.emplace_back(each.name, value);
        }
      }
      all = std::move(longer);
    }
    for (auto const& allows : allows_) {
      std::erase_if(all, [&](point const& each) { return !allows(each); });
    }
    return all;
  }

 private:
  std::vector<dimension> dimensions_;
  std::vector<std::function<bool(point const&)>> allows_;
};

}  // namespace assay
