// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a scaled sum of two arrays is, said as plainly as possible.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::reference {

/// expected[i] = scale * x[i] + y[i], rounded once, as `T` holds it, and by how much a result in
/// `T` may differ.
///
/// Not at all in double, where this is the same operation. In float the sum is rounded here to
/// float64 first, which can move a tie: to the neighbouring float, 2 u apart where u is the unit
/// roundoff, or by the least subnormal.
template <class T>
void scale_add(std::int64_t count, T scale, T const* x, T const* y, double* expected,
               double* allowed) noexcept {
  using limits = std::numeric_limits<T>;
  constexpr bool same = sizeof(T) == sizeof(double);
  for (std::int64_t i = 0; i < count; ++i) {
    expected[i] = static_cast<double>(static_cast<T>(std::fma(
        static_cast<double>(scale), static_cast<double>(x[i]), static_cast<double>(y[i]))));
    allowed[i] = same ? 0
                      : static_cast<double>(limits::epsilon()) * std::abs(expected[i]) +
                            static_cast<double>(limits::denorm_min());
  }
}

}  // namespace assay::reference
