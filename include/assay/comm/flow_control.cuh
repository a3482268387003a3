// SPDX-License-Identifier: Apache-2.0
/// @file
/// Credit-based flow control: the items that `fifo_one_shot` and `fifo_two_shot` may send.
#pragma once

#include <assay/comm/fifo_tiles.cuh>

namespace assay::comm::detail {

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

}  // namespace assay::comm::detail
