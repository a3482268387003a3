// SPDX-License-Identifier: Apache-2.0
/// @file
/// The order of the tiles of a product.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

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

}  // namespace assay::workloads
