// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tolerances, and when an element agrees with its right value.
#pragma once

#include <assay/core/random.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace assay {

/// A result is right if |got - expected| <= absolute + relative * |expected|.
struct tolerance {
  double relative = 0;
  double absolute = 0;
  /// Permits NaN as a right value, which agrees with every NaN. Else a NaN among the right values
  /// is refused, since a mistake in their function makes NaN right everywhere.
  bool nan = false;
  bool operator==(tolerance const&) const = default;
};

/// Integers must be exact. A floating result may have 16 errors of half an ulp: one rounding to T
/// and 15 roundings before it. The smallest normal number permits results that were flushed to
/// zero.
template <number T>
inline constexpr tolerance default_tolerance =
    std::is_integral_v<T> ? tolerance{}
                          : tolerance{8 * static_cast<double>(std::numeric_limits<T>::epsilon()),
                                      static_cast<double>(std::numeric_limits<T>::min()), false};

namespace arrays::detail {

inline constexpr unsigned char default_poison = 0xFF;  // NaN as a floating number

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
  return static_cast<double>(
      std::abs(static_cast<long double>(got) - static_cast<long double>(wanted)));
}

/// The byte that fills an array before verification; none where the array is not poisoned.
using poison_byte = std::optional<unsigned char>;

template <class T>
bool is_poison(T value, poison_byte poison) {
  if (!poison) { return false; }
  std::array<unsigned char, sizeof(T)> all;
  all.fill(*poison);
  return std::bit_cast<std::array<unsigned char, sizeof(T)>>(value) == all;
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
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    return text;
  }
}

}  // namespace arrays::detail

}  // namespace assay
