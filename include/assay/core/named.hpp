// SPDX-License-Identifier: Apache-2.0
/// @file
/// Names of policies: what a report calls them.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace assay {

/// A type that says what a report should call it, as `static constexpr std::string_view name`.
template <class T>
concept named = requires {
  { T::name } -> std::convertible_to<std::string_view>;
};

/// A value that can be copied, assigned and compared. In plain expressions, since all policies are
/// checked wherever they are included, and `std::copyable` takes a compiler far longer.
template <class T>
concept regular_value = requires(T object, T const& other) {
  T(other);
  object = other;
  { other == other } -> std::same_as<bool>;
};

/// A policy: a small regular value with a name. Two equal policies make the same choice.
template <class T>
concept policy = named<T> && regular_value<T>;

/// The name of a policy with its parameters where it tells them through `describe()`, else its
/// name.
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

/// What stands before the parameters in a description: `mr::pool` of `mr::pool{10 GiB}`.
inline std::string name_of(std::string const& description) {
  return description.substr(0, description.find('{'));
}

}  // namespace assay
