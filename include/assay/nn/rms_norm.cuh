// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of RMSNorm with residual and of its gradient. `T` is the type of activations.
#pragma once

#include <assay/nn/rms_norm.hpp>
#include <assay/nn/vectors.cuh>

#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// One block for each row. A null branch is zero.
template <int Threads, int Width, class T>
__global__ void rms_norm_rows(int width, float const* residual, T const* branch, float const* gain,
                              float* sum, float* inverse, T* out) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float inverse_of_row;
  auto const first = static_cast<std::size_t>(blockIdx.x) * width;
  float squares = 0, x[Width], y[Width];
  for (int c = threadIdx.x * Width; c < width; c += Threads * Width) {
    load(residual + first + c, x);
    if (branch != nullptr) {
      load(branch + first + c, y);
      for (int i = 0; i < Width; ++i) { x[i] += y[i]; }
    }
    store(sum + first + c, x);
    for (float const each : x) { squares += each * each; }
  }
  float const total = reduce{held}.Sum(squares);
  if (threadIdx.x == 0) {
    inverse_of_row = 1 / sqrtf(total / width + static_cast<float>(rms_epsilon));
    inverse[blockIdx.x] = inverse_of_row;
  }
  __syncthreads();
  for (int c = threadIdx.x * Width; c < width; c += Threads * Width) {
    load(sum + first + c, x);  // what this thread wrote
    load(gain + c, y);
    for (int i = 0; i < Width; ++i) { x[i] = x[i] * inverse_of_row * y[i]; }
    store(out + first + c, x);
  }
}

/// The gradient of the sum: one block for each row. A null copy is not written.
template <int Threads, int Width, class T>
__global__ void rms_norm_gradient_rows(int width, bool accumulate, T const* out_gradient,
                                       float const* sum, float const* gain, float const* inverse,
                                       float* sum_gradient, T* copy) {
  using reduce = cub::BlockReduce<float, Threads>;
  __shared__ typename reduce::TempStorage held;
  __shared__ float along;
  auto const first = static_cast<std::size_t>(blockIdx.x) * width;
  float const inverse_of_row = inverse[blockIdx.x];
  float products = 0, d[Width], s[Width], g[Width], before[Width];
  for (int c = threadIdx.x * Width; c < width; c += Threads * Width) {
    load(out_gradient + first + c, d);
    load(sum + first + c, s);
    load(gain + c, g);
    for (int i = 0; i < Width; ++i) { products += d[i] * g[i] * s[i]; }
  }
  float const dot = reduce{held}.Sum(products);
  if (threadIdx.x == 0) { along = dot * inverse_of_row * inverse_of_row / width; }
  __syncthreads();
  for (int c = threadIdx.x * Width; c < width; c += Threads * Width) {
    auto const at = first + c;
    load(out_gradient + at, d);
    load(sum + at, s);
    load(gain + c, g);
    for (int i = 0; i < Width; ++i) { d[i] = inverse_of_row * (d[i] * g[i] - s[i] * along); }
    if (accumulate) {
      load(sum_gradient + at, before);
      for (int i = 0; i < Width; ++i) { d[i] = before[i] + d[i]; }
    }
    store(sum_gradient + at, d);
    if (copy != nullptr) { store(copy + at, d); }
  }
}

/// The first line of a block adds what all lines hold for its columns, in their order.
template <int Lines, int Width>
__device__ void add_lines(float (&mine)[Width]) {
  __shared__ float held[Lines][Width][32];
  for (int i = 0; i < Width; ++i) { held[threadIdx.y][i][threadIdx.x] = mine[i]; }
  __syncthreads();
  for (int line = 1; line < Lines && threadIdx.y == 0; ++line) {
    for (int i = 0; i < Width; ++i) { mine[i] += held[line][i][threadIdx.x]; }
  }
}

