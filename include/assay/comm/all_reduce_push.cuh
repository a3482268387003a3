// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of `all_reduce` that push: packets that say by themselves that they are there.
#pragma once

#include <assay/comm/all_reduce_call.cuh>
#include <assay/core/ptx.cuh>

#include <cstdint>

namespace assay::comm {

/// Threads of a block at most; the kernels' registers are bounded by it.
inline constexpr unsigned most_push_threads = 512;

namespace detail {

/// Data, and the epoch twice, since halves of a 16-byte access may arrive one by one.
struct ll_packet {
  __device__ static uint4 of(unsigned first, unsigned second, unsigned epoch) {
    return {first, epoch, second, epoch};
  }
  __device__ static bool is(uint4 const& packet, unsigned epoch) {
    return packet.y == epoch && packet.w == epoch;
  }
  /// Whether a packet carries an epoch that is yet to come; 0 is what scratch is made of.
  __device__ static bool corrupted(uint4 const& packet, unsigned epoch) {
    auto const is_ahead = [=](unsigned word) {
      return word != 0 && static_cast<int>(word - epoch) > 0;
    };
    return is_ahead(packet.y) || is_ahead(packet.w);
  }
};

/// By a block, before it sends: where an operation clears the other buffer, does so. What it sends
/// then lets the others write there, so all of it is clear before any of that goes.
template <class T>
__device__ void renew_ll(channel<T> const& here, unsigned epoch) {
  if (!wire::renews_ll(epoch)) { return; }
  auto const packets = 2 * here.call.at.ll_slot_packs;
  for (int step = 1; step < here.call.ranks; ++step) {
    auto* const slot = here.ll_slot(here.me, here.peer(step), wire::ll_buffer(epoch + 1));
    for (unsigned j = threadIdx.x; j < packets; j += blockDim.x) { wire::store(slot + j, uint4{}); }
  }
  __threadfence_system();
  __syncthreads();
}

/// One half of a pack as a rank sent it.
template <class T>
__device__ uint4 await_ll(channel<T> const& here, uint4 const* from, int rank, unsigned epoch) {
  auto const packet = await(
      here, rank, epoch, [from] { return wire::load(from); },
      [&](uint4 const& seen) {
        return ll_packet::is(seen, epoch) ||
               (here.call.checked && ll_packet::corrupted(seen, epoch));
      });
  if (here.call.checked && ll_packet::corrupted(packet, epoch)) {
    here.fail(failure_kind::corrupted, rank, epoch);
  }
  return packet;
}

template <class T>
__device__ uint4 await_lamport(channel<T> const& here, uint4 const* from, int rank,
                               unsigned epoch) {
  return await(
      here, rank, epoch, [from] { return wire::load(from); },
      [](uint4 const& seen) { return wire::arrived(seen); });
}

/// Packs [begin, end) of a call that fall to a block.
struct block_share {
  std::uint64_t begin;
  unsigned count;
};
template <class T>
__device__ block_share share_at(all_reduce_call<T> const& call, std::uint64_t begin) {
  if (begin >= call.grid.packs) { return {begin, 0}; }
  auto const left = call.grid.packs - begin;
  return {begin, left < call.block_packs ? static_cast<unsigned>(left) : call.block_packs};
}

}  // namespace detail

/// All to all in packets of 8 bytes of data; for the smallest messages.
template <class T, int Ranks>
__global__ void __launch_bounds__(most_push_threads, 1)
    ll_push(__grid_constant__ all_reduce_call<T> const call) {
  channel<T> const here{call};
  auto const epoch = wire::next_epoch(here.counted().ll_epoch);
  auto const mine = detail::share_at(call, std::uint64_t{here.block} * call.block_packs);
  auto const half = call.at.ll_slot_packs;
  auto const* const in = call.in[here.me];
  require_agreement(here);
  detail::renew_ll(here, epoch);
  for (unsigned j = threadIdx.x; j < mine.count; j += blockDim.x) {
    auto const own = load_pack(in, call.grid, mine.begin + j);
#pragma unroll
    for (int step = 1; step < Ranks; ++step) {
      if (step >= call.ranks) { continue; }
      auto* const to = here.ll_slot(here.peer(step), here.me, wire::ll_buffer(epoch)) + j;
      wire::store(to, detail::ll_packet::of(own.x, own.y, epoch));
      wire::store(to + half, detail::ll_packet::of(own.z, own.w, epoch));
    }
  }
  __syncthreads();  // all have read the state
  if (threadIdx.x == 0) { here.state()->ll_epoch = epoch; }
  for (unsigned j = threadIdx.x; j < mine.count; j += blockDim.x) {
    auto const own = load_pack(in, call.grid, mine.begin + j);
    uint4 packs[Ranks];
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      packs[rank] = own;
      if (rank >= call.ranks || rank == here.me) { continue; }
      auto const* const from = here.ll_slot(here.me, rank, wire::ll_buffer(epoch)) + j;
      auto const first = detail::await_ll(here, from, rank, epoch);
      auto const second = detail::await_ll(here, from + half, rank, epoch);
      packs[rank] = {first.x, first.z, second.x, second.z};
    }
    store_pack(call.out[here.me], call.grid, mine.begin + j,
               narrowed<T>(reduced<T>(packs, call.ranks, call.how)));
  }
  here.report();
}

