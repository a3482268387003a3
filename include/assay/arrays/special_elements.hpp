// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup_definitions.hpp: arrays of special values.
#pragma once

#include <assay/arrays/element.hpp>
#include <assay/arrays/special_values.hpp>
#include <assay/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace assay::detail {

/// The subnormal number that random bits select, of one of the signs; zero for integers and where
/// no sign is left.
template <number T>
T subnormal(std::uint64_t bits, bool negative, bool positive) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!negative && !positive) { return 0; }
    constexpr auto count = (std::uint64_t{1} << (std::numeric_limits<T>::digits - 1)) - 1;
    auto const magnitude = arrays::from_bits<T>(1 + bits % count);
    return negative && (!positive || bits >> 63U == 1U) ? -magnitude : magnitude;
  }
  return 0;
}

/// So many elements of special values.
inline std::vector<std::byte> special_elements(special_values kind, std::size_t n,
                                               arrays::any_range const& of, std::uint64_t seed) {
  return arrays::with_type(of.type, [&]<class T>(T value) {
    uniform<T> const range{arrays::from_bits<T>(of.low), arrays::from_bits<T>(of.high)};
    constexpr bool floating = std::is_floating_point_v<T>;
    auto last = range.high;  // a floating range ends below it
    if constexpr (floating) { last = std::nextafter(range.high, range.low); }
    auto const nearest = [&](T to) { return std::clamp(to, range.low, last); };
    auto const rare = [&](std::uint64_t bits, std::size_t i) {
      return floating && (bits % 61 == 0 || i == random_bits(seed, n) % n);
    };
    std::vector<std::byte> made(n * sizeof(T));
    for (std::size_t i = 0; i < n; ++i) {
      auto const bits = random_bits(seed, i);
      using enum special_values;
      if (kind == zeros) {
        value = nearest(T{0});
      } else if (kind == ones) {
        value = nearest(T{1});
      } else if (kind == extremes) {
        value = bits % 2 == 0 ? range.low : last;
      } else if (kind == denormals) {
        value = nearest(subnormal<T>(bits, range.low < T{0}, T{0} < range.high));
      } else if (rare(bits, i)) {
        constexpr auto inf = std::numeric_limits<T>::infinity();
        value = kind == nan         ? std::numeric_limits<T>::quiet_NaN()
                : bits >> 63U == 0U ? inf
                                    : static_cast<T>(-inf);
      } else {
        value = random_value(range, seed, i);
      }
      std::memcpy(made.data() + i * sizeof(T), &value, sizeof(T));
    }
    return made;
  });
}

}  // namespace assay::detail
