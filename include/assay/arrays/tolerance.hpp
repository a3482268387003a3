// SPDX-License-Identifier: Apache-2.0
/// @file
/// The permitted error of a result.
#pragma once

#include <assay/core/random.hpp>

#include <limits>
#include <type_traits>

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

namespace arrays {

inline constexpr unsigned char default_poison = 0xFF;  // NaN as a floating number

}  // namespace arrays
}  // namespace assay
