// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values of JSON documents that may be anything; needs nlohmann_json.
#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace assay::trace::chrome {

using json = nlohmann::json;

/// A value as errors show it.
inline std::string short_text(json const& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 60);
}

/// A whole number; throws `std::invalid_argument` where it is none, or none of T.
template <std::integral T>
T whole(json const& value) {
  if (value.is_number_unsigned()) {
    if (auto const number = value.get<std::uint64_t>(); std::in_range<T>(number)) {
      return static_cast<T>(number);
    }
  } else if (value.is_number_integer()) {
    if (auto const number = value.get<std::int64_t>(); std::in_range<T>(number)) {
      return static_cast<T>(number);
    }
  }
  throw std::invalid_argument("a value is no whole number, or out of range: " + short_text(value));
}
template <class T>
T value_or(json const& of, char const* name, T otherwise) {
  auto const found = of.find(name);
  return found == of.end() ? otherwise : whole<T>(*found);
}
template <class T>
T get(json const& of, char const* name) {
  return whole<T>(of.at(name));
}
template <class Enum>
Enum kind(json const& value, Enum last) {
  auto const number = whole<std::uint8_t>(value);
  if (number > static_cast<std::uint8_t>(last)) {
    throw std::invalid_argument("a kind is out of range: " + std::to_string(number));
  }
  return static_cast<Enum>(number);
}
inline std::string const& text(json const& of, char const* name) {
  return of.at(name).get_ref<std::string const&>();
}

}  // namespace assay::trace::chrome
