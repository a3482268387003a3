// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arguments of the kernels of `all_reduce`, and their shared parts: channels, waits, barriers.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/failure_board.hpp>
#include <assay/comm/system_access.cuh>
#include <assay/comm/vec16.cuh>
#include <assay/comm/workspace.hpp>
#include <assay/core/ptx.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// The arguments of an operation. All ranks get the same, except `first_rank`: block (b, y) of a
/// launch is block b of rank `first_rank + y`.
template <class T>
struct all_reduce_call {
  T const* in[max_ranks];
  T* out[max_ranks];
  std::byte* workspaces[max_ranks];
  detail::failure_words* failures;  ///< host memory
  workspace_layout at;
  vec16_grid grid;
  reduce_op<T> op;
  int ranks;
  int first_rank;
  unsigned block_vecs;       ///< vec16s of each block
  std::uint64_t slice_vecs;  ///< vec16s that a rank reduces, by `pull` and `two_shot`
  protocol::fifo_plan fifo;
  bool to_all;     ///< `two_shot`: writes its slice to all outputs
  bool dependent;  ///< launched while the kernel before may still run
  bool checked;
  unsigned signature;  ///< equal on all ranks, or the ranks disagree
  std::uint64_t timeout_nanoseconds;
};

/// A block's view of an operation. The blocks of one number on all ranks form a channel.
template <class T>
struct channel {
  all_reduce_call<T> const& call;
  int me;
  unsigned block;
  mutable failure failed{};  ///< the first failure of this thread

  /// Waits for the previous kernel where this one was launched early, and lets the next kernel
  /// launch early.
  __device__ explicit channel(all_reduce_call<T> const& of)
      : call(of), me(of.first_rank + static_cast<int>(blockIdx.y)), block(blockIdx.x) {
    if constexpr (ptx::architecture >= 90) {
      if (of.dependent) {
        cudaGridDependencySynchronize();
        cudaTriggerProgrammaticLaunchCompletion();
      }
    }
  }

  __device__ std::byte* in_workspace(int rank, std::size_t offset) const {
    return call.workspaces[rank] + offset;
  }
  __device__ block_state* state() const {
    return reinterpret_cast<block_state*>(
        in_workspace(me, call.at.states_at + block * std::size_t{line_bytes}));
  }
  /// Loads past L1, which may hold lines from an earlier kernel.
  __device__ block_state load_state() const {
    auto const now = __ldcg(reinterpret_cast<uint4 const*>(state()));
    return {now.x, now.y, now.z};
  }
  __device__ unsigned* flag(int rank, int from) const {
    auto const line = block * std::size_t{max_ranks} + static_cast<unsigned>(from);
    return reinterpret_cast<unsigned*>(in_workspace(rank, call.at.flags_at + line * line_bytes));
  }
  /// The number of rank `from` among the sources of `rank`.
  __device__ static unsigned source(int rank, int from) {
    return static_cast<unsigned>(from < rank ? from : from - 1);
  }
  /// The vec16s that `from` sends to this block of `rank`.
  __device__ uint4* lamport_slot(int rank, int from, unsigned buffer) const {
    auto const slot = (buffer * call.at.sources + source(rank, from)) * call.at.blocks + block;
    return reinterpret_cast<uint4*>(in_workspace(rank, call.at.lamport_at)) +
           std::size_t{slot} * call.at.slot_vecs;
  }
  /// The number of items that `from` has consumed, in the memory of `rank`.
  __device__ unsigned* fifo_consumed(int rank, int from) const {
    auto const line = static_cast<unsigned>(from) * line_bytes;
    return reinterpret_cast<unsigned*>(in_workspace(rank, call.at.fifo_consumed_at + line));
  }
  /// The slots for tiles from `from` in the memory of `rank`.
  __device__ uint4* fifo(int rank, int from) const {
    return reinterpret_cast<uint4*>(in_workspace(rank, call.at.fifo_at)) +
           std::size_t{source(rank, from)} * call.at.fifo_slots * fifo_tile_vecs;
  }
  __device__ sys::spin_deadline deadline() const {
    return {call.timeout_nanoseconds, &call.failures->stop};
  }
  /// The bound for waits for threads of this rank. Each of these may itself wait for data from
  /// every rank and for credits of every rank.
  __device__ sys::spin_deadline own_rank_deadline() const {
    return {call.timeout_nanoseconds * 2U * static_cast<unsigned>(call.ranks),
            &call.failures->stop};
  }

  /// The `step`-th rank after this one: ranks send to different peers at a time.
  __device__ int peer(int step) const {
    int const rank = me + step;
    return rank < call.ranks ? rank : rank - call.ranks;
  }

