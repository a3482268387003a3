// SPDX-License-Identifier: Apache-2.0
/// @file
/// When an element agrees with its right value.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/stats/number_text.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace assay {

namespace arrays::detail {

/// Integers compare exactly. A floating NaN agrees with every NaN, and infinity with itself.
template <class Got, class Wanted>
bool agrees(Got got, Wanted wanted, double allowed) {
  if constexpr (std::is_integral_v<Got>) {
    if (std::cmp_equal(got, wanted)) { return true; }
    return allowed >= 1 &&
           std::abs(static_cast<double>(got) - static_cast<double>(wanted)) <= allowed;
  } else {
    if (std::isnan(wanted)) { return std::isnan(got); }
    return got == static_cast<Got>(wanted) ||
           (std::isfinite(wanted) && std::abs(static_cast<double>(got) - wanted) <= allowed);
  }
}

/// The distance of two numbers; exact for integers of 64 bits.
template <class Got, class Wanted>
double distance(Got got, Wanted wanted) {
  if constexpr (std::is_integral_v<Got>) {
    if (std::cmp_equal(got, wanted)) { return 0; }
    return static_cast<double>(
        std::abs(static_cast<long double>(got) - static_cast<long double>(wanted)));
  } else {
    return std::abs(got - wanted);
  }
}

/// The same bits, or two NaN: the payload of a NaN differs between processors.
inline bool same_result(double got, double wanted) {
  return std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(wanted) ||
         (std::isnan(got) && std::isnan(wanted));
}

template <class Value>
std::string in_text(Value value, int digits) {
  if constexpr (std::is_integral_v<Value>) {
    return std::to_string(value);
  } else {
    // The sign of a NaN means nothing.
    auto const number = static_cast<double>(value);
    return std::isnan(number) ? "nan" : stats::number_text(number, digits);
  }
}

}  // namespace arrays::detail

}  // namespace assay
