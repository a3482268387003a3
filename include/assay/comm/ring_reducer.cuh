// SPDX-License-Identifier: Apache-2.0
/// @file
/// The blocks of `ring_push` that reduce.
#pragma once

#include <assay/comm/ring_tiles.cuh>

#include <cstdint>

namespace assay::comm::detail {

/// A block that reduces: each group every `at_once()`-th tile.
template <class T, int Ranks>
class ring_reducer : public ring_tiles<T> {
  using base = ring_tiles<T>;
  using base::before_, base::call_, base::here_;
  using base::begin, base::epoch, base::group, base::in_place, base::lane, base::loaded_flag,
      base::pack_of_thread, base::number, base::packs, base::reducers, base::slot, base::slot_after,
      base::tiles;

 public:
  /// `cleared`: `ring_open_periods` barriers in shared memory. Collective over the block.
  __device__ ring_reducer(channel<T> const& here, std::uint64_t* cleared)
      : base(here), cleared_(cleared) {
    if (threadIdx.x < protocol::ring_open_periods) {
      ::cuda::ptx::mbarrier_init(cleared_ + threadIdx.x, ring_block::movers / 32);
    }
    __syncthreads();
  }

  /// By a warp: notes what this block has cleared. That of the first one tells all others what all
  /// have: at once of the operations before, then of each period.
  __device__ void tell() const {
    if (me() == 0) { raise(before_.tiles); }
    for (unsigned k = 0; k < call_.ring.periods; ++k) {
      auto const cleared = number((k + 1) * call_.ring.period);
      await_phase(barrier(k), k / protocol::ring_open_periods);
      if (me() != 0) {
        if (lane() == 0) { wire::raise(noted(me()), cleared, true); }
        continue;
      }
      for (auto other = 1 + lane(); other < reducers(); other += 32) {
        while (!wire::reached(wire::seen(noted(other)), cleared)) {}
      }
      __syncwarp();
      raise(cleared);
    }
  }

  /// By the movers: each group its tiles. What is added to the next is loaded while one is awaited.
  __device__ void reduce() {
    auto const j = pack_of_thread();
    auto const rounds = call_.ring.period / at_once();
    auto tile = group() * reducers() + me();
    auto at = slot(tile);
    uint4 own[1];
    load_own(own, tile);
    for (unsigned round = rounds, period = 0; tile < tiles(); tile += at_once()) {
      if (j < packs(tile)) { reduce_pack(own[0], tile, at); }
      load_own(own, tile + at_once());
      at = slot_after(at, at_once());
      if (--round > 0) { continue; }
      round = rounds;
      __syncwarp();
      if (lane() == 0) { ::cuda::ptx::mbarrier_arrive(barrier(period)); }
      ++period;
    }
  }

 private:
  __device__ unsigned me() const { return here_.block - call_.ring.senders; }
  __device__ unsigned at_once() const { return reducers() * ring_block::groups; }
  __device__ std::uint64_t* barrier(unsigned period) const {
    return cleared_ + period % protocol::ring_open_periods;
  }

  __device__ unsigned* noted(unsigned reducer) const {
    auto const at = here_.of_rank(here_.me, call_.at.ring_cleared_at);
    return reinterpret_cast<unsigned*>(at) + reducer;
  }
  __device__ void raise(unsigned cleared) const {
    auto const to = static_cast<int>(lane());
    if (to < call_.ranks && to != here_.me) {
      wire::raise(here_.ring_told(to, here_.me), cleared, true);
    }
  }

  __device__ void load_own(uint4 (&own)[1], unsigned tile) const {
    if (tile >= tiles()) { return; }
    auto const at = begin(tile);
    load_packs(own, call_.in[here_.me], call_.grid, at + pack_of_thread(), 0, at + packs(tile));
  }

  __device__ void reduce_pack(uint4 const& own, unsigned tile, unsigned slot) const {
    auto const j = pack_of_thread();
    uint4 pack[Ranks];
    auto const is_other = [&](int rank) { return rank < call_.ranks && rank != here_.me; };
    auto const from = [&](int rank) {
      return here_.ring(here_.me, rank) + slot * ring_tile_packs + j;
    };
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (is_other(rank)) { pack[rank] = wire::load(from(rank)); }
    }
    if (in_place()) {
      await(
          here_, here_.me, epoch(), [&] { return wire::look(loaded_flag(slot)); },
          [&](unsigned loaded) { return loaded == number(tile) + 1; });
    }
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (!is_other(rank)) {
        pack[rank] = wire::disguised(own);
      } else if (!wire::arrived(pack[rank])) {
        pack[rank] = await_lamport(here_, from(rank), rank, epoch());
      }
    }
    store_pack(call_.out[here_.me], call_.grid, begin(tile) + j,
               narrowed<T>(reduced<T>(pack, call_.ranks, call_.how)));
    auto const none = protocol::unwritten;
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (is_other(rank)) { wire::store(from(rank), uint4{none, none, none, none}); }
    }
  }

  std::uint64_t* cleared_;
};

}  // namespace assay::comm::detail
