// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values as JSON and back: the two visitors of the records in `json_records.hpp`.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/document.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::report::detail {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A number, or null for one that is not finite, since JSON has no NaN and no infinity.
inline document number(double value) {
  return std::isfinite(value) ? document(value) : document(nullptr);
}

/// The names of an enumeration in the order of its values.
template <class Enum>
inline constexpr std::array<std::string_view, 0> value_names{};
template <>
inline constexpr std::array<std::string_view, 3> value_names<measure::clock>{"wall", "gpu",
                                                                             "submit"};
template <>
inline constexpr std::array<std::string_view, 3> value_names<measure::contrast::kind>{
    "difference", "main effect", "interaction"};
template <>
inline constexpr std::array<std::string_view, 6> value_names<measure::verdict>{
    "FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "UNPROVEN", "WRONG ANSWER"};
template <>
inline constexpr std::array<std::string_view, 3> value_names<measure::checks>{
    "not checked", "checked in part", "checked"};
template <>
inline constexpr std::array<std::string_view, 2> value_names<machine::ceiling::unit>{"bytes",
                                                                                     "flops"};

/// Writes the members of a record, in the order in which its `members` function names them.
class json_writer {
 public:
  static constexpr bool first_schema = false;
  bool cells_in_variants = true;  ///< false where the comparison has a table of all cells

  /// Writes members: key, value, key, value, ...
  template <class T, class... Rest>
  void operator()(char const* key, T const& value, Rest const&... rest) {
    into_[key] = made(value);
    if constexpr (sizeof...(rest) > 0) { (*this)(rest...); }
  }
  void or_if_null(char const* key, double value, double /*null_means*/) { (*this)(key, value); }
  /// A 64-bit number as text, since many readers of JSON round whole numbers beyond 2^53.
  void as_text(char const* key, std::uint64_t value) { into_[key] = std::to_string(value); }
  /// A member that is only for readers of the file.
  void constant(char const* key, document value) { into_[key] = std::move(value); }
  template <class T>
  void if_present(bool present, char const* key, T const& value) {
    if (present) { into_[key] = made(value); }
  }

  /// A record as an object. A `members` function takes its record without const, for the reader.
  template <class Record>
  requires std::is_class_v<Record>
  document made(Record const& value) const {
    json_writer nested;
    nested.cells_in_variants = cells_in_variants;
    members(nested, const_cast<Record&>(value));
    return std::move(nested.into_);
  }
  document made(double value) const { return number(value); }
  document made(std::integral auto value) const { return value; }
  document made(std::string const& value) const { return value; }
  template <class Enum>
  requires std::is_enum_v<Enum>
  document made(Enum value) const {
    return value_names<Enum>[static_cast<std::size_t>(value)];
  }
  template <class T>
  document made(std::optional<T> const& value) const {
    return value ? made(*value) : document(nullptr);
  }
  template <class T>
  document made(std::vector<T> const& all) const {
    auto array = document::array();
    for (auto const& each : all) { array.push_back(made(each)); }
    return array;
  }
  /// Values by clock.
  template <class T>
  document made(std::array<T, 3> const& all) const {
    document object;
    for (std::size_t i = 0; i < 3; ++i) {
      object[std::string{value_names<measure::clock>[i]}] = made(all[i]);
    }
    return object;
  }

 private:
  document into_;
};

/// Reads the members of a record, each by its key. Throws `document::exception` for a member that
/// is missing or of the wrong type, and `std::invalid_argument` for an unknown value.
class json_reader {
 public:
  bool first_schema = false;
  static constexpr bool cells_in_variants = true;

  json_reader(document const& from, bool first) : first_schema(first), from_(&from) {}

  /// Reads members: key, value, key, value, ... A number that is null becomes NaN.
  template <class T, class... Rest>
  void operator()(char const* key, T& into, Rest&... rest) const {
    read(from_->at(key), into, key);
    if constexpr (sizeof...(rest) > 0) { (*this)(rest...); }
  }
  void or_if_null(char const* key, double& into, double null_means) const {
    into = null_means;
    if (!from_->at(key).is_null()) { (*this)(key, into); }
  }
  void as_text(char const* key, std::uint64_t& into) const {
    auto const text = from_->at(key).get<std::string>();
    auto const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, into);
    if (text.empty() || stop != end || error != std::errc{}) { refuse(key, text); }
  }
  void constant(char const*, document const&) const {}
  template <class T>
  void if_present(bool, char const* key, T& into) const {
    if (from_->contains(key)) { (*this)(key, into); }
  }

 private:
  [[noreturn]] static void refuse(char const* key, std::string const& text) {
    throw std::invalid_argument(concat({"not a report of assay: ", key, " is '", text, "'"}));
  }

  template <class Record>
  requires std::is_class_v<Record>
  void read(document const& value, Record& into, char const*) const {
    json_reader nested{value, first_schema};
    members(nested, into);
  }
  void read(document const& value, double& into, char const*) const {
    into = value.is_null() ? nan : value.get<double>();
  }
  template <std::integral T>
  void read(document const& value, T& into, char const*) const {
    into = value.get<T>();
  }
  void read(document const& value, std::string& into, char const*) const {
    into = value.get<std::string>();
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void read(document const& value, Enum& into, char const* key) const {
    auto const text = value.get<std::string>();
    constexpr auto const& names = value_names<Enum>;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) {
        into = static_cast<Enum>(i);
        return;
      }
    }
    refuse(key, text);
  }
  template <class T>
  void read(document const& value, std::optional<T>& into, char const* key) const {
    into.reset();
    if (!value.is_null()) { read(value, into.emplace(), key); }
  }
  template <class T>
  void read(document const& value, std::vector<T>& into, char const* key) const {
    for (auto const& each : value) { read(each, into.emplace_back(), key); }
  }
  template <class T>
  void read(document const& value, std::array<T, 3>& into, char const* key) const {
    for (std::size_t i = 0; i < 3; ++i) {
      read(value.at(std::string{value_names<measure::clock>[i]}), into[i], key);
    }
  }

  document const* from_;
};

}  // namespace assay::report::detail
