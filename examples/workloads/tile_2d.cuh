// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tiles of matrices into shared memory, by every copy strategy into the same layout.
#pragma once

#include <assay/copy/matrix_view.hpp>
#include <assay/copy/tensor_map.hpp>
#include <assay/copy/tile_layout.hpp>

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::copy {

/// A matrix as a source of tiles, for threads and for bulk copies. A parameter of this type is
/// `__grid_constant__`, since bulk copies read the map in place.
template <class T>
struct tile_source {
  matrix_view<T> view;
  CUtensorMap map;  ///< used by `copy::bulk` alone
};

/// A matrix as a source of tiles of type `Tile`; `mapped` where `copy::bulk` will use it. Throws
/// `std::invalid_argument` for a matrix whose rows do not begin at multiples of 16 bytes.
template <class Tile>
tile_source<typename Tile::value_type> source_of(matrix_view<typename Tile::value_type> const& view,
                                                 bool mapped) {
  require_chunked(view);
  return {view, mapped ? tensor_map(view, Tile::rows) : CUtensorMap{}};
}

/// Copies tiles by `Threads` threads, each 16 bytes at a time; what lies outside the matrix becomes
/// zero.
template <class Tile, int Threads>
class chunk_loader {
  using value = typename Tile::value_type;
  using share = chunk_share<Tile, Threads>;
  static constexpr int in_chunk = 16 / static_cast<int>(sizeof(value));

 public:
  static constexpr int chunks = share::count;  ///< for each thread

  /// For the tile that begins at (row, col) of the matrix.
  __device__ chunk_loader(matrix_view<value> const& from, int row, int col, int rank)
      : first_(from.first + (std::int64_t{row} + share::row(0, rank)) * from.pitch + col +
               share::chunk(rank) * in_chunk),
        pitch_(from.pitch),
        rows_left_(from.rows - row - share::row(0, rank)),
        cols_left_(from.cols - col - share::chunk(rank) * in_chunk) {}

  /// True where the whole tile lies in the matrix, so that chunks need no test of their own. All
  /// threads that share a row of chunks get the same answer, and nearly always all threads.
  __device__ bool inside() const {
    return rows_left_ > share::row(chunks - 1, 0) && cols_left(chunks - 1) >= in_chunk;
  }

  /// Starts an asynchronous copy of chunk `j` of a tile inside the matrix (LDGSTS).
  __device__ void start(int j, std::byte* tile, int rank) const {
    __pipeline_memcpy_async(place(j, tile, rank), at(j), 16);
  }

  /// Chunk `j` of a tile inside the matrix, in a register, by loads of `VectorBytes`.
  template <int VectorBytes>
  __device__ uint4 fetch(int j) const {
    using word = std::conditional_t<VectorBytes == 16, uint4,
                                    std::conditional_t<VectorBytes == 8, uint2, unsigned>>;
    struct alignas(16) words {
      word at[16 / VectorBytes];
    } all;
#pragma unroll
    for (int k = 0; k < 16 / VectorBytes; ++k) {
      all.at[k] = reinterpret_cast<word const*>(at(j))[k];
    }
    return __builtin_bit_cast(uint4, all);
  }

  /// Loads chunk `j` of any tile element by element.
  __device__ uint4 fetch_part(int j) const {
    struct alignas(16) elements {
      value at[in_chunk];
    } held{};
    int const columns = share::row(j, 0) < rows_left_ ? cols_left(j) : 0;
#pragma unroll
    for (int e = 0; e < in_chunk; ++e) {
      if (e < columns) { held.at[e] = at(j)[e]; }
    }
    return __builtin_bit_cast(uint4, held);
  }

  __device__ static void store(int j, std::byte* tile, int rank, uint4 const& held) {
    *reinterpret_cast<uint4*>(place(j, tile, rank)) = held;
  }

 private:
  __device__ value const* at(int j) const {
    return first_ + (share::row(j, 0)) * pitch_ + share::panel(j) * Tile::panel_cols;
  }
  __device__ static std::byte* place(int j, std::byte* tile, int rank) {
    return tile + Tile::chunk_offset(share::panel(j), share::row(j, rank), share::chunk(rank));
  }
  __device__ int cols_left(int j) const { return cols_left_ - share::panel(j) * Tile::panel_cols; }

  value const* first_;
  std::int64_t pitch_;
  int rows_left_;
  int cols_left_;
};

}  // namespace assay::copy
