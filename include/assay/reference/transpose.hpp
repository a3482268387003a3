// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a transpose is, said as plainly as possible.
#pragma once

#include <cstdint>

namespace assay::reference {

/// Element (r, c) of a row-major matrix becomes element (c, r): out[c * rows + r] = in[r * columns
/// + c].
template <class T>
constexpr void transpose(std::int64_t rows, std::int64_t columns, T const* in, T* out) noexcept {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) { out[c * rows + r] = in[r * columns + c]; }
  }
}

}  // namespace assay::reference
