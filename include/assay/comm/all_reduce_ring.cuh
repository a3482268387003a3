// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `all_reduce` that pushes tiles through a few slots: for messages of any size.
#pragma once

#include <assay/comm/all_reduce_push.cuh>
#include <assay/core/ptx.cuh>

#include <cstdint>

namespace assay::comm {

/// Threads that move packs, and a warp that tells the peers of full tiles: raising a flag waits for
/// all that was stored before, which nobody else has to.
inline constexpr unsigned ring_block_threads = ring_threads + 32;

namespace detail {

/// One block's part of a push in tiles: `i` counts those of this operation.
template <class T, int Ranks>
class ring_block {
 public:
  static constexpr int batch = static_cast<int>(ring_batch(Ranks));
  static constexpr unsigned tile_packs = ring_tile_packs(Ranks);

  /// `pushed`: a barrier in shared memory for each slot. Collective over the block.
  __device__ ring_block(channel<T> const& here, std::uint64_t* pushed)
      : here_(here),
        call_(here.call),
        pushed_(pushed),
        share_(share_at(call_, std::uint64_t{here.block} * call_.block_packs)),
        before_(here.counted_tiles()) {
    if (threadIdx.x < protocol::ring_slots) {
      ::cuda::ptx::mbarrier_init(pushed_ + threadIdx.x, ring_threads / 32);
    }
    __syncthreads();
  }

  __device__ unsigned tiles() const { return (share_.count + tile_packs - 1) / tile_packs; }

  /// Sends tile `i` to all others.
  __device__ void push(unsigned i) const {
    uint4 packs[batch];
    auto const at = i * tile_packs + threadIdx.x;
    load_packs(packs, call_.in[here_.me], call_.grid, share_.begin + at, ring_threads, end());
#pragma unroll
    for (int step = 1; step < Ranks; ++step) {
      if (step >= call_.ranks) { continue; }
      auto* const to = slot(here_.peer(step), here_.me, i) + threadIdx.x;
#pragma unroll
      for (int u = 0; u < batch; ++u) {
        if (at + u * ring_threads < share_.count) { wire::store(to + u * ring_threads, packs[u]); }
      }
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) { ::cuda::ptx::mbarrier_arrive(pushed_ + i % protocol::ring_slots); }
  }

  /// Waits for tile `i` of all others, and reduces it.
  __device__ void consume(unsigned i) {
    uint4 own[batch];
    auto const at = i * tile_packs + threadIdx.x;
    load_packs(own, call_.in[here_.me], call_.grid, share_.begin + at, ring_threads, end());
    await_tiles(here_, seen_, before_ + i + 1, protocol::ring_slots, 1);
    uint4 packs[batch][Ranks];
#pragma unroll
    for (int u = 0; u < batch; ++u) {
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        packs[u][rank] = own[u];
        if (rank >= call_.ranks || rank == here_.me || at + u * ring_threads >= share_.count) {
          continue;
        }
        auto const* const from = slot(here_.me, rank, i);
        packs[u][rank] = __ldcg(from + threadIdx.x + u * ring_threads);
      }
    }
#pragma unroll
    for (int u = 0; u < batch; ++u) {
      if (at + u * ring_threads >= share_.count) { continue; }
      store_pack(call_.out[here_.me], call_.grid, share_.begin + at + u * ring_threads,
                 narrowed<T>(reduced<T>(packs[u], call_.ranks, call_.how)));
    }
  }

  /// By the last warp, a lane for each other rank: tells it of each tile once all warps have sent
  /// theirs of it.
  __device__ void publish() const {
    auto const lane = static_cast<int>(threadIdx.x - ring_threads);
    auto const count = tiles();
    if (lane + 1 < call_.ranks) {
      auto* const flag = here_.ring_flag(here_.peer(lane + 1), here_.me);
      for (unsigned i = 0; i < count; ++i) {
        auto const turn = (i / protocol::ring_slots) % 2;
        while (!passed(pushed_ + i % protocol::ring_slots, turn)) {}
        wire::raise(flag, before_ + i + 1, true);
      }
    }
    if (lane == 0) { here_.state()->ring_tiles = before_ + count; }
  }

 private:
  __device__ std::uint64_t end() const { return share_.begin + share_.count; }

  __device__ static bool passed(std::uint64_t* barrier, unsigned turn) {
    if constexpr (ptx::architecture >= 90) {
      return ::cuda::ptx::mbarrier_try_wait_parity(barrier, turn);
    } else {
      return ::cuda::ptx::mbarrier_test_wait_parity(barrier, turn);
    }
  }

  __device__ uint4* slot(int rank, int from, unsigned i) const {
    return here_.ring_slot(rank, from, before_ + i, protocol::ring_slots, tile_packs);
  }

  channel<T> const& here_;
  all_reduce_call<T> const& call_;
  std::uint64_t* pushed_;
  block_share share_;
  unsigned before_;
  unsigned seen_ = before_;
};

}  // namespace detail

/// All to all, of any size: tiles into slots of the peers that come round again, by the rules of
/// `protocol::ring_slots`. No warp waits for another of its block.
template <class T, int Ranks>
__global__ void __launch_bounds__(ring_block_threads, 1)
    ring_push(__grid_constant__ all_reduce_call<T> const call) {
  __shared__ std::uint64_t pushed[protocol::ring_slots];
  channel<T> const here{call};
  require_agreement(here);
  detail::ring_block<T, Ranks> block{here, pushed};
  auto const tiles = block.tiles();
  if (threadIdx.x >= ring_threads) {
    block.publish();
  } else {
    unsigned consumed = 0;
    for (unsigned i = 0; i < tiles; ++i) {
      block.push(i);
      for (; consumed + wire::held_back(i, tiles) <= i; ++consumed) { block.consume(consumed); }
    }
  }
  here.report();
}

}  // namespace assay::comm
