// SPDX-License-Identifier: Apache-2.0
/// @file
/// The common parts of sender and reducer blocks of `fifo_one_shot` and `fifo_two_shot`: their
/// warps, the tiles of an item, and credit-based flow control.
#pragma once

#include <assay/comm/all_reduce_lamport.cuh>
#include <assay/core/ptx.cuh>

#include <cstddef>
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

/// A template, so that code for older architectures does not look for the instruction.
template <class Int>
__device__ Int warp_min(Int value) {
  return __reduce_min_sync(0xFFFFFFFFU, value);
}

/// A warp's credits: slots of the receivers that are free. One warp loads the first credits for its
/// block. Each warp loads credits again when it has used them, about once in a round of slots.
template <class T>
class flow_control : public fifo_tiles<T> {
  using base = fifo_tiles<T>;

 protected:
  using base::before_, base::call_, base::here_;
  using base::epoch, base::items, base::lane;

  /// `shared_credit_end`: a word of shared memory. With `waits_for_self`, credits also wait for
  /// this rank's own reducers, so that no flag of a slot is overwritten before they have read it.
  __device__ flow_control(channel<T> const& here, int& shared_credit_end, bool waits_for_self)
      : base(here), shared_credit_end_(shared_credit_end), waits_for_self_(waits_for_self) {}

  /// Called by a warp, before the block synchronises.
  __device__ void load_first_credits() {
    load_credits();
    if (lane() == 0) { shared_credit_end_ = credit_end_; }
  }
  /// Called by each thread that sends, after the block has synchronised.
  __device__ void take_first_credits() { credit_end_ = shared_credit_end_; }

  /// Called by a warp: waits for the credit to send an item.
  __device__ void await_credit(unsigned item) {
    if (has_credit(item)) { return; }
    load_credits();
    for (auto deadline = here_.deadline(); !has_credit(item); load_credits()) {
      if (!__any_sync(0xFFFFFFFFU, here_.failed.kind != 0 || !deadline.keep_waiting())) {
        continue;
      }
      // The failure names this rank's own blocks only where no other rank is late, since own blocks
      // may themselves wait for a late rank.
      auto const who = static_cast<int>(lane());
      bool const other = is_late_ && who != here_.me;
      bool const others = __any_sync(0xFFFFFFFFU, other);
      if (other || (is_late_ && !others)) { here_.fail(failure_kind::timed_out, who, epoch()); }
      credit_end_ = static_cast<int>(items());
      return;
    }
  }

 private:
  __device__ bool has_credit(unsigned item) const { return static_cast<int>(item) < credit_end_; }

  /// Loads the consumed counters of all receivers, one for each lane. Items before the least
  /// counter are consumed. After an operation with another grid, items had other slots: then
  /// credits begin when all items of that operation are consumed.
  __device__ void load_credits() {
    auto const from = static_cast<int>(lane());
    bool const counts = from < call_.ranks && (from != here_.me || waits_for_self_);
    auto consumed = static_cast<int>(items());
    if (counts) {
      consumed =
          static_cast<int>(sys::load_acquire(here_.fifo_consumed(here_.me, from)) - before_.items);
      if (call_.checked && consumed > static_cast<int>(items())) {
        here_.fail(failure_kind::corrupted, from, epoch());
      }
    }
    auto const least = warp_min(consumed);
    is_late_ = counts && consumed == least;
    bool const of_other_grid = least < 0 && before_.blocks != gridDim.x;
    credit_end_ = of_other_grid ? 0 : least + static_cast<int>(call_.fifo.slots);
    __syncwarp();
  }

  int& shared_credit_end_;
  bool waits_for_self_;
  int credit_end_ = 0;    ///< this warp may send items before this one
  bool is_late_ = false;  ///< this lane's receiver has the least counter
};

}  // namespace detail

}  // namespace assay::comm
