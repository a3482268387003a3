// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of RMSNorm with residual and of its gradient, in float32.
#pragma once

#include <assay/kernel/launch.cuh>
#include <assay/nn/rms_norm.hpp>

#include <cub/block/block_reduce.cuh>

#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// One block for each row. A null branch is zero.
template <int Threads>
__global__ void rms_norm_rows(int width, float const* residual, float const* branch,
                              float const* gain, float* sum, float* inverse, float* out) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float inverse_of_row;
  auto const first = static_cast<std::size_t>(blockIdx.x) * width;
  float squares = 0;
  for (int c = threadIdx.x; c < width; c += Threads) {
    float const x = residual[first + c] + (branch == nullptr ? 0.0F : branch[first + c]);
    sum[first + c] = x;
    squares += x * x;
  }
  float const total = reduce{held}.Sum(squares);
  if (threadIdx.x == 0) {
    inverse_of_row = 1 / sqrtf(total / width + static_cast<float>(rms_epsilon));
    inverse[blockIdx.x] = inverse_of_row;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < width; c += Threads) {
    out[first + c] = sum[first + c] * inverse_of_row * gain[c];
  }
}

/// The gradient of the sum: one block for each row.
template <int Threads>
__global__ void rms_norm_gradient_rows(int width, bool accumulate, float const* out_gradient,
                                       float const* sum, float const* gain, float const* inverse,
                                       float* sum_gradient) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float along;
  auto const first = static_cast<std::size_t>(blockIdx.x) * width;
  float const inverse_of_row = inverse[blockIdx.x];
  float products = 0;
  for (int c = threadIdx.x; c < width; c += Threads) {
    products += out_gradient[first + c] * gain[c] * sum[first + c];
  }
  float const dot = reduce{held}.Sum(products);
  if (threadIdx.x == 0) { along = dot * inverse_of_row * inverse_of_row / width; }
  __syncthreads();
  for (int c = threadIdx.x; c < width; c += Threads) {
    auto const i = first + c;
    float const gradient = inverse_of_row * (out_gradient[i] * gain[c] - sum[i] * along);
    sum_gradient[i] = accumulate ? sum_gradient[i] + gradient : gradient;
  }
}

/// The gradient of the gain: one block of Lines x 32 threads for 32 columns. Each line adds every
/// Lines-th row, then the first line adds the lines: the order is always the same.
template <int Lines>
__global__ void rms_norm_gain_gradient(int rows, int width, float const* out_gradient,
                                       float const* sum, float const* inverse,
                                       float* gain_gradient) {
  __shared__ float of_line[Lines][32];
  int const column = blockIdx.x * 32 + threadIdx.x;
  float mine = 0;
  for (int r = threadIdx.y; r < rows && column < width; r += Lines) {
    auto const i = static_cast<std::size_t>(r) * width + column;
    mine += out_gradient[i] * sum[i] * inverse[r];
  }
  of_line[threadIdx.y][threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.y > 0 || column >= width) { return; }
  for (int line = 1; line < Lines; ++line) { mine += of_line[line][threadIdx.x]; }
  gain_gradient[column] = mine;
}

}  // namespace kernels

inline void enqueue(::cuda::stream_ref stream, rms_norm const& op, std::span<float const> residual,
                    std::span<float const> branch, std::span<float const> gain,
                    std::span<float> sum, std::span<float> inverse, std::span<float> out) {
  constexpr int threads = 256;
  kernel::launch(kernels::rms_norm_rows<threads>, dim3(static_cast<unsigned>(op.rows)), threads, 0,
                 stream, static_cast<int>(op.width), residual.data(),
                 op.has_branch ? branch.data() : nullptr, gain.data(), sum.data(), inverse.data(),
                 out.data());
}

inline void enqueue(::cuda::stream_ref stream, rms_norm_gradient const& op,
                    std::span<float const> out_gradient, std::span<float const> sum,
                    std::span<float const> gain, std::span<float const> inverse,
                    std::span<float> sum_gradient, std::span<float> gain_gradient) {
  constexpr int threads = 256, lines = 32;
  auto const width = static_cast<int>(op.width);
  kernel::launch(kernels::rms_norm_gradient_rows<threads>, dim3(static_cast<unsigned>(op.rows)),
                 threads, 0, stream, width, op.accumulate, out_gradient.data(), sum.data(),
                 gain.data(), inverse.data(), sum_gradient.data());
  kernel::launch(kernels::rms_norm_gain_gradient<lines>, dim3((width + 31) / 32), dim3(32, lines),
                 0, stream, static_cast<int>(op.rows), width, out_gradient.data(), sum.data(),
                 inverse.data(), gain_gradient.data());
}

}  // namespace assay::nn
