// SPDX-License-Identifier: Apache-2.0
/// @file
/// How far ahead the blocks of `ring_push` and `ring_two_shot` may send.
#pragma once

#include <assay/comm/ring_tiles.cuh>

namespace assay::comm::detail {

/// A template, so that what older architectures do not have is not looked for there.
template <class Int>
__device__ Int least_of_warp(Int value) {
  return __reduce_min_sync(0xFFFFFFFFU, value);
}

/// A warp's view of the slots that it sends to. One warp looks for all at first; each looks again
/// when it has come to the end of those that were clear, which is once in a round of slots.
template <class T>
class ring_window : public ring_tiles<T> {
  using base = ring_tiles<T>;

 protected:
  using base::before_, base::call_, base::here_;
  using base::epoch, base::items, base::lane;

  /// `first`: a word of shared memory. With `heeds_itself`, what this rank has not cleared is in
  /// the way too: so that flags of its slots do not go on before it has seen them.
  __device__ ring_window(channel<T> const& here, int& first, bool heeds_itself)
      : base(here), first_(first), heeds_itself_(heeds_itself) {}

  /// By a warp, before the block's threads meet.
  __device__ void look_first() {
    look();
    if (lane() == 0) { first_ = sendable_; }
  }
  /// By each thread that sends, after they have.
  __device__ void begin_sending() { sendable_ = first_; }

  /// By a warp: waits until an item may be sent.
  __device__ void await_sendable(unsigned item) {
    if (may_send(item)) { return; }
    look();
    for (auto patience = here_.patience(); !may_send(item); look()) {
      if (!__any_sync(0xFFFFFFFFU, here_.noted.kind != 0 || !patience.more())) { continue; }
      // Its own blocks are named where no other rank is late: they may wait for that one.
      auto const who = static_cast<int>(lane());
      bool const other = is_late_ && who != here_.me;
      bool const others = __any_sync(0xFFFFFFFFU, other);
      if (other || (is_late_ && !others)) { here_.fail(failure_kind::timed_out, who, epoch()); }
      sendable_ = static_cast<int>(items());
      return;
    }
  }

 private:
  __device__ bool may_send(unsigned item) const { return static_cast<int>(item) < sendable_; }

  /// What all whom it heeds have told, a lane for each. Items before the least of it, or those of
  /// operations before, are cleared. Those of another grid had other slots: then only that all are
  /// says which slots are clear.
  __device__ void look() {
    auto const from = static_cast<int>(lane());
    bool const heeded = from < call_.ranks && (from != here_.me || heeds_itself_);
    auto cleared = static_cast<int>(items());
    if (heeded) {
      cleared = static_cast<int>(wire::seen(here_.ring_told(here_.me, from)) - before_.items);
      if (call_.checked && cleared > static_cast<int>(items())) {
        here_.fail(failure_kind::corrupted, from, epoch());
      }
    }
    auto const least = least_of_warp(cleared);
    is_late_ = heeded && cleared == least;
    bool const of_other_grid = least < 0 && before_.blocks != gridDim.x;
    sendable_ = of_other_grid ? 0 : least + static_cast<int>(call_.ring.slots);
    __syncwarp();
  }

  int& first_;
  bool heeds_itself_;
  int sendable_ = 0;      ///< items before this one may be sent, as far as this warp knows
  bool is_late_ = false;  ///< whom this lane looks at has told the least
};

}  // namespace assay::comm::detail
