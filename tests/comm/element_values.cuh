// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random elements of every type of an all-reduce, and the result of their reduction with its
/// bound.
#pragma once

#include <assay/comm/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace assay::test {

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  auto x = seed + 0x9E3779B97F4A7C15U * (index + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// A number from -8 to 8, of any of the 2^20 between.
inline float random_value(std::uint64_t seed, std::uint64_t index) {
  return static_cast<float>(static_cast<std::int64_t>(random_bits(seed, index) >> 43U) -
                            (1 << 20)) *
         0x1p-17F;
}

/// Any integer, or any multiple of 2^-49 from -8 to 8, or a rounded `random_value`. Elements of a
/// few bits are all ones often enough to be tested.
template <comm::element T>
T random_element(std::uint64_t seed, std::uint64_t index) {
  auto const bits = random_bits(seed, index);
  if constexpr (std::integral<T>) {
    return bits % 16 == 0 ? T{-1} : static_cast<T>(bits >> 32U);
  } else if constexpr (std::same_as<T, double>) {
    auto const whole = static_cast<std::int64_t>(bits >> 11U) - (std::int64_t{1} << 52U);
    auto const low = bits % 16 == 0 ? std::int64_t{0xFFFFFFFF} : 0;
    return static_cast<double>(whole | low) * 0x1p-49;
  } else {
    return static_cast<T>(random_value(seed, index));
  }
}

/// Half the distance from 1 to the next number of the type.
template <class T>
double unit_roundoff() {
  if constexpr (sizeof(T) > 2) { return std::numeric_limits<T>::epsilon() / 2; }
  auto const has = [](float step) { return static_cast<float>(static_cast<T>(1 + step)) != 1; };
  if (sizeof(T) == 1) { return has(0x1p-3F) ? 0x1p-4 : 0x1p-3; }
  return has(0x1p-10F) ? 0x1p-11 : 0x1p-8;
}

/// The most that rounding to a subnormal number of a type of 8 or 16 bits can be off.
template <class T>
double half_subnormal() {
  if (sizeof(T) == 2) { return 0x1p-25; }
  return unit_roundoff<T>() == 0x1p-4 ? 0x1p-10 : 0x1p-17;
}

/// An element as a number, without loss.
template <comm::element T>
long double as_number(T value) {
  if constexpr (comm::has_sentinel<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

/// The reduction of the ranks' elements `i`, and how far off it may be. Integers are exact.
struct reduced_number {
  long double expected;
  long double bound;
};
template <comm::element T>
reduced_number reduce_elements(std::vector<std::vector<T>> const& ranks, std::size_t i,
                               comm::reduction what) {
  long double sum = 0;
  long double magnitude = 0;
  long double greatest = -std::numeric_limits<long double>::infinity();
  for (auto const& each : ranks) {
    auto const value = as_number(each[i]);
    sum += value;
    magnitude += std::abs(value);
    greatest = std::max(greatest, value);
  }
  if (what == comm::reduction::max) { return {greatest, 0}; }
  auto const n = static_cast<long double>(ranks.size());
  bool const averages = what == comm::reduction::average;
  if constexpr (std::integral<T>) {
    auto const wrapped =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
    return {static_cast<long double>(averages ? wrapped / static_cast<int>(ranks.size()) : wrapped),
            0};
  }
  // n - 1 additions and a product, each off by the unit roundoff of what came before; then one
  // rounding to the type, which may be to a subnormal one.
  long double const unit = unit_roundoff<comm::sum_of<T>>();
  reduced_number to{sum, n * unit * magnitude * 1.001L};
  if (averages) { to = {sum / n, to.bound / n + unit * magnitude}; }
  if (sizeof(T) <= 2) {
    to.bound += unit_roundoff<T>() * (std::abs(to.expected) + to.bound) + half_subnormal<T>();
  }
  return to;
}

}  // namespace assay::test
