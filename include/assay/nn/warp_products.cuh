// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to fused attention: products by one warp of bf16 matrices that lie in tiles of shared
/// memory, or in its own sums.
///
/// A warp's sums are `float[Blocks][4]`: 16 rows, and 8 columns a block. With g = lane / 4 and t =
/// lane % 4 a lane has columns 2 t and 2 t + 1 of row g, then of row g + 8 (PTX ISA,
/// "mma.m16n8k16"). Two blocks of sums are in the same lanes as 16 columns of a left operand. So
/// sums of one product are the left operand of the next without leaving their registers.
#pragma once

#include <assay/core/bfloat16.hpp>
#include <assay/kernel/mma.cuh>

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace assay::nn::detail {

/// `Rows` rows of `Cols` elements of bf16, in chunks of 16 bytes: panels of 64 elements behind each
/// other, then one of 16 if there is a rest.
///
/// A chunk lies in other banks in each of eight rows. In rows of 128 bytes, three bits of the row
/// permute the chunks. In rows of 32 bytes, every other group of four rows exchanges its chunks.
/// `wgmma` reads such panels, as its modes of 128 and 32 bytes (PTX ISA, "Swizzling modes").
template <int Rows, int Cols>
struct row_tile {
  static constexpr int rows = Rows;
  static constexpr int cols = Cols;
  static constexpr int in_chunk = 8;
  static constexpr int chunks = Cols / in_chunk;
  static constexpr int panels = Cols / 64;
  static constexpr bool has_rest = Cols % 64 != 0;
  static constexpr int panel_row_bytes = 128;
  static constexpr int rest_row_bytes = 32;
  static constexpr int panel_bytes = Rows * panel_row_bytes;
  static constexpr int bytes = panels * panel_bytes + (has_rest ? Rows * rest_row_bytes : 0);
  static_assert(Rows % 16 == 0 && (Cols % 64 == 0 || Cols % 64 == 16));

  /// Where a chunk of a row of a panel is, or of the rest.
  template <int Chunks>
  __host__ __device__ static constexpr int offset_in(int row, int chunk) {
    return (row * Chunks + (Chunks == 8 ? chunk ^ (row & 7) : chunk ^ (row >> 2 & 1))) * 16;
  }
  __host__ __device__ static constexpr int offset(int row, int chunk) {
    int const panel = chunks > 8 ? chunk / 8 : 0;
    return panel * panel_bytes +
           (panel < panels ? offset_in<8>(row, chunk % 8) : offset_in<2>(row, chunk % 8));
  }
};

/// The lane of a thread in a block whose threads are numbered by x alone.
__device__ inline int lane_of_warp() { return static_cast<int>(threadIdx.x % 32); }

/// Starts asynchronous copies of a panel of `Chunks` chunks, as `start_rows` says.
template <class Tile, int Threads, int Chunks>
__device__ void start_panel(std::byte* panel, bfloat16 const* from, int stride, int rows) {
  constexpr int at_once = Threads / Chunks;  // rows, all permuted alike
  static_assert(at_once % 8 == 0 && Tile::rows % at_once == 0);
  int const row = static_cast<int>(threadIdx.x) / Chunks;
  int const chunk = static_cast<int>(threadIdx.x) % Chunks;
  panel += Tile::template offset_in<Chunks>(row, chunk);
  from += row * stride + chunk * Tile::in_chunk;
#pragma unroll
  for (int i = 0; i < Tile::rows; i += at_once) {
    auto const zeros = row + i < rows ? 0U : 16U;
    __pipeline_memcpy_async(panel + i * Chunks * 16, from + i * stride, 16, zeros);
  }
}

/// Starts asynchronous copies of a tile's rows by `Threads` threads. Rows are `stride` elements
/// apart. From `rows` on they become zero.
template <class Tile, int Threads>
__device__ void start_rows(std::byte* tile, bfloat16 const* from, int stride, int rows) {
#pragma unroll
  for (int i = 0; i < Tile::panels; ++i) {
    start_panel<Tile, Threads, 8>(tile + i * Tile::panel_bytes, from + i * 64, stride, rows);
  }
  if constexpr (Tile::has_rest) {
    start_panel<Tile, Threads, 2>(tile + Tile::panels * Tile::panel_bytes, from + Tile::panels * 64,
                                  stride, rows);
  }
}

/// 16 rows of a tile from `first` on, as a left operand that is read again at each use.
template <class Tile>
struct rows_in_shared {
  std::byte const* tile;
  int first;

  /// 16 columns from 16 * step on.
  __device__ void load(unsigned (&to)[4], int step) const {
    int const lane = lane_of_warp();
    kernel::load_matrices(to, tile + Tile::offset(first + lane % 16, 2 * step + lane / 16));
  }
};

/// The same, kept in registers.
template <class Tile>
class rows_in_registers {
 public:
  __device__ rows_in_registers(std::byte const* tile, int first) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      rows_in_shared<Tile>{tile, first}.load(held_[step], step);
    }
  }
  __device__ void load(unsigned (&to)[4], int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) { to[i] = held_[step][i]; }
  }

 private:
  static constexpr int steps = Tile::cols / 16;
  unsigned held_[static_cast<std::size_t>(steps)][4];
};

