// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nn. The kernel of `weight_update` for sm_90a: products of tiles whose sums become
/// steps of AdamW.
#pragma once

#include <assay/copy/tensor_copy.cuh>
#include <assay/core/ptx.cuh>
#include <assay/kernel/warpgroup_turns.cuh>
#include <assay/kernel/wgmma.cuh>
#include <assay/nn/adamw.cuh>
#include <assay/nn/weight_update_rows.cuh>
#include <assay/nn/weight_update_tile.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::nn {

namespace kernels {

/// One thread starts the bulk copies of all tiles of a block, in order.
template <class Tile>
__device__ void fill_slots(typename Tile::slots const& ring, update_group const& group) {
  typename Tile::slots::position at;
  for (int tile = static_cast<int>(blockIdx.x); tile < group.tiles; tile += gridDim.x) {
    auto const where = update_place::of<Tile>(group, tile);
    auto const& from = group.of[where.which];
    for (int slot = 0; slot < group.slots; ++slot, at.advance()) {
      ring.await_empty(at);
      auto* const full = ring.full(at);
      ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                             ::cuda::ptx::space_shared, full, Tile::slot_bytes);
      int const token = slot * Tile::depth;
      copy::start_bulk<typename Tile::dy_tile>(from.dy, token, where.row, ring.slot(at), full);
      copy::start_bulk<typename Tile::x_tile>(from.x, token, where.column,
                                              ring.slot(at) + Tile::dy_tile::bytes, full);
    }
  }
}

/// Starts the products of a slot, for both halves of its rows. Both operands have their tokens in
/// rows.
template <class Tile, std::size_t Count>
__device__ void start_products(unsigned slot, float (&sum)[2][Count]) {
  using dy = typename Tile::dy_tile;
  using x = typename Tile::x_tile;
  constexpr unsigned eight_tokens = 8 * 128, step = 2 * eight_tokens / 16;
  auto const a = kernel::wgmma_descriptor(slot, dy::panel_bytes, eight_tokens);
  auto const b = kernel::wgmma_descriptor(slot + dy::bytes, x::panel_bytes, eight_tokens);
#pragma unroll
  for (unsigned i = 0; i < Tile::depth / 16; ++i) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      kernel::wgmma_m64n128k16<true>(sum[half], a + half * (dy::panel_bytes / 16) + i * step,
                                     b + i * step);
    }
  }
}

/// Hands the sums of the tile of that number over, in shared memory. All threads arrive, as fast as
/// one of each warp behind `__syncwarp`, which racecheck takes for a race.
template <class Tile, std::size_t Count>
__device__ void hand_over(typename Tile::sums const& sums, int number, float (&sum)[2][Count]) {
  int const warp = static_cast<int>(threadIdx.x / 32 % 4);
  int const lane = static_cast<int>(threadIdx.x % 32);
  auto to = Tile::sums::position::of(number * Tile::parts);
#pragma unroll
  for (int part = 0; part < Tile::parts; ++part, to.advance()) {
    sums.await_empty(to);
    // A lane has pairs of two rows of each half, 8 apart: a part has one of them.
    auto* const mine = reinterpret_cast<float*>(sums.slot(to)) +
                       (warp * 8 + lane / 4) * Tile::sum_pitch + lane % 4 * 2;
    auto const& from = sum[part / 2];
#pragma unroll
    for (int i = 0; i < Tile::columns / 8; ++i) {
      int const pair = 4 * i + part % 2 * 2;
      *reinterpret_cast<float2*>(mine + 8 * i) = {from[pair], from[pair + 1]};
    }
    ::cuda::ptx::mbarrier_arrive(sums.full(to));
  }
}

/// The multipliers' part. A warpgroup has every second tile of the block. The one whose turn comes
/// starts its products behind the other's last ones, so the tensor cores do not wait. It waits for
/// slots in its turn alone: their barriers tell a round from the next, but not from later ones.
template <class Tile>
__device__ void multiply_tiles(typename Tile::slots const& ring, typename Tile::sums const& sums,
                               std::uint64_t* turns, update_group const& group) {
  kernel::warpgroup_turns const multiplying{turns}, handing_over{turns + 2};
  int const own = static_cast<int>(threadIdx.x / 128);
  int turn = 0;
  for (int tile = static_cast<int>(blockIdx.x + own * gridDim.x); tile < group.tiles;
       tile += static_cast<int>(2 * gridDim.x), ++turn) {
    int const number = 2 * turn + own;
    float sum[2][Tile::columns / 2];
#pragma unroll
    for (float& each : sum[0]) { each = 0; }
#pragma unroll
    for (float& each : sum[1]) { each = 0; }
    auto at = Tile::slots::position::of(number * group.slots);
    int left = group.slots;
    multiplying.await(own, turn);
    kernel::wgmma_slots(ring, at, group.slots, sum, [&](unsigned slot) {
      start_products<Tile>(slot, sum);
      if (--left == 0) { multiplying.pass(own); }
    });
    handing_over.await(own, turn);
    hand_over<Tile>(sums, number, sum);
    handing_over.pass(own);
  }
}

/// The steps of all weights of a group. The blocks take tiles in turn.
template <class Tile>
__global__ void __launch_bounds__(kernel::has_wgmma ? Tile::threads : 32, 1)
    weight_update_tiles(update_group const __grid_constant__ group, adamw_factors const* factors) {
  if constexpr (kernel::has_wgmma) {
    extern __shared__ __align__(1024) unsigned char weight_update_storage[];
    typename Tile::slots const ring{weight_update_storage};
    typename Tile::sums const sums{weight_update_storage + Tile::sums_offset};
    auto* const turns =
        reinterpret_cast<std::uint64_t*>(weight_update_storage + Tile::turns_offset);
    if (threadIdx.x == 0) {
      constexpr unsigned multiplying = 4;  // warps of the warpgroup whose turn it is
      ring.initialise(1, multiplying);
      sums.initialise(32 * multiplying, Tile::updaters);
      for (int i = 0; i < 2; ++i) { kernel::warpgroup_turns{turns + 2 * i}.initialise(); }
    }
    __syncthreads();
    if (threadIdx.x >= Tile::readers) {
      kernel::setmaxnreg_dec<Tile::filler_registers>();
      if (threadIdx.x == Tile::readers) { fill_slots<Tile>(ring, group); }
    } else if (threadIdx.x >= Tile::multipliers) {
      kernel::setmaxnreg_dec<Tile::updater_registers>();
      update_tiles<Tile>(sums, group, *factors,
                         reinterpret_cast<std::byte*>(weight_update_storage) + Tile::rows_offset);
    } else {
      kernel::setmaxnreg_inc<Tile::multiplier_registers>();
      multiply_tiles<Tile>(ring, sums, turns, group);
    }
  } else {
    __trap();  // not launched: `has_weight_update` is false
  }
}

}  // namespace kernels
}  // namespace assay::nn
