// SPDX-License-Identifier: Apache-2.0
/// @file
/// `launch_moments`: the sum, the least and the largest of elements, in one kernel.
#pragma once

#include "moments.hpp"

#include <assay/core/error.hpp>
#include <assay/core/place.hpp>
#include <assay/kernel/launch.cuh>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

namespace assay::examples {

/// The moments of one element.
struct to_moments {
  __device__ moments operator()(float each) const { return {each, each, each}; }
};
/// The moments of both.
struct add_moments {
  __device__ moments operator()(moments const& a, moments const& b) const {
    return {a.sum + b.sum, fminf(a.least, b.least), fmaxf(a.most, b.most)};
  }
};

namespace detail {

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

}  // namespace detail

/// The memory for results of blocks. Each thread keeps one for each stream of a device, as cuBLAS
/// does.
struct moments_workspace {
  static constexpr std::size_t bytes = std::size_t{1} << 20;
  struct ender {
    void operator()(void* old) const { (void)cudaFree(old); }
  };
  std::unique_ptr<void, ender> memory;
  std::unique_ptr<void, ender> arrived;  // 0 between kernels

  static moments_workspace& of(on::device place, cudaStream_t stream) {
    thread_local std::map<std::pair<int, cudaStream_t>, moments_workspace> all;
    auto& mine = all[{place.id, stream}];
    if (mine.memory) { return mine; }
    void *made = nullptr, *zero = nullptr;
    check(cudaMalloc(&made, bytes));
    mine.memory.reset(made);
    check(cudaMalloc(&zero, sizeof(unsigned)));
    mine.arrived.reset(zero);
    check(cudaMemsetAsync(zero, 0, sizeof(unsigned), stream));
    return mine;
  }
};

/// Enqueues one kernel that reduces `count` elements to `*out`. Floats add up 16 elements before a
/// double takes them. The first call for a stream of a thread allocates memory. Throws as `check`.
inline void launch_moments(on::device place, cudaStream_t stream, float const* x,
                           std::int64_t count, moments* out) {
  auto& space = moments_workspace::of(place, stream);
  auto const by = [&]<int Width>(std::integral_constant<int, Width>) {
    auto const run = detail::reduce_elements<Width>;
    auto const vectors = count / Width;
    auto const shape = kernel::stride_shape(
        run, place, static_cast<std::uint64_t>(vectors / detail::vectors_at_once + 1),
        detail::reduce_threads);
    kernel::launch(run, shape, 0, stream, x, vectors, static_cast<int>(count % Width),
                   static_cast<moments*>(space.memory.get()),
                   static_cast<unsigned*>(space.arrived.get()), out);
  };
  if (reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
    by(std::integral_constant<int, 4>{});
  } else {
    by(std::integral_constant<int, 1>{});
  }
}

}  // namespace assay::examples
