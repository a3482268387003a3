// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nn. The tiles of the kernel of `weight_update`, and the weights of a launch.
#pragma once

#include <assay/copy/tile_layout.hpp>
#include <assay/copy/tile_ring.cuh>
#include <assay/core/bfloat16.hpp>
#include <assay/nn/vectors.cuh>

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::nn {

/// A tile of 128 x 128 weights, summed over slots of 64 tokens.
///
/// Two warpgroups multiply in turn. While one has the tensor cores, the other hands its sums over,
/// few rows at a time, to two that update weights, so that the tensor cores and the memory work at
/// the same time. A further one fills the ring of slots. The registers of five warps, one of each,
/// are at most the 5 x 96 that the block begins with. Each warp that updates has `ahead` rows of
/// weights and moments on their way to shared memory. On an H200, 4 slots with 5 rows ahead took 3
/// to 9 % longer, and 6 slots with a row ahead 23 to 28 %.
struct update_tile {
  static constexpr int rows = 128, columns = 128, depth = 64;
  static constexpr int multipliers = 256, updaters = 256, readers = multipliers + updaters;
  static constexpr int threads = readers + 128;
  static constexpr int filler_registers = 24, updater_registers = 64, multiplier_registers = 160;
  using dy_tile = copy::swizzled_tile<bfloat16, depth, rows>;
  using x_tile = copy::swizzled_tile<bfloat16, depth, columns>;
  static constexpr int slot_bytes = dy_tile::bytes + x_tile::bytes;
  using slots = copy::tile_ring<5, slot_bytes>;
  /// Rows of sums are 8 floats longer than a tile, so that stores of pairs use all banks.
  static constexpr int sum_pitch = columns + 8;
  /// Each warp that multiplies hands 8 rows over at once.
  static constexpr int part_rows = 32, parts = rows / part_rows;
  using sums = copy::tile_ring<2, part_rows * sum_pitch* static_cast<int>(sizeof(float))>;
  static constexpr std::size_t sums_offset = (slots::storage_bytes + 15) / 16 * 16;
  static constexpr int ahead = 2;
  static constexpr int row_floats = 3 * columns;  ///< weights, first and second moments
  /// The multipliers' turns: at the tensor cores, and at handing over.
  static constexpr std::size_t turns_offset = sums_offset + sums::storage_bytes;
  static constexpr std::size_t rows_offset =
      (turns_offset + 4 * sizeof(std::uint64_t) + 15) / 16 * 16;
  static constexpr std::size_t shared_bytes =
      rows_offset + std::size_t{updaters} / 32 * ahead * row_floats * sizeof(float);
  /// The place of the eight rows that are handed over as the `n`-th, in units of eight rows. A half
  /// of the tile has 16 rows of each of four warps: a part has the first 8 of them, or the others.
  static constexpr __host__ __device__ int place_of(int n) {
    return n / 8 * 8 + n % 4 * 2 + n / 4 % 2;
  }
};

/// A weight of a launch, as the kernel sees it.
struct update_target {
  CUtensorMap dy, x;
  kernels::split_pointer weights;
  float *first, *second;
  int out, in;
  int first_tile;    ///< of the launch
  int tiles_across;  ///< in a row of tiles
};

/// The weights of one launch. A parameter of this type is `__grid_constant__`, since bulk copies
/// read the maps in place.
struct update_group {
  static constexpr int most = 12;  ///< all parameters of a kernel have 4 KiB
  update_target of[most];
  int count = 0;
  int tiles = 0;
  int slots = 0;  ///< of the ring, for each tile
};

namespace kernels {

/// A tile of a launch: its weight, and the first row and column there.
struct update_place {
  int which, row, column;

  template <class Tile>
  __device__ static update_place of(update_group const& group, int tile) {
    int which = 0;
    while (which + 1 < group.count && tile >= group.of[which + 1].first_tile) { ++which; }
    int const inside = tile - group.of[which].first_tile;
    int const across = group.of[which].tiles_across;
    return {which, inside / across * Tile::rows, inside % across * Tile::columns};
  }
};

}  // namespace kernels
}  // namespace assay::nn