/// Parts of the gradient of the gain. A block of Lines x 32 threads has 32 x Width columns and
/// `rows_of_part` rows. Each line takes every Lines-th row.
template <int Lines, int Width, class T>
__global__ void rms_norm_gain_parts(int rows, int rows_of_part, int width, T const* out_gradient,
                                    float const* sum, float const* inverse, float* parts) {
  int const column = static_cast<int>(blockIdx.x * 32 + threadIdx.x) * Width;
  int const begin = static_cast<int>(blockIdx.y) * rows_of_part;
  int const end = min(rows, begin + rows_of_part);
  float mine[Width] = {}, d[Width], s[Width];
  for (int r = begin + static_cast<int>(threadIdx.y); r < end && column < width; r += Lines) {
    auto const at = static_cast<std::size_t>(r) * width + column;
    load(out_gradient + at, d);
    load(sum + at, s);
    float const inverse_of_row = inverse[r];
    for (int i = 0; i < Width; ++i) { mine[i] += d[i] * s[i] * inverse_of_row; }
  }
  add_lines<Lines>(mine);
  if (threadIdx.y == 0 && column < width) {
    store(parts + static_cast<std::size_t>(blockIdx.y) * width + column, mine);
  }
}

/// The sum of all parts: a block of Lines x 32 threads for 32 columns.
template <int Lines>
__global__ void rms_norm_gain_gradient(int part_count, int width, float const* parts,
                                       float* gain_gradient) {
  int const column = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float mine[1] = {};
  for (int p = static_cast<int>(threadIdx.y); p < part_count && column < width; p += Lines) {
    mine[0] += parts[static_cast<std::size_t>(p) * width + column];
  }
  add_lines<Lines>(mine);
  if (threadIdx.y == 0 && column < width) { gain_gradient[column] = mine[0]; }
}

}  // namespace kernels

template <class T>
void enqueue(::cuda::stream_ref stream, rms_norm const& op, in<float> residual, in<T> branch,
             in<float> gain, std::span<float> sum, std::span<float> inverse, std::span<T> out) {
  constexpr int threads = 128, full = full_width<T>;
  kernel::launch(
      allows_width<full>({op.width},
                         {residual.data(), branch.data(), gain.data(), sum.data(), out.data()})
          ? kernels::rms_norm_rows<threads, full, T>
          : kernels::rms_norm_rows<threads, 1, T>,
      dim3(static_cast<unsigned>(op.rows)), threads, 0, stream, static_cast<int>(op.width),
      residual.data(), op.has_branch ? branch.data() : nullptr, gain.data(), sum.data(),
      inverse.data(), out.data());
}

/// Enqueues the operation. `scratch` has room for 8 rows or more.
template <class T>
void enqueue(::cuda::stream_ref stream, rms_norm_gradient const& op, in<T> out_gradient,
             in<float> sum, in<float> gain, in<float> inverse, std::span<float> sum_gradient,
             std::span<float> gain_gradient, std::span<T> copy, std::span<float> scratch) {
  constexpr int threads = 128, lines = 8, full = full_width<T>;
  // So many parts that they fill a device, and each still has a row for each line.
  constexpr std::size_t most_parts = 64;
  bool const wide =
      allows_width<full>({op.width}, {out_gradient.data(), sum.data(), gain.data(),
                                      sum_gradient.data(), copy.data(), scratch.data()});
  auto const width = static_cast<int>(op.width), rows = static_cast<int>(op.rows);
  kernel::launch(wide ? kernels::rms_norm_gradient_rows<threads, full, T>
                      : kernels::rms_norm_gradient_rows<threads, 1, T>,
                 dim3(static_cast<unsigned>(op.rows)), threads, 0, stream, width, op.accumulate,
                 out_gradient.data(), sum.data(), gain.data(), inverse.data(), sum_gradient.data(),
                 copy.empty() ? nullptr : copy.data());
  auto const parts = static_cast<int>(
      std::min({most_parts, (op.rows + lines - 1) / lines, scratch.size() / op.width}));
  auto const columns = 32 * (wide ? full : 1);
  kernel::launch(wide ? kernels::rms_norm_gain_parts<lines, full, T>
                      : kernels::rms_norm_gain_parts<lines, 1, T>,
                 dim3((width + columns - 1) / columns, parts), dim3(32, lines), 0, stream, rows,
                 (rows + parts - 1) / parts, width, out_gradient.data(), sum.data(), inverse.data(),
                 scratch.data());
  kernel::launch(kernels::rms_norm_gain_gradient<lines>, dim3((width + 31) / 32), dim3(32, lines),
                 0, stream, parts, width, scratch.data(), gain_gradient.data());
}

}  // namespace assay::nn
