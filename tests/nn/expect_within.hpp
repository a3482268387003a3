// SPDX-License-Identifier: Apache-2.0
/// @file
/// Results of operations held to float64 under bounds, for tests by `verify`.
#pragma once

#include <assay/arrays/setup.hpp>
#include <assay/core/bfloat16.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::test {

/// Half the distance from 1 to the next float: the relative error of one rounding.
inline constexpr double rounding = 0x1p-24;
/// The relative error of the one rounding of a result to its type, where that is not float.
template <class T>
inline constexpr double last_rounding = std::is_same_v<T, float> ? 0 : bfloat16_unit;

inline std::vector<double> magnitudes(std::vector<double> from) {
  for (auto& each : from) { each = std::abs(each); }
  return from;
}

template <class T>
std::span<T> span_of(array_view<T> of) {
  return {of.data(), of.size()};
}

/// The values with which an array starts.
template <class T>
std::vector<double> wide(array_view<T> of) {
  std::vector<double> made(of.size());
  for (std::size_t i = 0; i < made.size(); ++i) { made[i] = of.seeded(i); }
  return made;
}

/// Expects each element within `share` of a magnitude, and one rounding to a type that is not
/// float. The smallest numbers count as zero.
template <class T>
void expect_within(setup& make, array_view<T> of, std::vector<double> wanted,
                   std::vector<double> magnitude, double share = 1) {
  auto const element = [wanted = std::move(wanted), magnitude = std::move(magnitude), share](
                           std::size_t first, std::span<double> right, std::span<double> errors) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      right[i] = wanted[first + i];
      auto const error = std::abs(magnitude[first + i]) * share;
      errors[i] = error + last_rounding<T> * (std::abs(right[i]) + error) +
                  static_cast<double>(std::numeric_limits<float>::min());
    }
  };
  make.expect(of, element);
}

}  // namespace assay::test
