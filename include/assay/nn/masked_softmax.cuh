// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of the softmax of causal attention and of its gradient.
#pragma once

#include <assay/nn/masked_softmax.hpp>
#include <assay/nn/vectors.cuh>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// A warp for each row. It reads the elements that the mask keeps, and writes all.
template <int Width, class T>
__global__ void masked_softmax_rows(std::size_t rows, int context, T* scores) {
  auto const number = static_cast<std::size_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (number >= rows) { return; }
  auto* const row = scores + number * context;
  int const seen = static_cast<int>(number % context) + 1;
  int const begin = static_cast<int>(threadIdx.x % 32) * Width;
  float x[Width], largest = -INFINITY, sum = 0;
  for (int c = begin; c < seen; c += 32 * Width) {
    load(row + c, x);
    for (int i = 0; i < Width; ++i) { largest = c + i < seen ? fmaxf(largest, x[i]) : largest; }
  }
  largest = warp_maximum(largest);
  for (int c = begin; c < seen; c += 32 * Width) {
    load(row + c, x);
    for (int i = 0; i < Width; ++i) { sum += c + i < seen ? expf(x[i] - largest) : 0; }
  }
  sum = warp_sum(sum);
  for (int c = begin; c < context; c += 32 * Width) {
    load(row + c, x);
    for (int i = 0; i < Width; ++i) { x[i] = c + i < seen ? expf(x[i] - largest) / sum : 0; }
    store(row + c, x);
  }
}

/// A warp for each row.
template <int Width, class T>
__global__ void masked_softmax_gradient_rows(std::size_t rows, int context, T const* probabilities,
                                             T* gradient) {
  auto const number = static_cast<std::size_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (number >= rows) { return; }
  auto const* const of_row = probabilities + number * context;
  auto* const row = gradient + number * context;
  int const seen = static_cast<int>(number % context) + 1;
  int const begin = static_cast<int>(threadIdx.x % 32) * Width;
  float p[Width], d[Width], dot = 0;
  for (int c = begin; c < seen; c += 32 * Width) {
    load(of_row + c, p);
    load(row + c, d);
    for (int i = 0; i < Width; ++i) { dot += c + i < seen ? p[i] * d[i] : 0; }
  }
  dot = warp_sum(dot);
  for (int c = begin; c < context; c += 32 * Width) {
    load(of_row + c, p);
    load(row + c, d);
    for (int i = 0; i < Width; ++i) { d[i] = c + i < seen ? p[i] * (d[i] - dot) : 0; }
    store(row + c, d);
  }
}

}  // namespace kernels

namespace detail {

inline constexpr unsigned softmax_threads = 128;

inline dim3 softmax_grid(std::size_t rows) {
  constexpr std::size_t warps = softmax_threads / 32;
  return {static_cast<unsigned>((rows + warps - 1) / warps)};
}

}  // namespace detail

template <class T>
void enqueue(::cuda::stream_ref stream, masked_softmax const& op, std::span<T> scores) {
  constexpr int full = full_width<T>;
  auto const rows = op.count * op.context;
  kernel::launch(allows_width<full>({op.context}, {scores.data()})
                     ? kernels::masked_softmax_rows<full, T>
                     : kernels::masked_softmax_rows<1, T>,
                 detail::softmax_grid(rows), detail::softmax_threads, 0, stream, rows,
                 static_cast<int>(op.context), scores.data());
}

template <class T>
void enqueue(::cuda::stream_ref stream, masked_softmax_gradient const& op, in<T> probabilities,
             std::span<T> gradient) {
  constexpr int full = full_width<T>;
  auto const rows = op.count * op.context;
  kernel::launch(allows_width<full>({op.context}, {probabilities.data(), gradient.data()})
                     ? kernels::masked_softmax_gradient_rows<full, T>
                     : kernels::masked_softmax_gradient_rows<1, T>,
                 detail::softmax_grid(rows), detail::softmax_threads, 0, stream, rows,
                 static_cast<int>(op.context), probabilities.data(), gradient.data());
}

}  // namespace assay::nn
