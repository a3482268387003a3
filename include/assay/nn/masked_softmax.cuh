// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of the softmax of causal attention and of its gradient, in float32.
#pragma once

#include <assay/kernel/launch.cuh>
#include <assay/nn/masked_softmax.hpp>

#include <cub/block/block_reduce.cuh>
#include <cuda/functional>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// One block for each row. It reads the elements that the mask keeps, and writes all.
template <int Threads>
__global__ void masked_softmax_rows(int context, float* scores) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float largest, sum;
  auto* const row = scores + static_cast<std::size_t>(blockIdx.x) * context;
  int const seen = static_cast<int>(blockIdx.x % static_cast<unsigned>(context)) + 1;
  float mine = -INFINITY;
  for (int c = threadIdx.x; c < seen; c += Threads) { mine = fmaxf(mine, row[c]); }
  mine = reduce{held}.Reduce(mine, ::cuda::maximum<float>{});
  if (threadIdx.x == 0) { largest = mine; }
  __syncthreads();
  mine = 0;
  for (int c = threadIdx.x; c < seen; c += Threads) {
    row[c] = expf(row[c] - largest);
    mine += row[c];
  }
  mine = reduce{held}.Sum(mine);
  if (threadIdx.x == 0) { sum = mine; }
  __syncthreads();
  for (int c = threadIdx.x; c < context; c += Threads) { row[c] = c < seen ? row[c] / sum : 0; }
}

/// One block for each row.
template <int Threads>
__global__ void masked_softmax_gradient_rows(int context, float const* probabilities,
                                             float* gradient) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float dot;
  auto const first = static_cast<std::size_t>(blockIdx.x) * context;
  auto const* const p = probabilities + first;
  auto* const d = gradient + first;
  int const seen = static_cast<int>(blockIdx.x % static_cast<unsigned>(context)) + 1;
  float mine = 0;
  for (int c = threadIdx.x; c < seen; c += Threads) { mine += p[c] * d[c]; }
  mine = reduce{held}.Sum(mine);
  if (threadIdx.x == 0) { dot = mine; }
  __syncthreads();
  for (int c = threadIdx.x; c < context; c += Threads) {
    d[c] = c < seen ? p[c] * (d[c] - dot) : 0;
  }
}

}  // namespace kernels

inline void enqueue(::cuda::stream_ref stream, masked_softmax const& op, std::span<float> scores) {
  constexpr int threads = 128;
  kernel::launch(kernels::masked_softmax_rows<threads>,
                 dim3(static_cast<unsigned>(op.count * op.context)), threads, 0, stream,
                 static_cast<int>(op.context), scores.data());
}

inline void enqueue(::cuda::stream_ref stream, masked_softmax_gradient const& op,
                    std::span<float const> probabilities, std::span<float> gradient) {
  constexpr int threads = 128;
  kernel::launch(kernels::masked_softmax_gradient_rows<threads>,
                 dim3(static_cast<unsigned>(op.count * op.context)), threads, 0, stream,
                 static_cast<int>(op.context), probabilities.data(), gradient.data());
}

}  // namespace assay::nn
