// SPDX-License-Identifier: Apache-2.0
/// @file
/// The memory that a rank of `all_reduce` keeps for its peers to write to.
#pragma once

#include <assay/comm/choice.hpp>
#include <assay/comm/concepts.hpp>
#include <assay/comm/protocol.hpp>
#include <assay/core/device.hpp>
#include <assay/core/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace assay::comm {

/// A line of cache: what has another writer or reader stands on another.
inline constexpr std::size_t line_bytes = 128;
/// A sector of one, the least that is read. A flag for each slot has one, since flags side by side
/// are polled by whoever waits for one of them: in place, 256 MiB by `ring_push` between two took
/// 742 us with those of 32 slots on a line, 733 with 4, and 732 where no flags are.
inline constexpr std::size_t sector_bytes = 32;

/// What a block has counted; only its own block writes it, at the end of an operation.
struct alignas(16) block_state {
  unsigned ll_epoch;
  unsigned lamport_epoch;
  unsigned lamport_packs;  ///< packs for each source in the buffer of the last epoch
  unsigned handshakes;
};

/// What a rank has counted in a ring; its last block to read it writes it for the next operation.
struct alignas(16) ring_state {
  unsigned items;
  unsigned slot;     ///< for the next item
  unsigned tickets;  ///< that were taken
  unsigned blocks;   ///< of the last operation
  unsigned readers;  ///< blocks of this operation that have read it
};

/// Where things are in every rank's workspace, in bytes from its beginning.
///
/// `states[block]` and `flags[block][from]` on lines of their own; `agreement[turn][from]`, what a
/// checked operation compares; of a ring its state, a ticket, `ring_told[from]`, up to where that
/// rank (also this one) has cleared items, `ring_cleared[block]`, the same of this rank's blocks,
/// and `ring_loaded[slot]`, an item whose input is no longer needed; scratch
/// `lamport[buffer][source][block]` of `slot_packs`, `ll[buffer][source][block]` of `ll_slot_packs`
/// packs in twice as many packets, and slots for tiles: `ring[source]` of `ring_slots`, of which
/// `ring_two_shot` has half for sums. The sources of a rank are the other ranks in order.
struct workspace_layout {
  unsigned blocks = 0;
  unsigned sources = 0;
  unsigned slot_packs = 0;
  unsigned ll_slot_packs = 0;
  unsigned ring_blocks = 0;
  unsigned ring_slots = 0;
  std::size_t states_at = 0, flags_at = 0, agreement_at = 0, failed_at = 0;
  std::size_t ring_state_at = 0, ring_ticket_at = 0, ring_told_at = 0;
  std::size_t ring_cleared_at = 0, ring_loaded_at = 0;
  std::size_t lamport_at = 0, ll_at = 0, ring_at = 0, bytes = 0;
};

/// For up to `blocks` blocks, of which `sure_blocks` (0: all) are resident on any account: theirs
/// alone hold a message of `scratch_bytes`; `ring_blocks` of them have slots for tiles.
inline workspace_layout make_workspace_layout(int ranks, unsigned blocks, std::size_t scratch_bytes,
                                              unsigned sure_blocks = 0, unsigned ring_blocks = 0) {
  workspace_layout at;
  at.blocks = blocks;
  at.sources = static_cast<unsigned>(ranks - 1);
  // One pack more, for a message that begins and ends in the middle of packs.
  auto const slot_packs = [&](std::size_t bytes) {
    return static_cast<unsigned>(
        share_of(share_of(bytes, pack_bytes) + 1, sure_blocks == 0 ? blocks : sure_blocks));
  };
  at.slot_packs = slot_packs(scratch_bytes) + slot_packs(scratch_bytes) % 2;
  at.ll_slot_packs = slot_packs(scratch_bytes / ll_share);
  std::size_t end = 0;
  auto const take = [&](std::size_t bytes) {
    return std::exchange(end, end + (bytes + line_bytes - 1) / line_bytes * line_bytes);
  };
  at.failed_at = take(line_bytes);
  at.states_at = take(blocks * line_bytes);
  at.flags_at = take(blocks * std::size_t{max_ranks} * line_bytes);
  at.agreement_at = take(2 * std::size_t{max_ranks} * line_bytes);
  at.ring_blocks = ring_blocks;
  at.ring_slots = ring_blocks * ring_slots_per_block(ranks);
  at.ring_state_at = take(line_bytes);
  at.ring_ticket_at = take(line_bytes);
  at.ring_told_at = take(max_ranks * line_bytes);
  at.ring_cleared_at = take(ring_blocks * sizeof(unsigned));
  at.ring_loaded_at = take(at.ring_slots * sector_bytes);
  at.ll_at = take(std::size_t{protocol::ll_buffers} * at.sources * blocks * at.ll_slot_packs * 2 *
                  pack_bytes);
  at.lamport_at = take(std::size_t{protocol::lamport_buffers} * at.sources * blocks *
                       at.slot_packs * pack_bytes);
  at.ring_at = take(std::size_t{at.sources} * at.ring_slots * ring_tile_packs * pack_bytes);
  at.bytes = end;
  return at;
}

/// One rank's workspace, reset and ready when the constructor returns.
class workspace {
 public:
  workspace(on::device place, workspace_layout const& at) : place_(place), layout_(at) {
    range const here{"all_reduce workspace", category::allocation, at.bytes};
    device_guard const guard{place};
    void* block = nullptr;
    check(cudaMalloc(&block, at.bytes));
    base_.reset(static_cast<std::byte*>(block));
    reset();
  }

  /// As new; waits for the device.
  void reset() {
    device_guard const guard{place_};
    check(cudaMemset(base(), 0, layout_.lamport_at));
    check(cudaMemset(base() + layout_.lamport_at, protocol::unwritten & 0xFFU,
                     layout_.bytes - layout_.lamport_at));
    check(cudaDeviceSynchronize());
  }

  std::byte* base() const noexcept { return base_.get(); }

 private:
  struct release {
    void operator()(std::byte* block) const noexcept { check_noexcept(cudaFree(block)); }
  };
  on::device place_;
  workspace_layout layout_;
  std::unique_ptr<std::byte, release> base_;
};

}  // namespace assay::comm
