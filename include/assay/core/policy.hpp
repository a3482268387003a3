// SPDX-License-Identifier: Apache-2.0
/// @file
/// The concept of a policy, and the text by which a report names one.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay {

/// A type with a name for reports: `static constexpr std::string_view name`.
template <class T>
concept named = requires {
  { T::name } -> std::convertible_to<std::string_view>;
};

/// A value that can be copied, assigned and compared. `std::copyable` would take a compiler far
/// longer, and each policy is checked wherever its header is included.
template <class T>
concept regular_value = requires(T object, T const& other) {
  T(other);
  object = other;
  { other == other } -> std::same_as<bool>;
};

/// A policy is a small regular value with a name. Two equal policies make the same choice.
template <class T>
concept policy = named<T> && regular_value<T>;

/// The text of the policy's own `describe()`, else its name.
template <named T>
std::string describe(T const& value) {
  if constexpr (requires {
                  { value.describe() } -> std::convertible_to<std::string>;
                }) {
    return value.describe();
  } else {
    return std::string{std::string_view{T::name}};
  }
}

/// The parameters of a policy as its `describe()` writes them: `{10 GiB, checked, max_bytes=4096}`.
///
/// A parameter is written always, or only where its value differs from its default. Numbers that
/// differ have digits that differ.
class parameter_list {
 public:
  /// Adds a text as it is.
  parameter_list& show(std::string const& text) {
    text_ += (text_.empty() ? "" : ", ") + text;
    return *this;
  }

  template <class T>
  parameter_list& show(std::string_view name, T const& value) {
    return show(std::string{name} + '=' + in_digits(value));
  }

  /// Adds `name=value` where the value is not `usual`; `words(value)` is its text. A flag is its
  /// name alone, or `name=false`.
  template <class T, class Words>
  parameter_list& show(std::string_view name, T const& value, std::type_identity_t<T> const& usual,
                       Words words) {
    return value == usual ? *this : show(std::string{name} + '=' + words(value));
  }
  template <class T>
  parameter_list& show(std::string_view name, T const& value,
                       std::type_identity_t<T> const& usual) {
    if constexpr (std::same_as<T, bool>) {
      return value == usual ? *this : show(std::string{name}.append(value ? "" : "=false"));
    } else {
      return show(name, value, usual, [](T const& each) { return in_digits(each); });
    }
  }

  /// The description of a policy with this name: the name alone where no parameter was added.
  std::string after(std::string_view name) const {
    return std::string{name} + (text_.empty() ? "" : '{' + text_ + '}');
  }

 private:
  template <std::integral T>
  static std::string in_digits(T value) {
    return std::to_string(value);
  }
  /// The fewest digits, from 6, that mean this number and no other.
  template <std::floating_point T>
  static std::string in_digits(T value) {
    // Not snprintf: the locale of the program may have another decimal point.
    std::array<char, 32> text{};
    char* end = text.data();
    for (int digits = 6; digits <= 17; ++digits) {
      end = std::to_chars(text.data(), text.data() + text.size(), static_cast<double>(value),
                          std::chars_format::general, digits)
                .ptr;
      double read = 0;
      (void)std::from_chars(text.data(), end, read);
      if (static_cast<T>(read) == value) { break; }
    }
    return {text.data(), end};
  }

  std::string text_;
};

/// The name in a description, without parameters: `mr::pool` of `mr::pool{10 GiB}`.
inline std::string name_of(std::string const& description) {
  return description.substr(0, description.find('{'));
}

}  // namespace assay
