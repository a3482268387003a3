// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum of two arrays on the CPU.
#pragma once

#include <assay/host/parallel_for.hpp>

#include <cstdint>
#include <type_traits>

namespace assay::host {

/// out[i] = x[i] + y[i]; integers wrap round. `out` may be `x` or `y`, else must not overlap them.
template <class T>
void vector_add(int threads, std::int64_t count, T const* x, T const* y, T* out) {
  constexpr std::int64_t grain = std::int64_t{1} << 16;  // some 30 us of work: a thread's start
  parallel_for(threads, count, grain, [=](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      if constexpr (std::is_integral_v<T>) {
        using bits = std::make_unsigned_t<T>;  // signed overflow would be undefined
        out[i] = static_cast<T>(static_cast<bits>(x[i]) + static_cast<bits>(y[i]));
      } else {
        out[i] = x[i] + y[i];
      }
    }
  });
}

}  // namespace assay::host
