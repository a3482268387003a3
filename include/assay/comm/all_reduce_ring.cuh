// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of `all_reduce` whose SMs send or reduce: for messages of any size.
#pragma once

#include <assay/comm/ring_reducer.cuh>
#include <assay/comm/ring_sender.cuh>

#include <cstdint>

namespace assay::comm {

namespace detail {

/// Some SMs send and the others reduce, since the loads of an SM queue behind its stores, which
/// wait for the link; an SM holds one block, by registers.
template <class T, int Ranks, bool TwoShot>
__device__ void go_round_blocks(channel<T> const& here) {
  require_agreement(here);
  bool const first_of_warp = threadIdx.x % 32 == 0;
  if (here.block < here.call.ring.senders) {
    __shared__ ring_sender_shared shared;
    ring_sender<T, Ranks, TwoShot> block{here, shared};
    if (ring_block::in_flag_warp() && first_of_warp) { block.count(); }
    if (ring_block::moves()) { block.send(); }
    if (ring_block::in_loading_warp() && first_of_warp) { block.load(); }
  } else {
    __shared__ ring_reducer_shared shared;
    ring_reducer<T, Ranks, TwoShot> block{here, shared};
    if (ring_block::moves()) { block.reduce(); }
    if (ring_block::in_flag_warp()) { block.tell(); }
    if (ring_block::in_loading_warp() && first_of_warp) { block.count(); }
  }
  here.report();
}

template <class T, int Ranks, bool TwoShot>
__device__ void go_round(channel<T> const& here) {
  if constexpr (ptx::architecture >= ring_capability) {
    go_round_blocks<T, Ranks, TwoShot>(here);
  } else {
    __trap();  // the check on the host keeps it from being launched
  }
}

}  // namespace detail

/// All to all, of any size: tiles into slots of the peers that come round again, by the rules of
/// `protocol::ring_plan`. Two blocks at least.
template <class T, int Ranks>
__global__ void __launch_bounds__(ring_block::threads, 1)
    ring_push(__grid_constant__ all_reduce_call<T> const call) {
  detail::go_round<T, Ranks, false>(channel<T>{call});
}

/// So each slice to the rank that reduces it, and the sums to all: with 2 (n - 1) / n of the bytes.
template <class T, int Ranks>
__global__ void __launch_bounds__(ring_block::threads, 1)
    ring_two_shot(__grid_constant__ all_reduce_call<T> const call) {
  detail::go_round<T, Ranks, true>(channel<T>{call});
}

}  // namespace assay::comm
