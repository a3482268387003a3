// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the sum of two arrays is, said as plainly as possible.
#pragma once

#include <cstdint>
#include <type_traits>

namespace assay::reference {

/// A sum in float64 as an element of `T` holds it: integers wrap round, floats are rounded.
///
/// The sum of two floats rounds to the same float through float64 as directly, since 53 bits are at
/// least 2 * 24 + 2 (Figueroa 1995); that of two int32 is exact in float64. So results need no
/// tolerance.
template <class T>
constexpr T as_stored(double sum) noexcept {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return static_cast<T>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
  } else {
    return static_cast<T>(sum);
  }
}

/// expected[i] = x[i] + y[i], as `T` holds it, for i in [0, count).
template <class T>
constexpr void vector_add(std::int64_t count, T const* x, T const* y, double* expected) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    auto const sum = static_cast<double>(x[i]) + static_cast<double>(y[i]);
    expected[i] = static_cast<double>(as_stored<T>(sum));
  }
}

}  // namespace assay::reference
