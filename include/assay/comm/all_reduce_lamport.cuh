// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `lamport_push`: data that differ from the sentinel have arrived.
#pragma once

#include <assay/comm/all_reduce_call.cuh>
#include <assay/core/ptx.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::comm {

namespace detail {

template <class T>
__device__ uint4 await_lamport(channel<T> const& here, uint4 const* from, int rank,
                               unsigned epoch) {
  return await(
      here, rank, epoch, [from] { return sys::load(from); },
      [](uint4 const& seen) { return sys::arrived(seen); });
}

/// The vec16s of a block: `count` from `begin` on.
struct block_share {
  std::uint64_t begin;
  unsigned count;
};
template <class T>
__device__ block_share share_at(all_reduce_call<T> const& call, std::uint64_t begin) {
  if (begin >= call.grid.vecs) { return {begin, 0}; }
  auto const left = call.grid.vecs - begin;
  return {begin, left < call.block_vecs ? static_cast<unsigned>(left) : call.block_vecs};
}

/// Writes the sentinel into vec16 `j` of each source in the buffer of the last operation.
template <class T>
__device__ void clear_one(channel<T> const& here, block_state const& last, unsigned epoch,
                          unsigned j) {
  auto const pattern = protocol::sentinel;
  if (j >= last.lamport_vecs) { return; }
  for (int step = 1; step < here.call.ranks; ++step) {
    auto* const slot =
        here.lamport_slot(here.me, here.peer(step), protocol::buffer_to_clear(epoch));
    sys::store(slot + j, uint4{pattern, pattern, pattern, pattern});
  }
}
/// Clears this thread's vec16s of the last operation from `j` on.
template <class T>
__device__ void clear_last(channel<T> const& here, block_state const& last, unsigned epoch,
                           unsigned j) {
#pragma unroll 1
  for (; j < last.lamport_vecs; j += blockDim.x) { clear_one(here, last, epoch, j); }
}

/// Counts an operation of `vecs` from each source, once all threads have read the state.
template <class T>
__device__ void count_lamport(channel<T> const& here, unsigned epoch, unsigned vecs) {
  __syncthreads();
  if (threadIdx.x == 0) {
    here.state()->lamport_epoch = epoch;
    here.state()->lamport_vecs = vecs;
  }
}

/// Loads this rank's vec16 `j` of the share and sends it to all others.
template <int Ranks, class T>
__device__ uint4 push_one(channel<T> const& here, block_share const& mine, unsigned j,
                          unsigned buffer) {
  auto const& call = here.call;
  auto const vec = sys::without_sentinel(load_vec16(call.in[here.me], call.grid, mine.begin + j));
#pragma unroll
  for (int step = 1; step < Ranks; ++step) {
    if (step >= call.ranks) { continue; }
    sys::store(here.lamport_slot(here.peer(step), here.me, buffer) + j, vec);
  }
  return vec;
}

/// Waits for vec16 `j` of all other ranks and reduces it. All are loaded before one is waited for.
template <int Ranks, class T>
__device__ void reduce_one(uint4 const& own, channel<T> const& here, block_share const& mine,
                           unsigned j, unsigned buffer, unsigned epoch) {
  auto const& call = here.call;
  uint4 vecs[Ranks];
  auto const from = [&](int rank) { return here.lamport_slot(here.me, rank, buffer) + j; };
#pragma unroll
  for (int rank = 0; rank < Ranks; ++rank) {
    vecs[rank] = own;
    if (rank < call.ranks && rank != here.me) { vecs[rank] = sys::load(from(rank)); }
  }
#pragma unroll
  for (int rank = 0; rank < Ranks; ++rank) {
    if (rank < call.ranks && !sys::arrived(vecs[rank])) {
      vecs[rank] = await_lamport(here, from(rank), rank, epoch);
    }
  }
  store_vec16(call.out[here.me], call.grid, mine.begin + j, reduced<T>(vecs, call.ranks, call.op));
}

}  // namespace detail

/// Resident blocks on each SM that the kernel is compiled for; three would spill registers on 10.0
/// and later, and with elements of 8 bits.
constexpr int push_blocks_per_sm(int ranks, std::size_t element_bytes) noexcept {
  if (ranks > 2 || ptx::architecture < 80) { return 1; }
  return ptx::architecture < 100 && element_bytes > 1 ? 3 : 2;
}

/// One shot to all ranks; a receiver waits for nothing but the data. A thread sends its next vec16
/// before it waits for the last one, so that the link stays busy. It sends no more of them ahead,
/// since the loads of an SM queue behind its stores, which wait for the link.
template <class T, int Ranks>
__global__ void __launch_bounds__(most_push_threads, push_blocks_per_sm(Ranks, sizeof(T)))
    lamport_push(__grid_constant__ all_reduce_call<T> const call) {
  channel<T> const here{call};
  auto const last = here.load_state();
  auto const epoch = protocol::next_epoch(last.lamport_epoch);
  auto const buffer = protocol::lamport_buffer(epoch);
  auto const mine = detail::share_at(call, std::uint64_t{here.block} * call.block_vecs);
  require_agreement(here);
  uint4 own{};
  if (threadIdx.x < mine.count) { own = detail::push_one<Ranks>(here, mine, threadIdx.x, buffer); }
  detail::count_lamport(here, epoch, mine.count);
  unsigned j = threadIdx.x;
  while (j < mine.count) {
    auto const then = j + blockDim.x;
    auto const next = then < mine.count ? detail::push_one<Ranks>(here, mine, then, buffer) : own;
    detail::clear_one(here, last, epoch, j);
    detail::reduce_one<Ranks>(own, here, mine, j, buffer, epoch);
    own = next;
    j = then;
  }
  detail::clear_last(here, last, epoch, j);
  here.report();
}

}  // namespace assay::comm
