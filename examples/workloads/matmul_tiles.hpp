// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tiles of a product: their order, and the assignment of a tile's elements to threads.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

namespace assay::workloads {

/// C[m, n] = A[m, k] x B[k, n].
struct matmul_shape {
  int m = 0;
  int n = 0;
  int k = 0;
  bool operator==(matmul_shape const&) const = default;
};

/// A tile of the result, counted in tiles.
struct tile_position {
  int row = 0;
  int col = 0;
  bool operator==(tile_position const&) const = default;
};

/// Tiles of a grid of `rows` x `cols`, in bands of eight rows: down a band's column, then to the
/// next column. The tiles in work at once so share few rows of A and columns of B: 8 by 17 for 132
/// neighbours, which is nearly the minimum. These rows and columns stay in the L2 cache.
struct tile_rasterization {
  int rows = 0;
  int cols = 0;
  static constexpr int band = 8;

  __host__ __device__ constexpr int count() const { return rows * cols; }
  __host__ __device__ constexpr tile_position at(int index) const {
    int const in_band = band * cols;
    int const first = index / in_band * band;
    int const height = rows - first < band ? rows - first : band;
    int const inside = index % in_band;
    return {first + inside % height, inside / height};
  }
};

__host__ __device__ constexpr int tiles_over(int length, int tile) {
  return length / tile + (length % tile != 0 ? 1 : 0);
}

/// A tile of `N` columns shared out to threads where FFMA multiplies, with `Rows` x `Cols` each:
/// rows at distances of 8, and columns in fours at distances of 16. A warp has 8 `Rows` x 4 `Cols`,
/// and warps go along a row first.
template <int N, int Rows, int Cols>
struct thread_tiles {
  static constexpr int row_step = 8;
  static constexpr int col_step = 16;
  static constexpr int warp_rows = 8 * Rows;
  static constexpr int warp_cols = 4 * Cols;
  static constexpr int warps_across = N / warp_cols;
  static_assert(Cols % 4 == 0 && N % warp_cols == 0);

  /// The lanes of a warp are 8 x 4, numbered so that neighbours share a row, and lanes at distance
  /// 2 a column. Half a warp's loads of 16 bytes are one access then.
  __host__ __device__ static constexpr int lane_row(int lane) {
    return (lane >> 1 & 1) | (lane >> 2 & 6);
  }
  __host__ __device__ static constexpr int lane_col(int lane) {
    return (lane & 1) | (lane >> 1 & 2);
  }
  __host__ __device__ static constexpr int warp_row(int warp) {
    return warp / warps_across * warp_rows;
  }
  __host__ __device__ static constexpr int warp_col(int warp) {
    return warp % warps_across * warp_cols;
  }
  /// The row and the column of a thread's element (i, j) in the tile.
  __host__ __device__ static constexpr int row(int thread, int i) {
    return warp_row(thread / 32) + lane_row(thread % 32) + row_step * i;
  }
  __host__ __device__ static constexpr int col(int thread, int j) {
    return warp_col(thread / 32) + lane_col(thread % 32) * 4 + j / 4 * col_step + j % 4;
  }
};

}  // namespace assay::workloads
