// SPDX-License-Identifier: Apache-2.0
/// @file
/// x -> a x + b on the CPU, applied again and again to each element.
#pragma once

#include <assay/host/parallel_for.hpp>
#include <assay/reference/iterated_map.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace assay::host {

/// out[i] = x[i] after `steps` steps. `out` may be `x`, else must not overlap it.
template <class T>
void iterated_map(int threads, std::int64_t count, T const* x, reference::affine_step<T> step,
                  int steps, T* out) {
  // So many at once that the chains of one step hide each other's latency, and stay in registers.
  constexpr std::int64_t width = 64 / static_cast<std::int64_t>(sizeof(T));
  auto const grain = std::max<std::int64_t>(width, (std::int64_t{1} << 16) / (1 + steps / 8));
  parallel_for(threads, count, grain, [=](std::int64_t begin, std::int64_t end) {
    for (auto first = begin; first < end; first += width) {
      auto const length = std::min(width, end - first);
      std::array<T, static_cast<std::size_t>(width)> values{};
      std::copy_n(x + first, length, values.data());
      for (int k = 0; k < steps; ++k) {
        for (T& each : values) { each = step.factor * each + step.offset; }
      }
      std::copy_n(values.data(), length, out + first);
    }
  });
}

}  // namespace assay::host
