// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transformer. The tiles of products with SwiGLU, and what they make of their sums.
#pragma once

#include <assay/copy/tile_layout.hpp>
#include <assay/copy/tile_ring.cuh>
#include <assay/core/bfloat16.hpp>
#include <assay/kernel/mma.cuh>
#include <assay/nn/swiglu.cuh>
#include <assay/nn/vectors.cuh>

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::nn {

/// A product as the kernel sees it: tokens times weights.
struct swiglu_call {
  CUtensorMap tokens, weights;
  CUtensorMap gate, up;  ///< of the backward pass
  bfloat16* sums;        ///< gate and up side by side, or their gradients
  bfloat16* gated;       ///< of the forward pass
  int rows, width;       ///< of gate, and of up
  int slots;             ///< of the ring, for each tile
  int tiles, tiles_down;
};

namespace detail {

/// What tiles of both passes share: 128 rows, summed over slots of 64. Two warpgroups multiply in
/// turn: while one has the tensor cores, the other applies SwiGLU to its sums. Threads of a third
/// fill the rings. A block begins with 168 registers a thread: 24 + 2 x 240 = 3 x 168.
struct swiglu_tile {
  static constexpr int rows = 128, depth = 64;
  static constexpr int multipliers = 256, threads = multipliers + 128, warps = multipliers / 32;
  static constexpr int filler_registers = 24, multiplier_registers = 240;
  /// The multipliers' turns: at the tensor cores, and at the chunks of the backward pass.
  static constexpr std::size_t turns_bytes = 4 * sizeof(std::uint64_t);
  using token_tile = copy::swizzled_tile<bfloat16, rows, depth>;
};

constexpr std::size_t multiple_of(std::size_t step, std::size_t bytes) {
  return (bytes + step - 1) / step * step;
}

}  // namespace detail

/// A tile of the forward pass: 80 columns of gate and as many of up. The weights of both are next
/// to each other in a slot, as one operand. On an H200, 64 columns of both took 5 % longer in xl,
/// and 3 % less in medium.
struct gated_tile : detail::swiglu_tile {
  static constexpr bool is_backward = false;
  static constexpr int width = 80, sums = 2 * width;
  using weight_tile = copy::swizzled_tile<bfloat16, width, depth>;
  static constexpr int slot_bytes = token_tile::bytes + 2 * weight_tile::bytes;
  using slots = copy::tile_ring<5, slot_bytes>;
  /// 16 rows of gate or of up in bfloat16. The 16 bytes between rows spread these over all banks.
  static constexpr int pitch = width * 2 + 16, staged_rows = 16 * pitch;
  __device__ static int staged_offset(int row, int chunk) { return row * pitch + chunk * 16; }

  static constexpr std::size_t staged_at = detail::multiple_of(16, slots::storage_bytes);
  static constexpr std::size_t turns_at = staged_at + std::size_t{warps} * 2 * staged_rows;
  static constexpr std::size_t shared_bytes = turns_at + turns_bytes;
};

/// A tile of the backward pass: 128 columns of the gradients of gate and of up, for which gate and
/// up come in chunks of 64 x 64, beside the products. On an H200, 160 columns took 7 to 44 %
/// longer, and 192 were 2 % faster to 6 % slower.
struct gate_gradient_tile : detail::swiglu_tile {
  static constexpr bool is_backward = true;
  static constexpr int width = 128, sums = width;
  using chunk = copy::swizzled_tile<bfloat16, 64, 64>;
  static constexpr int chunks_across = width / chunk::cols, chunks_in_tile = 2 * chunks_across;
  using weight_tile = copy::swizzled_tile<bfloat16, depth, width>;
  static constexpr int slot_bytes = token_tile::bytes + weight_tile::bytes;
  using slots = copy::tile_ring<5, slot_bytes>;
  using chunks = copy::tile_ring<3, 2 * chunk::bytes>;
  /// 16 rows by 64 columns of the gradient of what SwiGLU made.
  static constexpr int staged_rows = 16 * chunk::row_bytes;
  __device__ static int staged_offset(int row, int column) {
    return chunk::chunk_offset(0, row, column);
  }

  static constexpr std::size_t chunks_at =
      detail::multiple_of(chunk::alignment, slots::storage_bytes);
  static constexpr std::size_t staged_at =
      detail::multiple_of(128, chunks_at + chunks::storage_bytes);
  static constexpr std::size_t turns_at = staged_at + std::size_t{warps} * staged_rows;
  static constexpr std::size_t shared_bytes = turns_at + turns_bytes;
};

namespace kernels {

/// The first row and column of a tile. Tiles go down, so that blocks which run at the same time
/// read few weights.
struct swiglu_place {
  int row, column;

  template <class Tile>
  __device__ static swiglu_place of(swiglu_call const& call, int tile) {
    return {tile % call.tiles_down * Tile::rows, tile / call.tiles_down * Tile::width};
  }
};

/// Rounds `Columns` columns of a warp's 16 rows, from sum `First` of each thread on, into shared
/// memory.
template <class Tile, int First, int Columns, std::size_t Count>
__device__ void stage_rows(float const (&sum)[Count], std::byte* to) {
  int const lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < Columns / 16; ++i) {
    unsigned words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      int const pair = First + 8 * i + 2 * w;
      words[w] = kernel::as_bfloat16_pair(sum[pair], sum[pair + 1]);
    }
    kernel::store_matrices(to + Tile::staged_offset(lane % 16, 2 * i + lane / 16), words);
  }
}