namespace detail {

/// Makes what the last operation used of its buffer ready for the operation after the next: what
/// falls to a thread from its `j`-th pack on, or that alone.
template <class T>
__device__ void clear_one(channel<T> const& here, block_state const& last, unsigned epoch,
                          unsigned j) {
  auto const pattern = protocol::unwritten;
  if (j >= last.lamport_packs) { return; }
  for (int step = 1; step < here.call.ranks; ++step) {
    auto* const slot = here.lamport_slot(here.me, here.peer(step), wire::buffer_to_clear(epoch));
    wire::store(slot + j, uint4{pattern, pattern, pattern, pattern});
  }
}
template <class T>
__device__ void clear_last(channel<T> const& here, block_state const& last, unsigned epoch,
                           unsigned j) {
#pragma unroll 1
  for (; j < last.lamport_packs; j += blockDim.x) { clear_one(here, last, epoch, j); }
}

/// Counts a Lamport operation of so many packs for each source; all threads have read the state.
template <class T>
__device__ void count_lamport(channel<T> const& here, unsigned epoch, unsigned packs) {
  __syncthreads();
  if (threadIdx.x == 0) {
    here.state()->lamport_epoch = epoch;
    here.state()->lamport_packs = packs;
  }
}

/// Loads this rank's pack `j` of the share, and sends it to all others.
template <int Ranks, class T>
__device__ uint4 push_one(channel<T> const& here, block_share const& mine, unsigned j,
                          unsigned buffer) {
  auto const& call = here.call;
  auto const pack = wire::disguised(load_pack(call.in[here.me], call.grid, mine.begin + j));
#pragma unroll
  for (int step = 1; step < Ranks; ++step) {
    if (step >= call.ranks) { continue; }
    wire::store(here.lamport_slot(here.peer(step), here.me, buffer) + j, pack);
  }
  return pack;
}

/// Waits for pack `j` of all other ranks, and reduces it. Looks for all before it waits for one.
template <int Ranks, class T>
__device__ void reduce_one(uint4 const& own, channel<T> const& here, block_share const& mine,
                           unsigned j, unsigned buffer, unsigned epoch) {
  auto const& call = here.call;
  uint4 packs[Ranks];
  auto const from = [&](int rank) { return here.lamport_slot(here.me, rank, buffer) + j; };
#pragma unroll
  for (int rank = 0; rank < Ranks; ++rank) {
    packs[rank] = own;
    if (rank < call.ranks && rank != here.me) { packs[rank] = wire::load(from(rank)); }
  }
#pragma unroll
  for (int rank = 0; rank < Ranks; ++rank) {
    if (rank < call.ranks && !wire::arrived(packs[rank])) {
      packs[rank] = await_lamport(here, from(rank), rank, epoch);
    }
  }
  store_pack(call.out[here.me], call.grid, mine.begin + j,
             narrowed<T>(reduced<T>(packs, call.ranks, call.how)));
}

}  // namespace detail

/// All to all in packets of data alone; nothing but the data itself is waited for. A thread sends
/// its next pack before it waits for the last, so that the wire never idles, and no more of them:
/// an SM's loads queue behind its stores, which wait for the link.
template <class T, int Ranks>
__global__ void __launch_bounds__(most_push_threads, Ranks == 2 && ptx::architecture >= 80 ? 3 : 1)
    lamport_push(__grid_constant__ all_reduce_call<T> const call) {
  channel<T> const here{call};
  auto const last = here.counted();
  auto const epoch = wire::next_epoch(last.lamport_epoch);
  auto const buffer = wire::lamport_buffer(epoch);
  auto const mine = detail::share_at(call, std::uint64_t{here.block} * call.block_packs);
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
