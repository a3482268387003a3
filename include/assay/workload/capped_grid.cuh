// SPDX-License-Identifier: Apache-2.0
/// @file
/// Launching kernels whose blocks walk tiles, on as many SMs as a workload allows.
#pragma once

#include <assay/core/device.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/kernel/shared_memory.cuh>
#include <assay/workload/capped_grid.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace assay::kernel {

/// Calls `run` with `threads` as a type, `std::integral_constant<int, threads>`: kernels have it as
/// a constant. `workloads::require_caps` has refused all others.
template <class Run>
void with_threads(int threads, Run const& run) {
  if (threads == 128) {
    run(std::integral_constant<int, 128>{});
  } else if (threads == 256) {
    run(std::integral_constant<int, 256>{});
  } else {
    run(std::integral_constant<int, 512>{});
  }
}

/// The blocks that walk `tiles` tiles: all that are resident at once, or, under a cap, one on each
/// of `max_sms` SMs, since the hardware fills empty SMs first; never more than there are tiles.
template <class... Parameters>
unsigned capped_blocks(void (*kernel)(Parameters...), on::device place, int max_sms, int threads,
                       std::size_t shared_bytes, std::int64_t tiles) {
  allow_shared(kernel, place, shared_bytes);
  auto const most = [&]() -> std::int64_t {
    if (max_sms > 0) { return std::min(max_sms, attribute(place, cudaDevAttrMultiProcessorCount)); }
    return resident_shape(kernel, place, static_cast<unsigned>(threads), shared_bytes).blocks;
  }();
  return static_cast<unsigned>(std::clamp<std::int64_t>(tiles, 1, most));
}

/// The tiles of [0, total) that fall to one of `walkers`, which take turns.
__device__ inline int tiles_of(std::int64_t total, std::int64_t walker, std::int64_t walkers) {
  return walker < total ? static_cast<int>((total - walker - 1) / walkers + 1) : 0;
}

}  // namespace assay::kernel
