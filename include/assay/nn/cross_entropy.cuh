// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of cross-entropy with its gradient, and of the mean.
#pragma once

#include <assay/nn/cross_entropy.hpp>
#include <assay/nn/vectors.cuh>

#include <cub/block/block_reduce.cuh>
#include <cuda/functional>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// One block for each row.
template <int Threads, int Width, class T>
__global__ void cross_entropy_rows(int vocabulary, token const* targets, T* logits, float* losses) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float largest, sum;
  auto* const row = logits + static_cast<std::size_t>(blockIdx.x) * vocabulary;
  int const target = targets[blockIdx.x];
  float of_target[1], x[Width];
  load(row + target, of_target);
  float mine = -INFINITY;
  for (int c = threadIdx.x * Width; c < vocabulary; c += Threads * Width) {
    load(row + c, x);
    for (float const each : x) { mine = fmaxf(mine, each); }
  }
  mine = reduce{held}.Reduce(mine, ::cuda::maximum<float>{});
  if (threadIdx.x == 0) { largest = mine; }
  __syncthreads();
  mine = 0;
  for (int c = threadIdx.x * Width; c < vocabulary; c += Threads * Width) {
    load(row + c, x);
    for (float const each : x) { mine += expf(each - largest); }
  }
  mine = reduce{held}.Sum(mine);
  if (threadIdx.x == 0) {
    sum = mine;
    losses[blockIdx.x] = logf(sum) + largest - of_target[0];
  }
  __syncthreads();
  // Divisions for each element would take longer than its bytes.
  float const share = 1.0F / gridDim.x, factor = share / sum;
  for (int c = threadIdx.x * Width; c < vocabulary; c += Threads * Width) {
    load(row + c, x);
    for (int i = 0; i < Width; ++i) {
      x[i] = expf(x[i] - largest) * factor - (c + i == target ? share : 0.0F);
    }
    store(row + c, x);
  }
}

/// One block.
template <int Threads>
__global__ void mean_of(int count, float const* values, float* out) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  float mine = 0;
  for (int i = threadIdx.x; i < count; i += Threads) { mine += values[i]; }
  float const sum = reduce{held}.Sum(mine);
  if (threadIdx.x == 0) { *out = sum / count; }
}

}  // namespace kernels

template <class T>
void enqueue(::cuda::stream_ref stream, cross_entropy const& op, std::span<token const> targets,
             std::span<T> logits, std::span<float> losses) {
  constexpr int threads = 512, width = full_width<T>;
  auto* const kernel = allows_width<width>({op.vocabulary}, {logits.data()})
                           ? kernels::cross_entropy_rows<threads, width, T>
                           : kernels::cross_entropy_rows<threads, 1, T>;
  kernel::launch(kernel, dim3(static_cast<unsigned>(op.rows)), threads, 0, stream,
                 static_cast<int>(op.vocabulary), targets.data(), logits.data(), losses.data());
}

inline void enqueue(::cuda::stream_ref stream, mean const& op, std::span<float const> values,
                    std::span<float> out) {
  constexpr int threads = 512;
  kernel::launch(kernels::mean_of<threads>, dim3(1), threads, 0, stream, static_cast<int>(op.count),
                 values.data(), out.data());
}

}  // namespace assay::nn
