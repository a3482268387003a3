// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bulk copies of tiles of a matrix that a tensor map describes.
#pragma once

#include <assay/core/ptx.cuh>

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::copy {

/// Starts bulk copies of the tile that begins at (row, col): one thread starts a copy for each
/// panel. All copies arrive at `barrier`. The map is a `__grid_constant__` parameter of the kernel.
template <class Tile>
__device__ void start_bulk(CUtensorMap const& from, int row, int col, std::byte* tile,
                           std::uint64_t* barrier) {
#pragma unroll
  for (int panel = 0; panel < Tile::panels; ++panel) {
    std::int32_t const at[2] = {col + panel * Tile::panel_cols, row};
    ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_cluster, ::cuda::ptx::space_global,
                                      tile + panel * Tile::panel_bytes, &from, at, barrier);
  }
}

}  // namespace assay::copy
