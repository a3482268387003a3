// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the sum of an array is, said as plainly as possible.
#pragma once

#include <cstdint>

namespace assay::reference {

/// The sum of `count` elements in float64, first to last.
template <class T>
constexpr double streaming_sum(std::int64_t count, T const* x, double before = 0) noexcept {
  for (std::int64_t i = 0; i < count; ++i) { before += static_cast<double>(x[i]); }
  return before;
}

}  // namespace assay::reference
