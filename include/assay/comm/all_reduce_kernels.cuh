// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of the FIFO algorithms, the kernel of each algorithm and number of ranks, and its
/// launch.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/all_reduce_checks.hpp>
#include <assay/comm/all_reduce_direct.cuh>
#include <assay/comm/all_reduce_lamport.cuh>
#include <assay/comm/fifo_reducer.cuh>
#include <assay/comm/fifo_sender.cuh>
#include <assay/kernel/launch.cuh>

#include <cstddef>
#include <type_traits>

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
  if constexpr (has_fifo_code_v<TwoShot, Ranks, ptx::architecture, sizeof(T)>) {
    run_fifo_blocks<T, Ranks, TwoShot>(here);
  } else {
    __trap();  // the host refuses the launch
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

namespace detail {

/// Calls `use` with the least of 2, 4 and 8 that holds `ranks`: kernels keep registers for each
/// rank, and are compiled for these numbers.
template <class Use>
decltype(auto) with_ranks(int ranks, Use const& use) {
  if (ranks <= 2) { return use(std::integral_constant<int, 2>{}); }
  if (ranks <= 4) { return use(std::integral_constant<int, 4>{}); }
  return use(std::integral_constant<int, 8>{});
}

}  // namespace detail

/// The kernels for elements of `T`. Types without a sentinel have no kernel that needs one.
template <class T, class Copy, int Threads>
struct all_reduce_kernels {
  using kernel = void (*)(all_reduce_call<T>);

  static kernel of(algorithm how, int ranks) {
    return detail::with_ranks(ranks, [how](auto most) -> kernel {
      constexpr int Ranks = decltype(most)::value;
      if constexpr (has_sentinel<T>) {
        switch (how) {
          case algorithm::lamport_push:
            return lamport_push<T, Ranks>;
          case algorithm::fifo_one_shot:
            return fifo_one_shot<T, Ranks>;
          case algorithm::fifo_two_shot:
            return fifo_two_shot<T, Ranks>;
          default:
            break;
        }
      }
      return all_reduce_direct<T, Ranks, Copy, Threads>;
    });
  }
};

/// A launch of any rank.
template <class T>
struct planned_launch {
  all_reduce_call<T> call{};
  void (*kernel)(all_reduce_call<T>) = nullptr;
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;

  /// Signs what must be equal on all ranks, where ranks compare it.
  void sign(std::size_t count, reduction what, rank_buffers<T> const& buffers) {
    if (!call.checked) { return; }
    auto const entry = reinterpret_cast<void const*>(kernel);
    call.signature = detail::signature(entry, count, what, buffers);
  }
};

/// The part of a launch that does not depend on the message.
struct tiled_launch {
  unsigned threads;
  unsigned tile_vecs;
  std::size_t shared_bytes;
};

/// The launch of `how`, any algorithm but `lamport_push`.
template <class Copy, int Threads>
tiled_launch tiled_shape(algorithm how, int ranks) {
  return detail::with_ranks(ranks, [how](auto most) -> tiled_launch {
    constexpr int Ranks = decltype(most)::value;
    using tuning = direct_tuning<Copy, Ranks, Threads>;
    switch (how) {
      case algorithm::fifo_one_shot:
      case algorithm::fifo_two_shot:
        return {fifo_block::threads, fifo_tile_vecs, 0};
      default:
        return {static_cast<unsigned>(tuning::threads), tuning::tile_vecs, tuning::shared_bytes};
    }
  });
}

/// `kernel::launch`; with `early`, the kernel may start while the one before it on the stream still
/// runs (programmatic dependent launch), which graphs keep when it is recorded into one.
template <class Call>
void launch_early(void (*kernel)(Call), dim3 grid, unsigned threads, std::size_t shared_bytes,
                  ::cuda::stream_ref stream, bool early, Call const& call) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream.get();
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  void* arguments[] = {const_cast<void*>(static_cast<void const*>(&call))};
  auto const entry = reinterpret_cast<void const*>(kernel);
  auto const code = cudaLaunchKernelExC(&config, entry, arguments);
  if (code == cudaSuccess) { return; }
  (void)cudaGetLastError();
  throw kernel::launch_error(code, entry, grid, dim3(threads), shared_bytes);
}

}  // namespace assay::comm
