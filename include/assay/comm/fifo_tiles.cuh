// SPDX-License-Identifier: Apache-2.0
/// @file
/// The common parts of sender and reducer blocks: their warps, and the tiles of an item.
#pragma once

#include <assay/comm/all_reduce_lamport.cuh>
#include <assay/core/ptx.cuh>

#include <cstdint>

namespace assay::comm {

/// The threads of a FIFO block: groups that copy tiles in turn, one vec16 for each thread, then the
/// load warp and the flag warp.
struct fifo_block {
  static constexpr unsigned groups = 4;
  static constexpr unsigned group_threads = fifo_tile_vecs;
  static constexpr unsigned group_warps = group_threads / 32;
  static constexpr unsigned copy_threads = groups * group_threads;
  static constexpr unsigned threads = copy_threads + 2 * 32;
  __device__ static bool in_copy_warp() { return threadIdx.x < copy_threads; }
  __device__ static bool in_load_warp() {
    return !in_copy_warp() && threadIdx.x < copy_threads + 32;
  }
  __device__ static bool in_flag_warp() { return threadIdx.x >= copy_threads + 32; }
  /// Tiles that a sender loads ahead: 28 KiB, the bytes that the fastest SM sends in 1 us.
  static constexpr unsigned stages = 8;
  static_assert(stages % groups == 0, "a stage belongs to one group");
};

namespace detail {

/// Waits for the end of phase number `turn` of an mbarrier.
__device__ inline void await_phase(std::uint64_t* barrier, unsigned turn) {
  ptx::await_parity(barrier, turn % 2);
}

/// True where a reducer overwrites input that a sender of this rank must load first: in place, by
/// `fifo_one_shot`. In two shots, a rank does not send the slice that it reduces.
template <bool TwoShot, class T>
__device__ bool overwrites_input(channel<T> const& here) {
  return !TwoShot && here.call.in[here.me] == here.call.out[here.me];
}

/// The numbering of an operation: items [0, `items()`) and tiles [0, `tiles()`).
template <class T>
class fifo_tiles {
 public:
  __device__ explicit fifo_tiles(channel<T> const& here) : here_(here), call_(here.call) {
    auto const now = __ldcg(reinterpret_cast<uint4 const*>(state()));
    before_ = {now.x, now.y, now.z, now.w, 0};
    last_vecs_ = static_cast<unsigned>(call_.grid.vecs - begin(tiles() - 1));
  }

  __device__ unsigned tiles() const { return call_.fifo.tiles; }
  __device__ unsigned items() const { return call_.fifo.items; }
  __device__ std::uint64_t begin(unsigned tile) const {
    return std::uint64_t{tile} * fifo_tile_vecs;
  }
  /// The vec16s of a tile; 0 where a slice has fewer tiles than another.
  __device__ unsigned vecs(unsigned tile) const {
    if (tile + 1 < tiles()) { return fifo_tile_vecs; }
    return tile < tiles() ? last_vecs_ : 0;
  }
  /// The tile that a rank reduces of an item in two shots.
  __device__ unsigned tile_of(int rank, unsigned item) const {
    return static_cast<unsigned>(rank) * items() + item;
  }
  /// The number of an item, counted over all operations.
  __device__ unsigned number(unsigned item) const { return before_.items + item; }
  /// The slot of an item, the same for every source.
  __device__ unsigned slot(unsigned item) const { return (before_.slot + item) % call_.fifo.slots; }
  /// The slot that is `further` slots after `slot`.
  __device__ unsigned slot_after(unsigned slot, unsigned further) const {
    for (slot += further; slot >= call_.fifo.slots;) { slot -= call_.fifo.slots; }
    return slot;
  }
  /// The tile in a slot of `rank` from another rank.
  __device__ uint4* tile_at(int rank, int from, unsigned slot) const {
    return here_.fifo(rank, from) + slot * fifo_tile_vecs;
  }
  __device__ uint4* sum_at(int rank, int from, unsigned slot) const {
    return tile_at(rank, from, call_.fifo.slots + slot);
  }

  /// The flag of a slot where `overwrites_input`: a sender stores `loaded_number` once it has
  /// loaded the item. Relaxed, since it publishes no data.
  __device__ unsigned* loaded_flag(unsigned slot) const {
    return own_word(call_.at.fifo_loaded_at + slot * sector_bytes);
  }
  __device__ unsigned loaded_number(unsigned item) const { return number(item) + 1; }

  /// Called by a thread of each block, once all its threads have read the state. The last block
  /// writes the state for the next operation.
  __device__ void count() const {
    __threadfence();
    if (atomicAdd(&state()->readers, 1U) + 1 != gridDim.x) { return; }
    __threadfence();
    *state() = {before_.items + items(), slot(items()), before_.tickets + call_.fifo.tickets,
                gridDim.x, 0};
  }

 protected:
  __device__ fifo_state* state() const {
    return reinterpret_cast<fifo_state*>(here_.in_workspace(here_.me, call_.at.fifo_state_at));
  }
  __device__ unsigned* own_word(std::size_t offset) const {
    return reinterpret_cast<unsigned*>(here_.in_workspace(here_.me, offset));
  }
  /// The epoch that failures name.
  __device__ unsigned epoch() const { return before_.items + 1; }
  __device__ unsigned reducers() const { return gridDim.x - call_.fifo.senders; }
  __device__ static unsigned lane() { return threadIdx.x % 32; }
  __device__ static unsigned group() { return threadIdx.x / fifo_block::group_threads; }
  __device__ static unsigned vec_of_thread() { return threadIdx.x % fifo_block::group_threads; }

  channel<T> const& here_;
  all_reduce_call<T> const& call_;
  fifo_state before_;

 private:
  unsigned last_vecs_;
};

}  // namespace detail

}  // namespace assay::comm
