// SPDX-License-Identifier: Apache-2.0
/// @file
/// `space`: parameters with their values, and the points that a constraint allows.
#pragma once

#include <assay/race/result.hpp>

#include <concepts>
#include <cstddef>
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

/// One value of each parameter.
struct point {
  measure::constants values;
  std::vector<std::pair<std::string, std::string>> texts{};
  std::vector<std::pair<std::string, std::string>> types{};  ///< parameter, name of the type

  /// The value of a parameter. Throws `std::invalid_argument` for a name that the space lacks.
  long long operator[](std::string_view name) const { return found(values, name); }
  /// The value of a parameter of texts.
  std::string const& text(std::string_view name) const { return found(texts, name); }

  /// `block=128 items=2`.
  std::string label() const {
    std::string all;
    for (auto const& [name, value] : choices()) {
      all += (all.empty() ? "" : " ") + name + "=" + value;
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
    throw std::invalid_argument("the space has no parameter \"" + std::string{name} + "\", only " +
                                label());
  }
};

/// All combinations of the values of some parameters that a constraint allows.
class space {
 public:
  /// Throws `std::invalid_argument` for equal names, and for a parameter without a name or values.
  space(std::initializer_list<parameter<>> all) : space(std::vector<parameter<>>{all}) {}
  explicit space(std::vector<parameter<>> all) : parameters_(std::move(all)) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      auto const& each = parameters_[i];
      if (each.name.empty()) { throw std::invalid_argument("a parameter needs a name"); }
      if (each.values.empty()) {
        throw std::invalid_argument("parameter \"" + each.name + "\" needs 1 value or more, not 0");
      }
      for (std::size_t k = 0; k < i; ++k) {
        if (parameters_[k].name != each.name) { continue; }
        throw std::invalid_argument("two parameters are named \"" + each.name + "\"");
      }
    }
  }

  /// Keeps the points for which `allows` returns true.
  space& where(std::function<bool(point const&)> allows) {
    allows_.push_back(std::move(allows));
    return *this;
  }

  /// The allowed points; the values of the last parameter change fastest.
  std::vector<point> points() const {
    std::vector<point> all{{}};
    for (auto const& each : parameters_) {
      std::vector<point> longer;
      for (auto const& begun : all) {
        for (auto const value : each.values) {
          longer.push_back(begun);
          longer.back().values.emplace_back(each.name, value);
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
  std::vector<parameter<>> parameters_;
  std::vector<std::function<bool(point const&)>> allows_;
};

}  // namespace assay
