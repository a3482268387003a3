// SPDX-License-Identifier: Apache-2.0
/// @file
/// The memory that a rank of `all_reduce` keeps for its peers to write to.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/failure_board.hpp>
#include <assay/comm/protocol.hpp>
#include <assay/comm/tuning.hpp>
#include <assay/core/device.hpp>
#include <assay/core/owned_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace assay::comm {

/// A cache line: words with different writers or readers lie on different lines.
inline constexpr std::size_t line_bytes = 128;
/// A sector of a cache line, the smallest unit that is read. Each slot's flag has a sector of its
/// own, since a poll reads all flags of a sector. In place, 256 MiB by `fifo_one_shot` between two
/// H200 took 742 us with 32 flags on a line, 733 us with 4, and 732 us without flags.
inline constexpr std::size_t sector_bytes = 32;

/// The counters of a block. Only that block writes them, at the end of an operation.
struct alignas(16) block_state {
  unsigned barriers;
  unsigned lamport_epoch;
  unsigned lamport_vecs;  ///< vec16s of each source in the buffer of the last epoch
};

/// The FIFO counters of a rank. The last block that reads them writes them for the next operation.
struct alignas(16) fifo_state {
  unsigned items;
  unsigned slot;     ///< of the next item
  unsigned tickets;  ///< taken so far
  unsigned blocks;   ///< of the last operation
  unsigned readers;  ///< blocks of this operation that have read the state
};

/// Offsets of all parts of a workspace in bytes; the same in every rank's workspace. The sources of
/// a rank are the other ranks in order. docs/protocol.md, "Workspace", describes the parts.
struct workspace_layout {
  unsigned blocks = 0;     ///< blocks with scratch, a state and barrier counters
  unsigned sources = 0;    ///< ranks - 1
  unsigned slot_vecs = 0;  ///< vec16s from one source to one block
  unsigned fifo_blocks = 0;
  unsigned fifo_slots = 0;  ///< from each source; `fifo_two_shot` uses half of them for sums
  std::size_t states_at = 0, flags_at = 0, agreement_at = 0, reported_at = 0;
  std::size_t fifo_state_at = 0, fifo_ticket_at = 0, fifo_consumed_at = 0;
  std::size_t fifo_block_consumed_at = 0, fifo_loaded_at = 0;
  std::size_t lamport_at = 0, fifo_at = 0, bytes = 0;
};

/// The layout for up to `blocks` blocks. `min_resident_blocks` of them (0: all) are resident in any
/// case, and hold a message of `scratch_bytes`; `fifo_blocks` have FIFO slots.
inline workspace_layout make_workspace_layout(int ranks, unsigned blocks, std::size_t scratch_bytes,
                                              unsigned min_resident_blocks = 0,
                                              unsigned fifo_blocks = 0) {
  workspace_layout at;
  at.blocks = blocks;
  at.sources = static_cast<unsigned>(ranks - 1);
  // One vec16 more, for a message that begins and ends within vec16s.
  at.slot_vecs =
      static_cast<unsigned>(ceil_div(ceil_div(scratch_bytes, vec16_bytes) + 1,
                                     min_resident_blocks == 0 ? blocks : min_resident_blocks));
  std::size_t end = 0;
  auto const take = [&](std::size_t bytes) {
    return std::exchange(end, end + (bytes + line_bytes - 1) / line_bytes * line_bytes);
  };
  at.reported_at = take(line_bytes);
  at.states_at = take(blocks * line_bytes);
  at.flags_at = take(blocks * std::size_t{max_ranks} * line_bytes);
  at.agreement_at = take(2 * std::size_t{max_ranks} * line_bytes);
  at.fifo_blocks = fifo_blocks;
  at.fifo_slots = fifo_blocks * fifo_slots_per_block(ranks);
  at.fifo_state_at = take(line_bytes);
  at.fifo_ticket_at = take(line_bytes);
  at.fifo_consumed_at = take(max_ranks * line_bytes);
  at.fifo_block_consumed_at = take(fifo_blocks * sizeof(unsigned));
  at.fifo_loaded_at = take(at.fifo_slots * sector_bytes);
  at.lamport_at = take(std::size_t{protocol::lamport_buffers} * at.sources * blocks * at.slot_vecs *
                       vec16_bytes);
  at.fifo_at = take(std::size_t{at.sources} * at.fifo_slots * fifo_tile_vecs * vec16_bytes);
  at.bytes = end;
  return at;
}

