// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to transformer. The kernel of products with SwiGLU, for sm_90a.
#pragma once

#include <assay/copy/tensor_copy.cuh>
#include <assay/core/ptx.cuh>
#include <assay/kernel/warpgroup_turns.cuh>
#include <assay/kernel/wgmma.cuh>
#include <assay/transformer/swiglu_product_tile.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::nn::kernels {

/// One thread starts the bulk copies of tokens and weights for all tiles of a block, in order.
template <class Tile>
__device__ void fill_slots(typename Tile::slots const& ring, swiglu_call const& call) {
  using weight_tile = typename Tile::weight_tile;
  typename Tile::slots::position at;
  for (int tile = static_cast<int>(blockIdx.x); tile < call.tiles; tile += gridDim.x) {
    auto const [row, column] = swiglu_place::of<Tile>(call, tile);
    for (int slot = 0; slot < call.slots; ++slot, at.advance()) {
      ring.await_empty(at);
      auto* const full = ring.full(at);
      ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                             ::cuda::ptx::space_shared, full, Tile::slot_bytes);
      int const k = slot * Tile::depth;
      auto* const weights = ring.slot(at) + Tile::token_tile::bytes;
      copy::start_bulk<typename Tile::token_tile>(call.tokens, row, k, ring.slot(at), full);
      if constexpr (Tile::is_backward) {
        copy::start_bulk<weight_tile>(call.weights, k, column, weights, full);
      } else {
        copy::start_bulk<weight_tile>(call.weights, column, k, weights, full);
        copy::start_bulk<weight_tile>(call.weights, call.width + column, k,
                                      weights + weight_tile::bytes, full);
      }
    }
  }
}

/// Another thread starts the bulk copies of gate and up for the backward pass.
template <class Tile>
__device__ void fill_chunks(typename Tile::chunks const& ring, swiglu_call const& call) {
  using chunk = typename Tile::chunk;
  typename Tile::chunks::position at;
  for (int tile = static_cast<int>(blockIdx.x); tile < call.tiles; tile += gridDim.x) {
    auto const where = swiglu_place::of<Tile>(call, tile);
    for (int i = 0; i < Tile::chunks_in_tile; ++i, at.advance()) {
      ring.await_empty(at);
      auto* const full = ring.full(at);
      ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                             ::cuda::ptx::space_shared, full, 2 * chunk::bytes);
      int const row = where.row + i / Tile::chunks_across * chunk::rows;
      int const column = where.column + i % Tile::chunks_across * chunk::cols;
      copy::start_bulk<chunk>(call.gate, row, column, ring.slot(at), full);
      copy::start_bulk<chunk>(call.up, row, column, ring.slot(at) + chunk::bytes, full);
    }
  }
}

/// Starts the products of a slot, for both halves of its rows. Weights have their depth in rows in
/// the backward pass, and in columns in the forward pass.
template <class Tile, std::size_t Count>
__device__ void start_token_products(unsigned slot, float (&sum)[2][Count]) {
  constexpr unsigned eight_rows = 8 * 128, half = 64 * 128 / 16;
  unsigned leading = 16, step = 32 / 16;  // K-major: `leading` is ignored
  if constexpr (Tile::is_backward) {
    leading = Tile::weight_tile::panel_bytes;
    step = 2 * eight_rows / 16;
  }
  auto const a = kernel::wgmma_descriptor(slot, 16, eight_rows);
  auto const b = kernel::wgmma_descriptor(slot + Tile::token_tile::bytes, leading, eight_rows);
#pragma unroll
  for (unsigned i = 0; i < Tile::depth / 16; ++i) {
    if constexpr (Tile::is_backward) {
      kernel::wgmma_m64n128k16<false>(sum[0], a + i * 2, b + i * step);
      kernel::wgmma_m64n128k16<false>(sum[1], a + half + i * 2, b + i * step);
    } else {
      kernel::wgmma_m64n160k16(sum[0], a + i * 2, b + i * step);
      kernel::wgmma_m64n160k16(sum[1], a + half + i * 2, b + i * step);
    }
  }
}

/// Makes gradients of the sums of a tile, chunk by chunk from `I` on.
template <class Tile, int I = 0, std::size_t Count>
__device__ void store_chunks(typename Tile::chunks const& ring, typename Tile::chunks::position& at,
                             swiglu_call const& call, swiglu_place where,
                             float const (&sum)[2][Count], std::byte* staged) {
  constexpr int half = I / Tile::chunks_across, first = I % Tile::chunks_across * Tile::chunk::cols;
  stage_rows<Tile, first / 2, Tile::chunk::cols>(sum[half], staged);
  __syncwarp();
  ring.await_full(at);
  int const row = where.row + 64 * half + static_cast<int>(threadIdx.x / 32 % 4) * 16;
  store_gradients<Tile>(call, row, where.column + first, ring.slot(at), staged);
  __syncwarp();
  ring.release(at);
  at.advance();
  if constexpr (I + 1 < Tile::chunks_in_tile) {
    store_chunks<Tile, I + 1>(ring, at, call, where, sum, staged);
  }
}

