// SPDX-License-Identifier: Apache-2.0
/// @file
/// `bfloat16`: a 16-bit float with the range of `float`.
#pragma once

#include <assay/core/requirements.hpp>

#include <bit>
#include <cstdint>

namespace assay {

/// The upper half of a `float`, as machine learning stores numbers: 8 bits of exponent, 7 of
/// mantissa. It is stored and converted here, not computed with; layout as `__nv_bfloat16` has it.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() noexcept = default;
  /// Rounds to nearest, ties to even; a NaN stays one.
  constexpr explicit bfloat16(float value) noexcept {
    auto const all = std::bit_cast<std::uint32_t>(value);
    bool const nan = (all & 0x7FFFFFFFU) > 0x7F800000U;
    auto const rounded = all + 0x7FFFU + ((all >> 16U) & 1U);
    bits = static_cast<std::uint16_t>(nan ? (all >> 16U) | 0x40U : rounded >> 16U);
  }
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16U);
  }
  constexpr explicit operator double() const noexcept { return static_cast<float>(*this); }
};
static_assert(sizeof(bfloat16) == 2);

/// The most that rounding to nearest changes a number, relative to it: it has 8 significant bits.
inline constexpr double bfloat16_unit = 0x1p-8;

/// A number of float64 rounded to `bfloat16` once: through `float` it could be rounded twice.
constexpr bfloat16 to_bfloat16(double value) noexcept {
  auto near = static_cast<float>(value);
  auto const back = static_cast<double>(near);
  // The lowest bit is set if the first rounding lost something (round to odd). That settles all
  // ties of the second rounding.
  if (back != value && value == value) {
    auto bits = std::bit_cast<std::uint32_t>(near);
    bool const away = (back > value) == (back > 0);
    if (away && (bits & 0x7FFFFFFFU) != 0) { --bits; }
    near = std::bit_cast<float>(bits | 1U);
  }
  return bfloat16{near};
}

}  // namespace assay