template <std::size_t Blocks>
__device__ void clear(float (&sum)[Blocks][4]) {
#pragma unroll
  for (int i = 0; i < int{Blocks * 4}; ++i) { sum[i / 4][i % 4] = 0; }
}

/// Where one of a lane's sums stands: its indices, and its row and column in the warp's matrix.
struct place_of_sum {
  int half, block, side;
  int row, column;
};

/// Calls `each(sum, place_of_sum)` for all sums of a lane.
template <std::size_t Blocks, class Each>
__device__ void for_each_sum(float (&sum)[Blocks][4], Each const& each) {
  int const lane = lane_of_warp();
#pragma unroll
  for (int i = 0; i < int{Blocks * 4}; ++i) {
    int const block = i / 4, half = i % 4 / 2, side = i % 2;
    each(sum[block][i % 4],
         place_of_sum{half, block, side, 8 * half + lane / 4, 8 * block + lane % 4 * 2 + side});
  }
}

/// Combines the values of the four lanes that share rows of sums.
template <class Combine>
__device__ float over_quad(float value, Combine const& combine) {
  value = combine(value, __shfl_xor_sync(0xFFFF'FFFFU, value, 1));
  return combine(value, __shfl_xor_sync(0xFFFF'FFFFU, value, 2));
}

/// sum += left x tile^T: the columns of the sums are rows of the tile, from `first` on.
template <class Tile, class Left, std::size_t Blocks>
__device__ void multiply_transposed(float (&sum)[Blocks][4], Left const& left,
                                    std::byte const* tile, int first) {
  int const lane = lane_of_warp();
#pragma unroll
  for (int step = 0; step < Tile::cols / 16; ++step) {
    unsigned a[4];
    left.load(a, step);
#pragma unroll
    for (int n = 0; n < int{Blocks}; n += 2) {
      unsigned b[4];  // of rows 0 to 7 and 8 to 15 the first 8 columns, then the other 8
      kernel::load_matrices(b,
                            tile + Tile::offset(first + 8 * n + lane % 16, 2 * step + lane / 16));
      kernel::mma_m16n8k16(sum[n], a, b[0], b[2]);
      kernel::mma_m16n8k16(sum[n + 1], a, b[1], b[3]);
    }
  }
}

/// sum += left x tile, where `left` are sums, rounded to bf16. Their columns meet the rows of the
/// tile from `first` on.
template <class Tile, std::size_t Blocks, std::size_t Inner>
__device__ void multiply(float (&sum)[Blocks][4], float const (&left)[Inner][4],
                         std::byte const* tile, int first) {
  static_assert(int{Blocks} == Tile::chunks);
  int const lane = lane_of_warp();
#pragma unroll
  for (int k = 0; k < int{Inner}; k += 2) {
    unsigned a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      auto const& from = left[k + i / 2];
      a[i] = kernel::as_bfloat16_pair(from[i % 2 * 2], from[i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int n = 0; n < int{Blocks}; n += 2) {
      unsigned b[4];  // of 8 columns the first 8 rows and the others, then of the next 8
      kernel::load_matrices_transposed(
          b, tile + Tile::offset(first + 8 * k + lane % 16, n + lane / 16));
      kernel::mma_m16n8k16(sum[n], a, b[0], b[1]);
      kernel::mma_m16n8k16(sum[n + 1], a, b[2], b[3]);
    }
  }
}

/// Stores a warp's sums as bf16, `factor` times each row: rows below `rows` of an array whose rows
/// are `stride` elements apart. They pass through the tile's rows from `first` on, which no other
/// warp may use, so that each lane stores 16 bytes.
template <class Tile, std::size_t Blocks>
__device__ void store_sums(bfloat16* to, int stride, int rows, std::byte* tile, int first,
                           float const (&sum)[Blocks][4], float const (&factor)[2]) {
  static_assert(int{Blocks} == Tile::chunks);
  int const lane = lane_of_warp();
  __syncwarp();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int n = 0; n < int{Blocks}; ++n) {
      auto* const at = tile + Tile::offset(first + 8 * half + lane / 4, n) + lane % 4 * 4;
      *reinterpret_cast<unsigned*>(at) = kernel::as_bfloat16_pair(
          sum[n][2 * half] * factor[half], sum[n][2 * half + 1] * factor[half]);
    }
  }
  __syncwarp();
#pragma unroll
  for (int at = lane; at < 16 * Tile::chunks; at += 32) {
    int const row = first + at / Tile::chunks, chunk = at % Tile::chunks;
    if (row >= rows) { continue; }
    *reinterpret_cast<uint4*>(to + (row * stride + chunk * Tile::in_chunk)) =
        *reinterpret_cast<uint4 const*>(tile + Tile::offset(row, chunk));
  }
}

/// 2^x, off by 2 roundings at most; below 2^-126 it is zero (PTX ISA, "ex2"). Minus infinity gives
/// zero.
template <class = void>
__device__ float power_of_two(float x) {
  float result = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace assay::nn::detail
