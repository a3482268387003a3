// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of `fifo_one_shot` and `fifo_two_shot`, for messages of any size.
#pragma once

#include <assay/comm/fifo_reducer.cuh>
#include <assay/comm/fifo_sender.cuh>

#include <cstdint>

namespace assay::comm {

namespace detail {

/// Some SMs send and the others reduce, since the loads of an SM queue behind its stores, which
/// wait for the link. The registers of an SM hold one block.
template <class T, int Ranks, bool TwoShot>
__device__ void run_fifo_blocks(channel<T> const& here) {
  require_agreement(here);
  bool const first_of_warp = threadIdx.x % 32 == 0;
  if (here.block < here.call.fifo.senders) {
    __shared__ fifo_sender_shared shared;
    fifo_sender<T, Ranks, TwoShot> block{here, shared};
    if (fifo_block::in_flag_warp() && first_of_warp) { block.count(); }
    if (fifo_block::in_copy_warp()) { block.send(); }
    if (fifo_block::in_load_warp() && first_of_warp) { block.load(); }
  } else {
    __shared__ fifo_reducer_shared shared;
    fifo_reducer<T, Ranks, TwoShot> block{here, shared};
    if (fifo_block::in_copy_warp()) { block.reduce(); }
    if (fifo_block::in_flag_warp()) { block.publish_consumed(); }
    if (fifo_block::in_load_warp() && first_of_warp) { block.count(); }
  }
  here.report();
}

template <class T, int Ranks, bool TwoShot>
__device__ void run_fifo(channel<T> const& here) {
  if constexpr (has_fifo_code_v<TwoShot, Ranks, ptx::architecture>) {
    run_fifo_blocks<T, Ranks, TwoShot>(here);
  } else {
    __trap();  // `require_fifo_code` on the host refuses the launch
  }
}

}  // namespace detail

/// One shot: tiles go into slots of all other ranks, by the rules of `protocol::fifo_plan`. Needs
/// two blocks at least.
template <class T, int Ranks>
__global__ void __launch_bounds__(fifo_block::threads, 1)
    fifo_one_shot(__grid_constant__ all_reduce_call<T> const call) {
  detail::run_fifo<T, Ranks, false>(channel<T>{call});
}

/// Two shots: each tile goes to the rank that reduces it, and the sums go to all ranks: n ranks
/// send 2 (n - 1) / n of the bytes.
template <class T, int Ranks>
__global__ void __launch_bounds__(fifo_block::threads, 1)
    fifo_two_shot(__grid_constant__ all_reduce_call<T> const call) {
  detail::run_fifo<T, Ranks, true>(channel<T>{call});
}

}  // namespace assay::comm