/// The layout of an engine: each rank has `min_resident_blocks` blocks in any case.
inline workspace_layout engine_layout(all_reduce_options const& options, int ranks,
                                      unsigned min_resident_blocks, bool fifo) {
  return make_workspace_layout(
      ranks, std::max(push_blocks(ranks, min_resident_blocks), options.blocks),
      options.scratch_bytes, min_resident_blocks, fifo ? std::max(min_resident_blocks, 2U) : 0);
}

/// The workspace of one rank, cleared when the constructor returns.
class workspace {
 public:
  workspace(on::device place, workspace_layout const& at)
      : place_(place), layout_(at), block_(place, at.bytes), token_(place, 1) {
    reset();
  }

  on::device place() const noexcept { return place_; }

  /// Clears the workspace and waits for the device.
  void reset() {
    device_guard const guard{place_};
    check(cudaMemset(base(), 0, layout_.lamport_at));
    check(cudaMemset(base() + layout_.lamport_at, protocol::sentinel & 0xFFU,
                     layout_.bytes - layout_.lamport_at));
    check(cudaDeviceSynchronize());
  }

  /// The error of a device that has failed by now. Does not wait.
  cudaError_t failure() const noexcept {
    return on_device([] {
      cudaEvent_t event = nullptr;
      auto const code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
      if (code != cudaSuccess) { return code; }
      auto const state = cudaEventQuery(event);
      check_noexcept(cudaEventDestroy(event));
      return state;
    });
  }

  /// Waits for all work of the device; the error of a device that has failed.
  cudaError_t wait() noexcept {
    return on_device([this] {
      wait_for_device(place_, token_.release());
      return cudaSuccess;
    });
  }

  std::byte* base() const noexcept { return static_cast<std::byte*>(block_.get()); }

 private:
  template <class Call>
  cudaError_t on_device(Call const& call) const noexcept {
    try {
      device_guard const guard{place_};
      relaxed_capture_guard const relaxed;
      auto const code = call();
      return check_noexcept(code) ? cudaSuccess : code;
    } catch (cuda_error const& error) {
      return check_noexcept(error.code()) ? cudaSuccess : error.code();
    }
  }

  on::device place_;
  workspace_layout layout_;
  device_block block_, token_;
};

namespace detail {

/// The memory of an engine. An exception may come between the calls of two ranks and end the
/// engine. Then the destructor ends the waits of the rank that was called. No memory goes before
/// all devices were waited for, since ranks write their last counts to the memory of their peers.
struct engine_memory {
  engine_memory() = default;
  engine_memory(engine_memory const&) = delete;
  engine_memory& operator=(engine_memory const&) = delete;
  ~engine_memory() {
    auto const code_of = [](cudaError_t code) {
      return code == cudaSuccess ? nullptr : cudaGetErrorName(code);
    };
    failures.end(
        static_cast<int>(workspaces.size()), [&](int rank) { return at(rank).place().id; },
        [&](int rank) { return code_of(at(rank).failure()); },
        [&](int rank) { return code_of(at(rank).wait()); });
  }
  workspace& at(int rank) { return workspaces[static_cast<std::size_t>(rank)]; }

  page_locked_block words{sizeof(failure_words)};
  failure_board failures{*static_cast<failure_words*>(words.get())};
  std::vector<workspace> workspaces;
};

}  // namespace detail

}  // namespace assay::comm
