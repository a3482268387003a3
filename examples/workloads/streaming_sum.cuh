// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::streaming_sum` on the device.
#pragma once

#include "capped_grid.cuh"
#include "streaming_sum.hpp"

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/core/stream.hpp>
#include <assay/workload/array_workload.cuh>

#include <cstdint>
#include <type_traits>

namespace assay {

namespace kernel {

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

/// The memory for the sums of blocks and for the sum of all; `arrived` is 0 between kernels.
struct sum_target {
  double* of_block;
  unsigned* arrived;
  double* sum;
};

/// The elements of `Vectors` vectors of a thread, added up as `T`.
template <bool Full, int Vectors, class T, class Group, class Tiles>
__device__ T tile_sum(Tiles const& tiles, int tile, int count) {
  constexpr int width = 16 / sizeof(T);
  struct alignas(16) elements {
    T at[width];
  };
  T sum{};
#pragma unroll
  for (int k = 0; k < Vectors; ++k) {
    if (!Full && k * Group::threads + Group::rank() >= count) { continue; }
    auto const four = __builtin_bit_cast(elements, tiles.get(tile, k));
#pragma unroll
    for (int j = 0; j < width; ++j) { sum += four.at[j]; }
  }
  return sum;
}

/// The last block to arrive adds up what all left, in one order.
template <int Threads>
__device__ void combine(double mine, sum_target const& to) {
  __shared__ bool is_last;
  double const sum = block_sum<Threads>(mine);
  if (threadIdx.x == 0) {
    __stcg(to.of_block + blockIdx.x, sum);
    __threadfence();
    is_last = atomicInc(to.arrived, gridDim.x - 1) == gridDim.x - 1;  // wraps round to 0
  }
  __syncthreads();
  if (!is_last) { return; }
  __threadfence();
  double all = 0;
  for (auto b = threadIdx.x; b < gridDim.x; b += Threads) { all += __ldcg(to.of_block + b); }
  all = block_sum<Threads>(all);
  if (threadIdx.x == 0) { *to.sum = all; }
}

/// The sum of `count` vectors and of the elements before and after them.
template <class Strategy, int Threads, class T>
__global__ __launch_bounds__(Threads) void sum_elements(uint4 const* vectors, std::int64_t count,
                                                        T const* before, int elements_before,
                                                        T const* after, int elements_after,
                                                        sum_target to) {
  using group = copy::block<Threads>;
  constexpr int each = copy::vectors_per_thread<Strategy>();
  constexpr int tile = Threads * each;
  copy::vectors<Strategy, group, each> tiles{dynamic_shared()};
  auto const first = [](int i) { return (blockIdx.x + std::int64_t{gridDim.x} * i) * tile; };
  auto const size = [&](int i) {
    auto const left = count - first(i);
    return left < tile ? static_cast<int>(left) : tile;
  };
  double sum = 0;
  copy::walk(
      tiles, tiles_of((count + tile - 1) / tile, blockIdx.x, gridDim.x),
      [&](int i) { tiles.load(i, vectors + first(i), size(i)); },
      [&](int i) {
        auto const there = size(i);
        sum += there == tile ? tile_sum<true, each, T, group>(tiles, i, there)
                             : tile_sum<false, each, T, group>(tiles, i, there);
      });
  auto const rank = static_cast<int>(threadIdx.x);
  if (blockIdx.x == 0 && rank < elements_before) { sum += before[rank]; }
  if (blockIdx.x == 0 && rank < elements_after) { sum += after[rank]; }
  combine<Threads>(sum, to);
}

/// The kernel for so many threads, `std::integral_constant<int, Threads>`; it takes vectors.
template <class Strategy, class T, int Threads>
auto sum_kernel(std::integral_constant<int, Threads>) {
  constexpr int each = copy::vectors_per_thread<Strategy>();
  return tile_kernel{sum_elements<Strategy, Threads, T>, Threads,
                     copy::vectors<Strategy, copy::block<Threads>, each>::storage_bytes,
                     Threads * each};
}

/// Enqueues the sum of elements at any address that `T` can have. A block is one of `max_sms`, or
/// of those resident; `of_block` has room for all of them.
template <class Strategy, class T>
void launch_sum(on::device place, ::cuda::stream_ref stream, T const* x, std::int64_t count,
                int max_sms, int threads, sum_target const& to) {
  constexpr auto width = static_cast<std::int64_t>(16 / sizeof(T));
  auto const past = reinterpret_cast<std::uintptr_t>(x) % 16 / sizeof(T);
  auto const before = std::min<std::int64_t>(past == 0 ? 0 : width - static_cast<int>(past), count);
  auto const vectors = (count - before) / width;
  auto const* const body = x + before;
  with_threads(threads, [&](auto constant) {
    launch_tiles<Strategy>(sum_kernel<Strategy, T>(constant), {place, stream, max_sms}, vectors,
                           reinterpret_cast<uint4 const*>(body), vectors, x,
                           static_cast<int>(before), body + vectors * width,
                           static_cast<int>(count - before - vectors * width), to);
  });
}

}  // namespace kernel

namespace workloads {

/// Throws `std::invalid_argument` that says why, unless the sum can run so on a device.
template <class T, copy_strategy Strategy>
void require_on(on::device place, streaming_sum<T> const& work, Strategy) {
  kernel::with_threads(work.threads, [&](auto constant) {
    kernel::require_tiles<Strategy>(kernel::sum_kernel<Strategy, T>(constant), place);
  });
}

/// Launches one kernel on the lane's stream. The device must be current on this thread.
template <device_lane Lane, class T>
void run_on(Lane& where, streaming_sum<T> const& work, sum_arrays<T> const& all) {
  kernel::launch_sum<typename Lane::copy_type>(where.place, where.stream, all.x, work.elements,
                                               work.max_sms, work.threads,
                                               {all.of_block, all.arrived, all.sum});
}

}  // namespace workloads
}  // namespace assay
