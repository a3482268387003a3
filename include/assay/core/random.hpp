// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random numbers from a seed and an index, equal on host and device.
#pragma once

#include <assay/core/requirements.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay {

/// An integer or floating type of at most 64 bits; `bool` is none.
template <class T>
concept number = std::is_arithmetic_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool> &&
                 sizeof(T) <= sizeof(std::uint64_t);

/// Uniform random numbers: integers in [low, high], floating types in [low, high). Rounding to T
/// can reach the upper end of other floating ranges than the default one.
template <number T>
struct uniform {
  T low = std::is_floating_point_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::min();
  T high = std::is_floating_point_v<T> ? static_cast<T>(1) : std::numeric_limits<T>::max();
  bool operator==(uniform const&) const = default;
  /// The range of another type, so that `uniform{-1, 1}` serves `float`. Throws
  /// `std::invalid_argument` where an end does not fit an integer type.
  template <number U>
  requires(!std::is_same_v<T, U> && (std::is_floating_point_v<U> || std::is_integral_v<T>))
  constexpr operator uniform<U>() const {  // NOLINT: implicit
    if constexpr (std::is_integral_v<U>) {
      auto const is_negative = [](auto end) {
        if constexpr (std::is_signed_v<decltype(end)>) { return end < 0; }
        return false;
      };
      auto const fits = [&](T end) {
        auto const as = static_cast<U>(end);
        return static_cast<T>(as) == end && is_negative(as) == is_negative(end);
      };
      if (!fits(low) || !fits(high)) {
        throw std::invalid_argument("uniform{" + std::to_string(low) + ", " + std::to_string(high) +
                                    "} does not fit a type of " + std::to_string(sizeof(U)) +
                                    " bytes");
      }
    }
    return {static_cast<U>(low), static_cast<U>(high)};
  }
};

/// `random_draw{seed, index}.bits` are 64 random bits, in host code and in device code.
///
/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014) of the index-th state of the generator
/// with that seed. Default member initialisers compute the bits: device code cannot call a function
/// of a header for plain g++, but it can initialise an aggregate.
struct random_draw {
  std::uint64_t seed = 0;
  std::uint64_t index = 0;
  std::uint64_t state = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  std::uint64_t mixed = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  std::uint64_t remixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
  std::uint64_t bits = remixed ^ (remixed >> 31U);
};

/// `uniform_draw<T>{range, bits}.value` is the random number that 64 random bits select.
///
/// A remainder: one integer is more likely than another by at most (high - low + 1) / 2^64.
template <number T>
struct uniform_draw {
  uniform<T> range{};
  std::uint64_t bits = 0;
  std::uint64_t low = static_cast<std::uint64_t>(range.low);
  std::uint64_t span =
      static_cast<std::make_unsigned_t<T>>(static_cast<std::uint64_t>(range.high) - low);
  std::uint64_t count = span + 1;  // 0 stands for 2^64
  T value = static_cast<T>(low + (count == 0 ? bits : bits % count));
};

/// The same of floating types. The explicit `fma` leaves a compiler no choice of roundings, so
/// that the host and a device compute the same bits.
template <number T>
requires std::is_floating_point_v<T>
struct uniform_draw<T> {
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr double unit = 1 / static_cast<double>(std::uint64_t{1} << digits);
  uniform<T> range{};
  std::uint64_t bits = 0;
  double low = static_cast<double>(range.low);
  double width = static_cast<double>(range.high) - low;
  double share = static_cast<double>(bits >> (64 - digits)) * unit;  // of [0, 1), exact
  T value = static_cast<T>(std::fma(width, share, low));
};

/// The 64 random bits of a seed and an index.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) noexcept {
  return random_draw{seed, index}.bits;
}

/// The random number of a seed and an index, for host code.
template <number T>
T random_value(uniform<T> range, std::uint64_t seed, std::uint64_t index) noexcept {
  return uniform_draw<T>{range, random_bits(seed, index)}.value;
}

}  // namespace assay
