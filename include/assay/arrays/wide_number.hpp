// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to expectation.hpp: elements of any type as numbers.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/element.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace assay::arrays::detail {

/// An element as a number of a type that holds it exactly.
union wide_number {
  double f;
  std::int64_t i;
  std::uint64_t u;
};

inline bool is_floating(element of) noexcept { return of >= element::f32; }
inline bool is_signed_integer(element of) noexcept {
  return of >= element::i8 && of <= element::i64;
}

/// Elements as wide numbers.
inline void widen(element type, std::byte const* from, std::size_t count, wide_number* to) {
  with_type(type, [&]<class T>(T value) {
    for (std::size_t k = 0; k < count; ++k) {
      std::memcpy(&value, from + k * sizeof value, sizeof value);
      if constexpr (!std::is_integral_v<T>) {
        to[k].f = static_cast<double>(value);
      } else if constexpr (std::is_signed_v<T>) {
        to[k].i = value;
      } else {
        to[k].u = value;
      }
    }
  });
}

/// The distance of neighbouring numbers of a type near a value; NaN where that is no number.
inline double ulp_of(element type, double near) {
  return with_type(type, [near]<class T>(T) {
    if (std::is_integral_v<T>) { return 1.0; }
    using is = element_limits<T>;
    int const exponent = std::max(std::ilogb(near), is::min_exponent - 1);
    return std::isfinite(near) ? std::ldexp(1.0, exponent - is::digits + 1)
                               : std::numeric_limits<double>::quiet_NaN();
  });
}

/// The nearest number of a floating type.
inline double rounded_to(element type, double value) {
  return with_type(type,
                   [value]<class T>(T) { return static_cast<double>(static_cast<T>(value)); });
}

inline std::string in_text(element type, wide_number value) {
  if (!is_floating(type)) {
    return is_signed_integer(type) ? std::to_string(value.i) : std::to_string(value.u);
  }
  constexpr int digits_of_half = 5;
  return in_text(value.f, type == element::f32   ? std::numeric_limits<float>::max_digits10
                          : type == element::f64 ? std::numeric_limits<double>::max_digits10
                                                 : digits_of_half);
}

}  // namespace assay::arrays::detail
