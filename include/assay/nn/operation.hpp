// SPDX-License-Identifier: Apache-2.0
/// @file
/// Types of the arguments of operations, weights in two halves among them, and the check of sizes.
///
/// An operation is a value that knows its shape. `cost(narrow)` is its traffic: activations have
/// `narrow` times the bytes of float32, all else is float32. A call of the value computes the
/// operation on the host, in float64 as the reference, or in float32.
#pragma once

#include <assay/core/bfloat16.hpp>
#include <assay/workload/concepts.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay::nn {

/// The number of a word in the vocabulary.
using token = std::int32_t;

/// An input. The outputs of a call decide what `Real` is.
template <class Real>
using in = std::span<std::type_identity_t<Real> const>;

namespace detail {

/// Half a step of the upper half: this is added to the bits of a float before they are cut.
inline constexpr std::uint32_t half_step = 0x8000U;
/// The bits of each NaN before that: those of others could become a finite number.
inline constexpr std::uint32_t any_nan = 0x7FFF'0000U;

}  // namespace detail

/// A float in two halves: its bits plus 2^15, cut in the middle. The upper half is the float
/// rounded to nearest, with ties away from zero: 65,537 floats round to an even number where ties
/// go to even, and 16 bits tell 65,536 apart. Both halves give each float back bit by bit. All NaNs
/// become one. Two halves of zero are a NaN, and not zero.
struct float_halves {
  bfloat16 high;
  std::uint16_t low = 0;

  constexpr explicit float_halves(float value) noexcept {
    auto const moved = (value == value ? std::bit_cast<std::uint32_t>(value) : detail::any_nan) +
                       detail::half_step;
    high.bits = static_cast<std::uint16_t>(moved >> 16U);
    low = static_cast<std::uint16_t>(moved);
  }
  constexpr float_halves(bfloat16 upper, std::uint16_t lower) noexcept : high(upper), low(lower) {}
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>((std::uint32_t{high.bits} << 16U | low) - detail::half_step);
  }
};

/// The halves of several floats.
struct split_floats {
  std::span<bfloat16> high;
  std::span<std::uint16_t> low;

  std::size_t size() const { return high.size(); }
  bool empty() const { return high.empty(); }
  split_floats subspan(std::size_t offset, std::size_t count) const {
    return {high.subspan(offset, count), low.subspan(offset, count)};
  }
};

/// Weights beside activations of another type: where that type is narrow, products read the upper
/// halves.
template <class Real, class Narrow>
using weight_span = std::conditional_t<std::is_same_v<Real, Narrow>, std::span<Real>, split_floats>;

/// The factors of products among some weights.
template <class Real>
std::span<Real> factors_of(std::span<Real> all) {
  return all;
}
inline std::span<bfloat16> factors_of(split_floats const& all) { return all.high; }

namespace detail {

inline constexpr double float_bytes = 4;

/// Traffic in elements of float32.
inline traffic elements(double read, double written, double flops) {
  return {.bytes_read = float_bytes * read, .bytes_written = float_bytes * written, .flops = flops};
}

inline double product_of(std::size_t a, std::size_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// Throws unless an argument has the size that the shape of the operation gives it.
template <class T>
void require_size(std::string_view operation, std::string_view argument, std::span<T> given,
                  std::size_t wanted) {
  if (given.size() == wanted) { return; }
  throw std::invalid_argument(std::string{operation} + ": " + std::string{argument} + " has " +
                              std::to_string(given.size()) + " elements, its shape has " +
                              std::to_string(wanted));
}

/// Throws unless a token is in the vocabulary.
inline void require_token(token which, std::size_t vocabulary) {
  if (which >= 0 && static_cast<std::size_t>(which) < vocabulary) { return; }
  throw std::invalid_argument("token " + std::to_string(which) +
                              " is not in the vocabulary, which has tokens 0 to " +
                              std::to_string(vocabulary - 1));
}

}  // namespace detail
}  // namespace assay::nn
