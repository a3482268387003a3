// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `all_reduce` whose SMs send or reduce: for messages of any size.
#pragma once

#include <assay/comm/ring_reducer.cuh>
#include <assay/comm/ring_sender.cuh>

#include <cstdint>

namespace assay::comm {

/// All to all, of any size: tiles into slots of the peers that come round again, by the rules of
/// `protocol::ring_plan`. Two blocks at least. Some SMs send and the others reduce, since the loads
/// of an SM queue behind its stores, which wait for the link; an SM holds one block, by registers.
template <class T, int Ranks>
__global__ void __launch_bounds__(ring_block::threads, 1)
    ring_push(__grid_constant__ all_reduce_call<T> const call) {
  channel<T> const here{call};
  require_agreement(here);
  bool const moves = threadIdx.x < ring_block::movers;
  bool const sees_to_flags = threadIdx.x >= ring_block::movers + 32;
  if (here.block < call.ring.senders) {
    __shared__ detail::ring_sender_shared shared;
    detail::ring_sender<T, Ranks> block{here, shared};
    if (threadIdx.x == ring_block::movers + 32) { block.count(); }
    if (moves) { block.send(); }
    if (sees_to_flags) { block.watch(); }
    if (threadIdx.x == ring_block::movers) { block.load(); }
  } else {
    __shared__ std::uint64_t cleared[protocol::ring_open_periods];
    detail::ring_reducer<T, Ranks> block{here, cleared};
    if (moves) { block.reduce(); }
    if (sees_to_flags) { block.tell(); }
    if (threadIdx.x == ring_block::movers) { block.count(); }
  }
  here.report();
}

}  // namespace assay::comm
