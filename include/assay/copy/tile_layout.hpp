// SPDX-License-Identifier: Apache-2.0
/// @file
/// The layout of a two-dimensional tile in shared memory.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace assay::copy {

/// The position of chunk `chunk` of 16 bytes in a row of 128 bytes. This is the 128-byte swizzle of
/// tensor maps and `wgmma` (PTX ISA, "Swizzling modes"): address bits 4 to 6 exclusive-or bits 7 to
/// 9.
__host__ __device__ constexpr int swizzled_chunk(int row, int chunk) { return chunk ^ (row & 7); }

/// The number of tiles that cover a length.
constexpr int tiles_of(std::size_t length, int tile) {
  auto const step = static_cast<std::size_t>(tile);
  return static_cast<int>((length + step - 1) / step);
}

/// A tile of `Rows` x `Cols` elements as consecutive panels of 128 bytes by `Rows` rows, each
/// swizzled.
///
/// Eight threads that read one chunk of eight neighbouring rows, or eight chunks of one row, use
/// different banks. Copies of every strategy write this layout, and every core reads it.
template <class T, int Rows, int Cols>
struct swizzled_tile {
  using value_type = T;
  static constexpr int rows = Rows;
  static constexpr int cols = Cols;
  static constexpr int chunk_bytes = 16;
  static constexpr int row_bytes = 128;
  static constexpr int panel_cols = row_bytes / static_cast<int>(sizeof(T));
  static constexpr int panels = Cols / panel_cols;
  static constexpr int panel_bytes = Rows * row_bytes;
  static constexpr int bytes = panels * panel_bytes;
  /// The alignment of a panel: the pattern repeats every eight rows.
  static constexpr int alignment = 1024;
  static_assert(Rows % 8 == 0 && Cols % panel_cols == 0,
                "tiles are whole panels of whole patterns");

  /// The offset in bytes of chunk `chunk` of row `row` of a panel.
  __host__ __device__ static constexpr int chunk_offset(int panel, int row, int chunk) {
    return panel * panel_bytes + row * row_bytes + swizzled_chunk(row, chunk) * chunk_bytes;
  }
  /// The offset in bytes of an element.
  __host__ __device__ static constexpr int offset(int row, int col) {
    constexpr int in_chunk = chunk_bytes / static_cast<int>(sizeof(T));
    return chunk_offset(col / panel_cols, row, col % panel_cols / in_chunk) +
           col % in_chunk * static_cast<int>(sizeof(T));
  }
};

/// The `count` chunks of a tile that thread `rank` of `Threads` copies. Eight threads share a row
/// of a panel, and the chunks of a thread lie in one column of chunks.
template <class Tile, int Threads>
struct chunk_share {
  static constexpr int rows_at_once = Threads / 8;
  static constexpr int in_panel = Tile::rows / rows_at_once;
  static constexpr int count = in_panel * Tile::panels;
  static_assert(Threads % 8 == 0 && Tile::rows % rows_at_once == 0);

  __host__ __device__ static constexpr int panel(int j) { return j / in_panel; }
  __host__ __device__ static constexpr int row(int j, int rank) {
    return rank / 8 + j % in_panel * rows_at_once;
  }
  __host__ __device__ static constexpr int chunk(int rank) { return rank % 8; }
};

}  // namespace assay::copy
