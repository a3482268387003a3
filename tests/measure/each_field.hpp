// SPDX-License-Identifier: Apache-2.0
/// @file
/// Changes each field of a policy by itself: `==` and `describe()` must both tell.
#pragma once

#include "catch.hpp"

#include <assay/core/policy.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::test {

/// References to all `Count` fields of an aggregate. Another number of fields does not compile.
template <std::size_t Count, class T>
auto fields_of(T& of) {
  if constexpr (Count == 1) {
    auto& [a] = of;
    return std::tie(a);
  } else if constexpr (Count == 2) {
    auto& [a, b] = of;
    return std::tie(a, b);
  } else if constexpr (Count == 3) {
    auto& [a, b, c] = of;
    return std::tie(a, b, c);
  } else if constexpr (Count == 4) {
    auto& [a, b, c, d] = of;
    return std::tie(a, b, c, d);
  } else if constexpr (Count == 5) {
    auto& [a, b, c, d, e] = of;
    return std::tie(a, b, c, d, e);
  } else if constexpr (Count == 6) {
    auto& [a, b, c, d, e, f] = of;
    return std::tie(a, b, c, d, e, f);
  } else {
    static_assert(Count == 7, "add a branch with this number of names");
    auto& [a, b, c, d, e, f, g] = of;
    return std::tie(a, b, c, d, e, f, g);
  }
}

/// Another value than the default. A nested policy has an `altered()`.
template <class T>
void alter(T& field) {
  if constexpr (std::same_as<T, bool>) {
    field = !field;
  } else if constexpr (std::is_arithmetic_v<T>) {
    field = static_cast<T>(field + 3);
  } else if constexpr (requires { field.emplace(); }) {
    field.emplace();
  } else if constexpr (std::same_as<T, std::string>) {
    field += "x";
  } else {
    field = field.altered();
  }
}

/// Alters each of the `Count` fields of a policy, one at a time, in a copy of `usual`.
template <std::size_t Count, policy T>
void require_each_field_told(T const& usual) {
  std::vector<std::string> texts{describe(usual)};
  auto const told = [&](T const& changed) {
    auto const text = describe(changed);
    INFO(text);
    CHECK(changed != usual);
    CHECK(std::ranges::find(texts, text) == texts.end());
    texts.push_back(text);
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (
        [&] {
          auto changed = usual;
          alter(std::get<I>(fields_of<Count>(changed)));
          told(changed);
        }(),
        ...);
  }(std::make_index_sequence<Count>{});
}

}  // namespace assay::test
