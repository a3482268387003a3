// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bytes in flight and the shared memory of a block, by workload and copy strategy.
#pragma once

#include "../../examples/workloads/row_gather.cuh"
#include "../../examples/workloads/scale_add.cuh"
#include "../../examples/workloads/streaming_sum.cuh"
#include "../../examples/workloads/transpose.cuh"

#include <assay/core/device.hpp>

#include <algorithm>
#include <type_traits>

namespace assay::benchmark {

/// The bytes in flight of a workload's block at most, and its shared memory.
struct block_use {
  double in_flight = 0;
  double shared_bytes = 0;
};

template <class Strategy, class Work>
block_use use_of(Work const& work) {
  if constexpr (std::is_same_v<Work, workloads::transpose>) {
    constexpr double tile = kernel::transpose_tile::bytes;
    if constexpr (requires { Strategy::unroll; }) {
      return {double{Strategy::unroll} * Strategy::vector_bytes * work.threads, tile};
    } else {
      constexpr int side = kernel::transpose_tile::side;
      return {double{Strategy::stages} * side * side * 4, Strategy::stages * tile};
    }
  } else {
    constexpr int vectors = [] {
      if constexpr (std::is_same_v<Work, workloads::scale_add<float>>) {
        return 2 * kernel::vectors_of_each_input<Strategy>();
      } else {
        return copy::vectors_per_thread<Strategy>();
      }
    }();
    double const tile = 16.0 * vectors * work.threads;
    return {Strategy::stages * tile, Strategy::capability == 75 ? 0.0 : Strategy::stages * tile};
  }
}

/// Blocks that an SM holds at most, by threads and shared memory; registers may allow fewer.
inline int resident_blocks(on::device place, block_use const& use, int threads) {
  int const by_threads = attribute(place, cudaDevAttrMaxThreadsPerMultiProcessor) / threads;
  auto const room = attribute(place, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  auto const taken = use.shared_bytes + attribute(place, cudaDevAttrReservedSharedMemoryPerBlock);
  return std::max(1, std::min(by_threads, static_cast<int>(room / taken)));
}

}  // namespace assay::benchmark
