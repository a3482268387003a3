// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fields and records of CSV as RFC 4180 has it, with plain line ends.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace assay::csv {

/// A text field, with quotes and doubled quotes only where RFC 4180 needs them.
inline std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) { return std::string{text}; }
  std::string quoted = "\"";
  for (char const each : text) { quoted.append(each == '"' ? 2 : 1, each); }
  return quoted + '"';
}

/// The shortest digits that read back as the same number, whatever the locale.
inline std::string field(double value) {
  if (!std::isfinite(value)) { return {}; }
  std::array<char, 32> text{};
  auto const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <std::integral T>
requires(!std::same_as<T, bool>)
std::string field(T value) {
  return std::to_string(value);
}

inline std::string field(bool value) { return value ? "true" : "false"; }

template <class T>
std::string field(std::optional<T> const& value) {
  return value ? field(*value) : std::string{};
}

/// Writes fields with commas between them.
template <class... Fields>
void fields(std::ostream& out, Fields const&... all) {
  auto separator = "";
  ((out << separator << field(all), separator = ","), ...);
}

/// Writes one record.
template <class... Fields>
void record(std::ostream& out, Fields const&... all) {
  fields(out, all...);
  out << '\n';
}

}  // namespace assay::csv
