// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the blocks of `ring_push` and `ring_two_shot` have in common: how they are made up, which
/// tiles an item has.
#pragma once

#include <assay/comm/all_reduce_push.cuh>
#include <assay/core/ptx.cuh>

#include <cstdint>

namespace assay::comm {

/// How a block of a ring is made up: groups of threads that move tiles in turn, a pack each, and
/// two warps that load for them or see to flags.
struct ring_block {
  static constexpr unsigned groups = 4;
  static constexpr unsigned group_threads = ring_tile_packs;
  static constexpr unsigned group_warps = group_threads / 32;
  static constexpr unsigned movers = groups * group_threads;
  static constexpr unsigned threads = movers + 2 * 32;
  __device__ static bool moves() { return threadIdx.x < movers; }
  __device__ static bool in_loading_warp() { return !moves() && threadIdx.x < movers + 32; }
  __device__ static bool in_flag_warp() { return threadIdx.x >= movers + 32; }
  /// Tiles that a sender has loaded ahead: 28 KiB, 1 us of the most that one SM sent.
  static constexpr unsigned stages = 8;
  static_assert(stages % groups == 0, "a stage belongs to one group");
};

namespace detail {

/// Waits for the end of the phase of a barrier in shared memory that is the `turn`-th of its kind.
__device__ inline void await_phase(std::uint64_t* barrier, unsigned turn) {
  ptx::await_parity(barrier, turn % 2);
}

/// Whether who reduces a tile overwrites what this rank sends, so that it waits until that is
/// loaded: in place, but for two shots, where it reduces what is not sent.
template <bool TwoShot, class T>
__device__ bool overwrites_input(channel<T> const& here) {
  return !TwoShot && here.call.in[here.me] == here.call.out[here.me];
}

/// What the blocks of both kinds know of an operation: its items are [0, `items()`), the tiles of
/// the message [0, `tiles()`).
template <class T>
class ring_tiles {
 public:
  __device__ explicit ring_tiles(channel<T> const& here) : here_(here), call_(here.call) {
    auto const now = __ldcg(reinterpret_cast<uint4 const*>(state()));
    before_ = {now.x, now.y, now.z, now.w, 0};
    last_packs_ = static_cast<unsigned>(call_.grid.packs - begin(tiles() - 1));
  }

  __device__ unsigned tiles() const { return call_.ring.tiles; }
  __device__ unsigned items() const { return call_.ring.items; }
  __device__ std::uint64_t begin(unsigned tile) const {
    return std::uint64_t{tile} * ring_tile_packs;
  }
  /// None where a slice has fewer tiles than another.
  __device__ unsigned packs(unsigned tile) const {
    if (tile + 1 < tiles()) { return ring_tile_packs; }
    return tile < tiles() ? last_packs_ : 0;
  }
  /// The tile of an item of two shots that a rank reduces.
  __device__ unsigned tile_of(int rank, unsigned item) const {
    return static_cast<unsigned>(rank) * items() + item;
  }
  /// The number of an item among those of all operations, and where it is in any ring.
  __device__ unsigned number(unsigned item) const { return before_.items + item; }
  __device__ unsigned slot(unsigned item) const { return (before_.slot + item) % call_.ring.slots; }
  /// The slot of an item that is `further` than the one of `slot`.
  __device__ unsigned slot_after(unsigned slot, unsigned further) const {
    for (slot += further; slot >= call_.ring.slots;) { slot -= call_.ring.slots; }
    return slot;
  }
  /// Where a rank has what another sent it, a tile in each slot.
  __device__ uint4* tile_at(int rank, int from, unsigned slot) const {
    return here_.ring(rank, from) + slot * ring_tile_packs;
  }
  __device__ uint4* sum_at(int rank, int from, unsigned slot) const {
    return tile_at(rank, from, call_.ring.slots + slot);
  }

  /// Where `overwrites_input`: raised to `loaded_number` once the item in a slot is loaded. It
  /// orders nothing, as nothing is read that was written.
  __device__ unsigned* loaded_flag(unsigned slot) const {
    return own_word(call_.at.ring_loaded_at + slot * sector_bytes);
  }
  __device__ unsigned loaded_number(unsigned item) const { return number(item) + 1; }

  /// By a thread of each block, once all its threads have read the state: the last leaves what the
  /// next operation begins with.
  __device__ void count() const {
    __threadfence();
    if (atomicAdd(&state()->readers, 1U) + 1 != gridDim.x) { return; }
    __threadfence();
    *state() = {before_.items + items(), slot(items()), before_.tickets + call_.ring.tickets,
                gridDim.x, 0};
  }

 protected:
  __device__ ring_state* state() const {
    return reinterpret_cast<ring_state*>(here_.of_rank(here_.me, call_.at.ring_state_at));
  }
  __device__ unsigned* own_word(std::size_t offset) const {
    return reinterpret_cast<unsigned*>(here_.of_rank(here_.me, offset));
  }
  /// What failures name the operation by.
  __device__ unsigned epoch() const { return before_.items + 1; }
  __device__ unsigned reducers() const { return gridDim.x - call_.ring.senders; }
  __device__ static unsigned lane() { return threadIdx.x % 32; }
  __device__ static unsigned group() { return threadIdx.x / ring_block::group_threads; }
  __device__ static unsigned pack_of_thread() { return threadIdx.x % ring_block::group_threads; }

  channel<T> const& here_;
  all_reduce_call<T> const& call_;
  ring_state before_;

 private:
  unsigned last_packs_;
};

}  // namespace detail

}  // namespace assay::comm
