// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to setup.hpp: values that kernels get wrong more often than random ones.
#pragma once

#include <assay/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay {

/// Values in place of random ones. `zeros`: the number of the range that is nearest to zero.
/// `extremes`: the two ends of the range, at random. `nan`: one of 61 floating elements is NaN, and
/// one at least.
enum class special_values { none, zeros, extremes, nan };

constexpr std::string_view to_string(special_values which) noexcept {
  using enum special_values;
  return which == zeros      ? "zeros"
         : which == extremes ? "extremes"
         : which == nan      ? "NaN"
                             : "random";
}

namespace arrays {

/// So many elements of a kind.
template <number T>
std::vector<T> special_elements(special_values kind, std::size_t n, uniform<T> range,
                                std::uint64_t seed) {
  constexpr bool floating = std::is_floating_point_v<T>;
  auto last = range.high;  // a floating range ends below it
  if constexpr (floating) { last = std::nextafter(range.high, range.low); }
  std::vector<T> made(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const bits = random_bits(seed, i);
    if (kind == special_values::zeros) {
      made[i] = std::clamp(T{0}, range.low, last);
    } else if (kind == special_values::extremes) {
      made[i] = bits % 2 == 0 ? range.low : last;
    } else {
      made[i] = random_value(range, seed, i);
      bool const chosen = bits % 61 == 0 || i == random_bits(seed, n) % n;
      if (floating && chosen) { made[i] = std::numeric_limits<T>::quiet_NaN(); }
    }
  }
  return made;
}

}  // namespace arrays
}  // namespace assay
