// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the kernels of `all_reduce` are given, and what they share: channels, waits, handshakes.
#pragma once

#include <assay/comm/all_reduce_error.hpp>
#include <assay/comm/concepts.hpp>
#include <assay/comm/packs.cuh>
#include <assay/comm/wire.cuh>
#include <assay/comm/workspace.hpp>
#include <assay/core/ptx.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// The arguments of an operation, the same for all ranks but for `first_rank`: block (b, y) of a
/// launch is block b of rank `first_rank + y`.
template <class T>
struct all_reduce_call {
  T const* in[max_ranks];
  T* out[max_ranks];
  std::byte* workspaces[max_ranks];
  failure* failures;  ///< host memory, one for each rank
  workspace_layout at;
  pack_grid grid;
  combining how;
  int ranks;
  int first_rank;
  unsigned block_packs;       ///< packs of each block; of each slice, for a two-shot
  std::uint64_t slice_packs;  ///< packs that a rank reduces, for those on whole buffers
  protocol::ring_plan ring;
  bool to_all;     ///< each a slice, for all outputs; else all of them, for its own
  bool dependent;  ///< launched while the kernel before may still run
  bool checked;
  unsigned signature;  ///< what ranks must agree on
  std::uint64_t timeout_nanoseconds;
};

/// One block's view of an operation.
template <class T>
struct channel {
  all_reduce_call<T> const& call;
  int me;
  unsigned block;
  mutable failure noted{};  ///< this thread's first

  /// Waits for the kernel before, where this one was started early, and lets the next start early.
  __device__ explicit channel(all_reduce_call<T> const& of)
      : call(of), me(of.first_rank + static_cast<int>(blockIdx.y)), block(blockIdx.x) {
    if constexpr (ptx::architecture >= 90) {
      if (of.dependent) {
        cudaGridDependencySynchronize();
        cudaTriggerProgrammaticLaunchCompletion();
      }
    }
  }

  __device__ std::byte* of_rank(int rank, std::size_t offset) const {
    return call.workspaces[rank] + offset;
  }
  __device__ block_state* state() const {
    return reinterpret_cast<block_state*>(
        of_rank(me, call.at.states_at + block * std::size_t{line_bytes}));
  }
  /// Past L1, where an earlier kernel's lines may be.
  __device__ block_state counted() const {
    auto const now = __ldcg(reinterpret_cast<uint4 const*>(state()));
    return {now.x, now.y, now.z, now.w};
  }
  __device__ unsigned* flag(int rank, int from) const {
    auto const line = block * std::size_t{max_ranks} + static_cast<unsigned>(from);
    return reinterpret_cast<unsigned*>(of_rank(rank, call.at.flags_at + line * line_bytes));
  }
  /// Which of a rank's sources another rank is.
  __device__ static unsigned source(int rank, int from) {
    return static_cast<unsigned>(from < rank ? from : from - 1);
  }
  /// The packs that `from` sends to this block of `rank`.
  __device__ uint4* lamport_slot(int rank, int from, unsigned buffer) const {
    auto const slot = (buffer * call.at.sources + source(rank, from)) * call.at.blocks + block;
    return reinterpret_cast<uint4*>(of_rank(rank, call.at.lamport_at)) +
           std::size_t{slot} * call.at.slot_packs;
  }
  __device__ uint4* ll_slot(int rank, int from, unsigned buffer) const {
    auto const slot = (buffer * call.at.sources + source(rank, from)) * call.at.blocks + block;
    return reinterpret_cast<uint4*>(of_rank(rank, call.at.ll_at)) +
           std::size_t{slot} * 2 * call.at.ll_slot_packs;
  }
  /// Up to where `from` has told `rank` that it has cleared items.
  __device__ unsigned* ring_told(int rank, int from) const {
    auto const line = static_cast<unsigned>(from) * line_bytes;
    return reinterpret_cast<unsigned*>(of_rank(rank, call.at.ring_told_at + line));
  }
  /// The slots for tiles that `from` sends to this rank.
  __device__ uint4* ring(int rank, int from) const {
    return reinterpret_cast<uint4*>(of_rank(rank, call.at.ring_at)) +
           std::size_t{source(rank, from)} * call.at.ring_slots * ring_tile_packs;
  }
  __device__ unsigned* given_up() const {
    return reinterpret_cast<unsigned*>(of_rank(me, call.at.failed_at));
  }
  __device__ wire::patience patience() const { return {call.timeout_nanoseconds, given_up()}; }
  /// For a wait for threads of this rank, each of which may wait for what other ranks send and for
  /// leave to send to them, one after the other.
  __device__ wire::patience patience_with_own() const {
    return {call.timeout_nanoseconds * 2U * static_cast<unsigned>(call.ranks), given_up()};
  }