/// Stores gate and up of a warp's 16 rows of a tile, and what SwiGLU makes of them. Two groups of
/// elements at once hide each other's latency.
template <class Tile, std::size_t Count>
__device__ void store_gated(swiglu_call const& call, int row, int column, float const (&sum)[Count],
                            std::byte* staged) {
  constexpr int groups = Tile::width / 8;
  stage_rows<Tile, 0, Tile::width>(sum, staged);
  stage_rows<Tile, Tile::width / 2, Tile::width>(sum, staged + Tile::staged_rows);
  __syncwarp();
#pragma unroll 2
  for (int i = 0; i < groups / 2; ++i) {
    int const group = i * 32 + static_cast<int>(threadIdx.x % 32);
    int const r = row + group / groups, c = column + group % groups * 8;
    auto const* const from = staged + Tile::staged_offset(group / groups, group % groups);
    auto const gate = *reinterpret_cast<uint4 const*>(from);
    auto const up = *reinterpret_cast<uint4 const*>(from + Tile::staged_rows);
    float a[8], b[8], out[8];
    load(reinterpret_cast<bfloat16 const*>(&gate), a);
    load(reinterpret_cast<bfloat16 const*>(&up), b);
    gate_elements(a, b, out);
    if (r < call.rows && c < call.width) {
      auto const at = static_cast<std::size_t>(r) * static_cast<std::size_t>(call.width);
      *reinterpret_cast<uint4*>(call.sums + 2 * at + c) = gate;
      *reinterpret_cast<uint4*>(call.sums + 2 * at + call.width + c) = up;
      store(call.gated + at + c, out);
    }
  }
  __syncwarp();
}

/// Stores the gradients of gate and up for a warp's 16 rows of a chunk, from the gradient of what
/// SwiGLU made, in `staged`.
template <class Tile>
__device__ void store_gradients(swiglu_call const& call, int row, int column,
                                std::byte const* chunk, std::byte const* staged) {
  constexpr int groups = Tile::chunk::cols / 8;
  int const first = static_cast<int>(threadIdx.x / 32 % 4) * 16;
#pragma unroll 2
  for (int i = 0; i < groups / 2; ++i) {
    int const group = i * 32 + static_cast<int>(threadIdx.x % 32);
    int const in_row = group / groups, r = row + in_row, c = column + group % groups * 8;
    auto const* const from = chunk + Tile::chunk::chunk_offset(0, first + in_row, group % groups);
    float a[8], b[8], d[8];
    load(reinterpret_cast<bfloat16 const*>(from), a);
    load(reinterpret_cast<bfloat16 const*>(from + Tile::chunk::bytes), b);
    load(reinterpret_cast<bfloat16 const*>(staged + Tile::staged_offset(in_row, group % groups)),
         d);
    gate_gradients(a, b, d);
    if (r < call.rows && c < call.width) {
      auto const at = 2 * static_cast<std::size_t>(r) * static_cast<std::size_t>(call.width) + c;
      store(call.sums + at, a);
      store(call.sums + at + call.width, b);
    }
  }
}

}  // namespace kernels
}  // namespace assay::nn
