// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum, the least and the largest of elements, in one kernel.
#pragma once

#include "tasks.hpp"

#include <cstdint>

namespace assay::examples {

struct to_moments {
  __device__ moments operator()(float each) const { return {each, each, each}; }
};
struct add_moments {
  __device__ moments operator()(moments const& a, moments const& b) const {
    return {a.sum + b.sum, fminf(a.least, b.least), fmaxf(a.most, b.most)};
  }
};

/// The threads of a block.
inline constexpr int reduce_threads = 256;
inline constexpr int vectors_at_once = 4;  // of a thread: 64 bytes in flight

/// The moments of a block, in thread 0. Two calls need a `__syncthreads` between them.
__device__ inline moments of_block(moments mine) {
  constexpr int warps = reduce_threads / 32;
  __shared__ double sums[warps];
  __shared__ float least[warps], most[warps];
  for (int apart = 16; apart > 0; apart /= 2) {
    mine = add_moments{}(mine, {__shfl_down_sync(0xFFFFFFFFU, mine.sum, apart),
                                __shfl_down_sync(0xFFFFFFFFU, mine.least, apart),
                                __shfl_down_sync(0xFFFFFFFFU, mine.most, apart)});
  }
  if (threadIdx.x % 32 == 0) {
    auto const warp = threadIdx.x / 32;
    sums[warp] = mine.sum, least[warp] = mine.least, most[warp] = mine.most;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < warps; ++w) { mine = add_moments{}(mine, {sums[w], least[w], most[w]}); }
  }
  return mine;
}

/// The last block to arrive adds up what all left.
__device__ inline void combine_blocks(moments mine, moments* blocks, unsigned* arrived,
                                      moments* out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    blocks[blockIdx.x] = mine;
    __threadfence();
    is_last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;  // wraps round to 0
  }
  __syncthreads();
  if (!is_last) { return; }
  __threadfence();
  moments all;
  for (auto b = threadIdx.x; b < gridDim.x; b += reduce_threads) {
    all = add_moments{}(
        all, {__ldcg(&blocks[b].sum), __ldcg(&blocks[b].least), __ldcg(&blocks[b].most)});
  }
  all = of_block(all);
  if (threadIdx.x == 0) { *out = all; }
}

/// The moments of `count` vectors of `Width` elements and of the `rest` elements after them, in one
/// pass.
template <int Width>
__global__ __launch_bounds__(reduce_threads) void reduce_elements(float const* x,
                                                                  std::int64_t count, int rest,
                                                                  moments* blocks,
                                                                  unsigned* arrived, moments* out) {
  struct alignas(4 * Width) vector {
    float at[Width];
  };
  auto const* const vectors = reinterpret_cast<vector const*>(x);
  moments mine;
  auto const step = std::int64_t{gridDim.x} * reduce_threads * vectors_at_once;
  for (auto first = std::int64_t{blockIdx.x} * reduce_threads * vectors_at_once + threadIdx.x;
       first < count; first += step) {
    vector got[vectors_at_once];
#pragma unroll
    for (int k = 0; k < vectors_at_once; ++k) {
      if (first + k * reduce_threads < count) { got[k] = vectors[first + k * reduce_threads]; }
    }
    float part = 0;  // exact: 16 elements at most
#pragma unroll
    for (int k = 0; k < vectors_at_once; ++k) {
      if (first + k * reduce_threads >= count) { continue; }
      for (float const each : got[k].at) {
        part += each;
        mine.least = fminf(mine.least, each);
        mine.most = fmaxf(mine.most, each);
      }
    }
    mine.sum += part;
  }
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < rest) {
    mine = add_moments{}(mine, to_moments{}(x[count * Width + threadIdx.x]));
  }
  combine_blocks(of_block(mine), blocks, arrived, out);
}

}  // namespace assay::examples
