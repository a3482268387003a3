// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `all_reduce` that pushes twice: slices to who reduces them, sums to all.
#pragma once

#include <assay/comm/all_reduce_push.cuh>

#include <cstdint>

namespace assay::comm {

namespace detail {

/// One block's part of a two-shot push. In each slot the packs to be reduced are followed by those
/// that were; a thread does the same packs in all three steps, so they may be in place.
template <class T, int Ranks>
class two_shot_block {
 public:
  __device__ two_shot_block(channel<T> const& here, unsigned epoch)
      : here_(here), call_(here.call), epoch_(epoch), buffer_(wire::lamport_buffer(epoch)) {}

  /// Packs of the slice of `rank` that fall to this block.
  __device__ block_share slice(int rank) const {
    auto const slot = static_cast<unsigned>(rank) * gridDim.x + here_.block;
    return share_at(call_, std::uint64_t{slot} * call_.block_packs);
  }

  /// Sends pack `j` of all others' slices; all are loaded before the first is sent.
  __device__ void scatter(unsigned j) const {
    uint4 packs[Ranks];
#pragma unroll
    for (int step = 1; step < Ranks; ++step) {
      if (step >= call_.ranks) { continue; }
      auto const part = slice(here_.peer(step));
      if (j < part.count) {
        packs[step] = load_pack(call_.in[here_.me], call_.grid, part.begin + j);
      }
    }
#pragma unroll
    for (int step = 1; step < Ranks; ++step) {
      if (step >= call_.ranks || j >= slice(here_.peer(step)).count) { continue; }
      wire::store(here_.lamport_slot(here_.peer(step), here_.me, buffer_) + j,
                  wire::disguised(packs[step]));
    }
  }

  /// Reduces pack `j` of this rank's slice, and sends it to all others.
  __device__ void reduce(unsigned j) const {
    auto const mine = slice(here_.me);
    if (j >= mine.count) { return; }
    auto const own = load_pack(call_.in[here_.me], call_.grid, mine.begin + j);
    uint4 packs[Ranks];
    look(packs, wire::disguised(own), j);
    auto const sum = narrowed<T>(reduced<T>(packs, call_.ranks, call_.how));
#pragma unroll
    for (int step = 1; step < Ranks; ++step) {
      if (step >= call_.ranks) { continue; }
      wire::store(here_.lamport_slot(here_.peer(step), here_.me, buffer_) + call_.block_packs + j,
                  sum);
    }
    store_pack(call_.out[here_.me], call_.grid, mine.begin + j, sum);
  }

  /// Brings pack `j` of the slices that others reduced to the output.
  __device__ void gather(unsigned j) const {
    uint4 packs[Ranks];
    look(packs, uint4{}, call_.block_packs + j);
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank >= call_.ranks || rank == here_.me) { continue; }
      auto const part = slice(rank);
      if (j < part.count) {
        store_pack(call_.out[here_.me], call_.grid, part.begin + j, packs[rank]);
      }
    }
  }

 private:
  /// Packs at `offset` in the slots of all others, once they are there: past the half of the slot,
  /// of those ranks whose slice has so many.
  __device__ void look(uint4 (&packs)[Ranks], uint4 const& own, unsigned offset) const {
    auto const wanted = [&](int rank) {
      return rank < call_.ranks && rank != here_.me &&
             (offset < call_.block_packs || offset - call_.block_packs < slice(rank).count);
    };
    auto const from = [&](int rank) {
      return here_.lamport_slot(here_.me, rank, buffer_) + offset;
    };
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      packs[rank] = own;
      if (wanted(rank)) { packs[rank] = wire::load(from(rank)); }
    }
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (wanted(rank) && !wire::arrived(packs[rank])) {
        packs[rank] = await_lamport(here_, from(rank), rank, epoch_);
      }
    }
  }

  channel<T> const& here_;
  all_reduce_call<T> const& call_;
  unsigned epoch_;
  unsigned buffer_;
};

}  // namespace detail

/// Twice through the wire with 2 (n - 1) / n of the bytes, where `lamport_push` sends n - 1 of
/// them.
template <class T, int Ranks>
__global__ void __launch_bounds__(most_push_threads, 1)
    lamport_two_shot(__grid_constant__ all_reduce_call<T> const call) {
  channel<T> const here{call};
  auto const last = here.counted();
  auto const epoch = wire::next_epoch(last.lamport_epoch);
  detail::two_shot_block<T, Ranks> const block{here, epoch};
  require_agreement(here);
  for (unsigned j = threadIdx.x; j < call.block_packs; j += blockDim.x) { block.scatter(j); }
  detail::clear_last(here, last, epoch, threadIdx.x);
  detail::count_lamport(here, epoch, 2 * call.block_packs);
  for (unsigned j = threadIdx.x; j < call.block_packs; j += blockDim.x) { block.reduce(j); }
  for (unsigned j = threadIdx.x; j < call.block_packs; j += blockDim.x) { block.gather(j); }
  here.report();
}

}  // namespace assay::comm