/// Hands the sums of the tile of that number over to SwiGLU.
template <class Tile, std::size_t Count>
__device__ void apply_swiglu(unsigned char* storage, swiglu_call const& call, swiglu_place where,
                             int number, float const (&sum)[2][Count]) {
  int const warp = static_cast<int>(threadIdx.x / 32), own = warp / 4;
  auto* const staged = reinterpret_cast<std::byte*>(storage) + Tile::staged_at;
  if constexpr (Tile::is_backward) {
    kernel::warpgroup_turns const at_chunks{
        reinterpret_cast<std::uint64_t*>(storage + Tile::turns_at) + 2};
    typename Tile::chunks const chunks{storage + Tile::chunks_at};
    auto at = Tile::chunks::position::of(number * Tile::chunks_in_tile);
    at_chunks.await(own, number / 2);
    store_chunks<Tile>(chunks, at, call, where, sum, staged + warp * Tile::staged_rows);
    at_chunks.pass(own);
  } else {
    int const row = where.row + warp % 4 * 16;
    auto* const to = staged + warp * 2 * Tile::staged_rows;
    store_gated<Tile>(call, row, where.column, sum[0], to);
    store_gated<Tile>(call, row + 64, where.column, sum[1], to);
  }
}

/// The multipliers' part. A warpgroup has every second tile of the block. The one whose turn comes
/// starts its products behind the other's last ones, as in the kernel of `weight_update`.
template <class Tile>
__device__ void multiply_tiles(unsigned char* storage, swiglu_call const& call) {
  typename Tile::slots const ring{storage};
  kernel::warpgroup_turns const multiplying{
      reinterpret_cast<std::uint64_t*>(storage + Tile::turns_at)};
  int const own = static_cast<int>(threadIdx.x / 128);
  int turn = 0;
  for (int tile = static_cast<int>(blockIdx.x + own * gridDim.x); tile < call.tiles;
       tile += static_cast<int>(2 * gridDim.x), ++turn) {
    int const number = 2 * turn + own;
    float sum[2][Tile::sums / 2];
#pragma unroll
    for (float& each : sum[0]) { each = 0; }
#pragma unroll
    for (float& each : sum[1]) { each = 0; }
    auto at = Tile::slots::position::of(number * call.slots);
    int left = call.slots;
    multiplying.await(own, turn);
    kernel::wgmma_slots(ring, at, call.slots, sum, [&](unsigned slot) {
      start_token_products<Tile>(slot, sum);
      if (--left == 0) { multiplying.pass(own); }
    });
    apply_swiglu<Tile>(storage, call, swiglu_place::of<Tile>(call, tile), number, sum);
  }
}

/// All tiles of a call. The blocks take them in turn.
template <class Tile>
__global__ void __launch_bounds__(kernel::has_wgmma ? Tile::threads : 32, 1)
    swiglu_product_tiles(swiglu_call const __grid_constant__ call) {
  if constexpr (kernel::has_wgmma) {
    extern __shared__ __align__(1024) unsigned char swiglu_product_storage[];
    auto* const storage = swiglu_product_storage;
    typename Tile::slots const ring{storage};
    constexpr unsigned multiplying = 4;  // warps of the warpgroup whose turn it is
    if (threadIdx.x == 0) {
      ring.initialise(1, multiplying);
      if constexpr (Tile::is_backward) {
        typename Tile::chunks{storage + Tile::chunks_at}.initialise(1, 32 * multiplying);
      }
      auto* const turns = reinterpret_cast<std::uint64_t*>(storage + Tile::turns_at);
      for (int i = 0; i < 2; ++i) { kernel::warpgroup_turns{turns + 2 * i}.initialise(); }
    }
    __syncthreads();
    if (threadIdx.x < Tile::multipliers) {
      kernel::setmaxnreg_inc<Tile::multiplier_registers>();
      multiply_tiles<Tile>(storage, call);
    } else {
      kernel::setmaxnreg_dec<Tile::filler_registers>();
      if (threadIdx.x == Tile::multipliers) { fill_slots<Tile>(ring, call); }
      if constexpr (Tile::is_backward) {
        if (threadIdx.x == Tile::multipliers + 32) {
          fill_chunks<Tile>(typename Tile::chunks{storage + Tile::chunks_at}, call);
        }
      }
    }
  } else {
    __trap();  // not launched: `has_swiglu_product` is false
  }
}

}  // namespace assay::nn::kernels
