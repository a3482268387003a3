// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a gather of rows is, said as plainly as possible.
#pragma once

#include <cstdint>
#include <cstring>

namespace assay::reference {

/// Row i of `out` is row `index[i]` of `table`, for i in [0, rows).
inline void row_gather(std::int64_t rows, std::int64_t row_bytes, void const* table,
                       std::int32_t const* index, void* out) noexcept {
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(static_cast<char*>(out) + i * row_bytes,
                static_cast<char const*>(table) + index[i] * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
}

}  // namespace assay::reference
