// SPDX-License-Identifier: Apache-2.0
/// @file
/// What `CAST(COALESCE(x, 0) AS DOUBLE)` is, said as plainly as possible.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::reference {

/// Whether row `row` holds a value, by an Arrow validity bitmask: bit `row % 8` of byte `row / 8`,
/// least significant first. A null mask says that no row is null.
constexpr bool is_valid(std::uint8_t const* mask, std::int64_t row) noexcept {
  return mask == nullptr || ((mask[row / 8] >> (row % 8)) & 1) != 0;
}

/// Writes rows [begin, end) of the result to `out[0 .. end - begin)`. What a null row holds is not
/// used. Every conversion is that of the language: int32 and float are exact in a double, int64
/// rounds to nearest even.
template <class T>
constexpr void null_cast(T const* values, std::uint8_t const* mask, std::int64_t begin,
                         std::int64_t end, double* out) noexcept {
  for (auto row = begin; row < end; ++row) {
    out[row - begin] = is_valid(mask, row) ? static_cast<double>(values[row]) : 0.0;
  }
}

/// Whether a result is right: the same bits, or both NaN, since the payload of a NaN may change in
/// a conversion and differs between processors.
constexpr bool same_result(double got, double expected) noexcept {
  return std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(expected) ||
         (got != got && expected != expected);
}

}  // namespace assay::reference
