// SPDX-License-Identifier: Apache-2.0
/// @file
/// Launches of kernels that walk tiles, on as many SMs as a workload allows.
#pragma once

#include "capped_grid.hpp"

#include <assay/copy/require_code.cuh>
#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/kernel/shared_memory.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

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

/// The number of blocks that walk `tiles` tiles: at most one for each tile. Without a cap all
/// resident blocks run. Under a cap there is one on each of `max_sms` SMs, since the hardware fills
/// empty SMs first.
template <class... Parameters>
unsigned capped_blocks(void (*kernel)(Parameters...), on::device place, int max_sms, int threads,
                       std::size_t shared_bytes, std::int64_t tiles) {
  set_max_dynamic_shared_memory(kernel, place, shared_bytes);
  auto const most = [&]() -> std::int64_t {
    if (max_sms > 0) { return std::min(max_sms, attribute(place, cudaDevAttrMultiProcessorCount)); }
    return resident_shape(kernel, place, static_cast<unsigned>(threads), shared_bytes).blocks;
  }();
  return static_cast<unsigned>(std::clamp<std::int64_t>(tiles, 1, most));
}

/// A kernel that walks tiles, for one strategy and number of threads.
template <class... Parameters>
struct tile_kernel {
  void (*run)(Parameters...);
  unsigned threads;          ///< in a block
  std::size_t shared_bytes;  ///< that a launch adds
  int at_once;               ///< the vectors or tiles that a block takes at a time
};
template <class... Parameters>
tile_kernel(void (*)(Parameters...), unsigned, std::size_t, int) -> tile_kernel<Parameters...>;

/// Throws `std::invalid_argument` that names the strategy and says why, unless the kernel can run
/// with it on a device: with the instructions compiled in, and shared memory enough.
template <copy_strategy Strategy, class... Parameters>
void require_tiles(tile_kernel<Parameters...> const& what, on::device place) {
  copy::require_code<Strategy>(what.run, place);
  try {
    set_max_dynamic_shared_memory(what.run, place, what.shared_bytes);
  } catch (std::invalid_argument const& error) {
    throw std::invalid_argument(describe(Strategy{}) + ": " + error.what());
  }
}

/// The place and the stream of a walk over tiles, and its cap (see `capped_blocks`).
struct tile_walk {
  on::device place;
  ::cuda::stream_ref stream;
  int max_sms = 0;
};

/// Enqueues a kernel that has `count` vectors or tiles to take; throws as `require_tiles` does.
template <copy_strategy Strategy, class... Parameters>
void launch_tiles(tile_kernel<Parameters...> const& what, tile_walk const& walk, std::int64_t count,
                  std::type_identity_t<Parameters>... arguments) {
  require_tiles<Strategy>(what, walk.place);
  auto const blocks =
      capped_blocks(what.run, walk.place, walk.max_sms, static_cast<int>(what.threads),
                    what.shared_bytes, (count + what.at_once - 1) / what.at_once);
  launch(what.run, launch_shape{blocks, what.threads}, what.shared_bytes, walk.stream,
         arguments...);
}

/// The tiles of [0, total) that fall to one of `walkers`, which take turns.
__device__ inline int tiles_of(std::int64_t total, std::int64_t walker, std::int64_t walkers) {
  return walker < total ? static_cast<int>((total - walker - 1) / walkers + 1) : 0;
}

}  // namespace assay::kernel
