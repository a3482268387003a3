// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum over the threads of a block, in one order.
#pragma once

#include <assay/core/requirements.hpp>

namespace assay::kernel {

/// Returns the sum of `value` over a one-dimensional block of `Threads` in thread 0, always added
/// in the same order. All threads of the block must call. Two calls need a `__syncthreads` between
/// them. (CUB's header would cost each user a second of compile time.)
template <int Threads, class T>
__device__ T block_sum(T value) {
  constexpr int warps = Threads / 32;
  __shared__ T of_warp[warps];
  for (int apart = 16; apart > 0; apart /= 2) {
    value += __shfl_down_sync(0xFFFFFFFFU, value, static_cast<unsigned>(apart));
  }
  if (threadIdx.x % 32 == 0) { of_warp[threadIdx.x / 32] = value; }
  __syncthreads();
  T sum{};
  if (threadIdx.x == 0) {
    for (int w = 0; w < warps; ++w) { sum += of_warp[w]; }
  }
  return sum;
}

}  // namespace assay::kernel