  /// Keeps the first failure of this thread for `report`.
  __device__ void fail(failure_kind what, int from, unsigned epoch) const {
    if (failed.kind == 0) { failed = {static_cast<int>(what), from, block, epoch}; }
  }

  /// Called last by every thread: writes the rank's first failure to host memory, and ends the
  /// waits of all ranks. A wait that was ended so is no timeout. What a thread finds after an abort
  /// or a failed call follows from that, such as flags of an operation that ended half-way.
  __device__ void report() const {
    if (failed.kind == 0) { return; }
    auto* const stop = &call.failures->stop;
    bool const timed_out = failed.kind == static_cast<int>(failure_kind::timed_out);
    using detail::stopped_by;
    auto const stopped = static_cast<stopped_by>(sys::load_relaxed(stop));
    if (stopped == stopped_by::kernel ? timed_out : stopped != stopped_by::nothing) { return; }
    auto* const reported = reinterpret_cast<unsigned*>(in_workspace(me, call.at.reported_at));
    if (atomicCAS(reported, 0U, 1U) != 0U) { return; }
    auto& target = call.failures->of[me];
    target.peer = failed.peer;
    target.block = failed.block;
    target.epoch = failed.epoch;
    __threadfence_system();
    static_cast<int volatile&>(target.kind) = failed.kind;
    sys::store_flag(stop, static_cast<unsigned>(stopped_by::kernel), true);
  }
};

/// Polls `load()` until `done` accepts its value, and returns the value. Fails with `timed_out` at
/// the deadline of the call, which is later for waits for the rank's `Own` threads.
template <bool Own = false, class T, class Load, class Done>
__device__ auto await(channel<T> const& here, int from, unsigned epoch, Load const& load,
                      Done const& done) {
  auto found = load();
  if (done(found)) { return found; }
  // A deadline made before the first load cost 1.8 % of an operation of 16 KiB.
  auto deadline = Own ? here.own_rank_deadline() : here.deadline();
  do {
    if (here.failed.kind != 0 || !deadline.keep_waiting()) {
      here.fail(failure_kind::timed_out, from, epoch);
      break;
    }
    found = load();
  } while (!done(found));
  return found;
}

template <class T, class Load, class Done>
__device__ auto await_own(channel<T> const& here, unsigned epoch, Load const& load,
                          Done const& done) {
  return await<true>(here, here.me, epoch, load, done);
}

/// A barrier of this block with the same block of all other ranks, as number `count`. With
/// `release`, stores of each block before the barrier are visible to the others after it. False
/// after a failure.
template <class T>
__device__ bool barrier(channel<T> const& here, unsigned count, bool release) {
  __syncthreads();
  auto const from = static_cast<int>(threadIdx.x);
  if (from < here.call.ranks && from != here.me) {
    sys::store_flag(here.flag(from, here.me), count, release);
    auto const* const mine = here.flag(here.me, from);
    auto const found = await(
        here, from, count, [mine] { return sys::load_acquire(mine); },
        [&](unsigned value) {
          return protocol::reached(value, count) ||
                 (here.call.checked && !protocol::plausible(value, count));
        });
    if (here.call.checked && !protocol::plausible(found, count) && here.failed.kind == 0) {
      here.fail(failure_kind::corrupted, from, count);
    }
  }
  return __syncthreads_or(here.failed.kind != 0) == 0;
}

/// In checked calls, the first block of each rank compares the signatures of all ranks.
template <class T>
__device__ void require_agreement(channel<T> const& here) {
  if (!here.call.checked || here.block != 0) { return; }
  auto* const counter = reinterpret_cast<unsigned*>(
      here.in_workspace(here.me, here.call.at.reported_at + sizeof(unsigned)));
  auto const epoch = __ldcg(counter) + 1;
  __syncthreads();
  if (threadIdx.x == 0) { *counter = epoch; }
  auto const line = [&](int rank, int from) {
    auto const index = (epoch % 2) * std::size_t{max_ranks} + static_cast<unsigned>(from);
    return reinterpret_cast<uint2*>(
        here.in_workspace(rank, here.call.at.agreement_at + index * line_bytes));
  };
  auto const from = static_cast<int>(threadIdx.x);
  if (from >= here.call.ranks || from == here.me) { return; }
  sys::store(line(from, here.me), uint2{here.call.signature, epoch});
  auto const* const theirs = line(here.me, from);
  auto const found = await(
      here, from, epoch, [theirs] { return sys::load(theirs); },
      [&](uint2 const& both) { return both.y == epoch; });
  if (found.y == epoch && found.x != here.call.signature) {
    here.fail(failure_kind::disagreement, from, epoch);
    here.report();  // at once: other threads would report a timeout first
  }
}

}  // namespace assay::comm