  /// The `step`-th rank after this one, so that not all send to the same.
  __device__ int peer(int step) const {
    int const rank = me + step;
    return rank < call.ranks ? rank : rank - call.ranks;
  }

  /// Notes a failure of this thread; `report` tells of it, at one place of each kernel.
  __device__ void fail(failure_kind what, int from, unsigned epoch) const {
    if (noted.kind == 0) { noted = {static_cast<int>(what), from, block, epoch}; }
  }

  /// Last: leaves what failed where the host sees it, if it is the rank's first.
  __device__ void report() const {
    if (noted.kind == 0 || atomicCAS(given_up(), 0U, 1U) != 0U) { return; }
    auto& note = call.failures[me];
    note.peer = noted.peer;
    note.block = noted.block;
    note.epoch = noted.epoch;
    __threadfence_system();
    static_cast<int volatile&>(note.kind) = noted.kind;
  }
};

/// Waits until `there(looked)` of `look()`, and returns it; gives up when the call's patience ends,
/// which is longer for threads of its `Own` rank.
template <bool Own = false, class T, class Look, class There>
__device__ auto await(channel<T> const& here, int from, unsigned epoch, Look const& look,
                      There const& there) {
  auto found = look();
  if (there(found)) { return found; }
  // No sooner: made before the first look, it cost ll_push of 16 KiB 1.8 % of its time.
  auto patience = Own ? here.patience_with_own() : here.patience();
  do {
    if (here.noted.kind != 0 || !patience.more()) {
      here.fail(failure_kind::timed_out, from, epoch);
      break;
    }
    found = look();
  } while (!there(found));
  return found;
}

template <class T, class Look, class There>
__device__ auto await_own(channel<T> const& here, unsigned epoch, Look const& look,
                          There const& there) {
  return await<true>(here, here.me, epoch, look, there);
}

/// Meets this block of all other ranks: all threads, once each has raised its flag to `count`. With
/// `release`, what each block wrote before is then visible to the others. Whether all have come.
template <class T>
__device__ bool meet(channel<T> const& here, unsigned count, bool release) {
  __syncthreads();
  auto const from = static_cast<int>(threadIdx.x);
  if (from < here.call.ranks && from != here.me) {
    wire::raise(here.flag(from, here.me), count, release);
    auto const* const mine = here.flag(here.me, from);
    auto const found = await(
        here, from, count, [mine] { return wire::seen(mine); },
        [&](unsigned value) {
          return wire::reached(value, count) ||
                 (here.call.checked && !wire::plausible(value, count));
        });
    if (here.call.checked && !wire::plausible(found, count) && here.noted.kind == 0) {
      here.fail(failure_kind::corrupted, from, count);
    }
  }
  if (here.call.timeout_nanoseconds == 0) {  // no wait ends before they have
    __syncthreads();
    return true;
  }
  return __syncthreads_or(here.noted.kind != 0) == 0;
}

/// In checked calls the first block of each rank compares what the ranks were asked for.
template <class T>
__device__ void require_agreement(channel<T> const& here) {
  if (!here.call.checked || here.block != 0) { return; }
  auto* const counter =
      reinterpret_cast<unsigned*>(here.of_rank(here.me, here.call.at.failed_at + sizeof(unsigned)));
  auto const epoch = __ldcg(counter) + 1;
  __syncthreads();
  if (threadIdx.x == 0) { *counter = epoch; }
  auto const line = [&](int rank, int from) {
    auto const index = (epoch % 2) * std::size_t{max_ranks} + static_cast<unsigned>(from);
    return reinterpret_cast<uint2*>(
        here.of_rank(rank, here.call.at.agreement_at + index * line_bytes));
  };
  auto const from = static_cast<int>(threadIdx.x);
  if (from >= here.call.ranks || from == here.me) { return; }
  wire::store(line(from, here.me), uint2{here.call.signature, epoch});
  auto const* const theirs = line(here.me, from);
  auto const found = await(
      here, from, epoch, [theirs] { return wire::load(theirs); },
      [&](uint2 const& both) { return both.y == epoch; });
  if (found.y == epoch && found.x != here.call.signature) {
    here.fail(failure_kind::disagreement, from, epoch);
    here.report();  // before others tire of waiting for what will not come
  }
}

}  // namespace assay::comm
