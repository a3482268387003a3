// SPDX-License-Identifier: Apache-2.0
/// @file
/// The assignment of a tile's elements to threads where FFMA multiplies.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

namespace assay::workloads {

/// A tile of `N` columns shared out to threads with `Rows` x `Cols` each: rows at distances of 8,
/// and columns in fours at distances of 16. A warp has 8 `Rows` x 4 `Cols`, and warps go along a
/// row first.
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
