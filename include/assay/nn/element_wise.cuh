// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of rotary position embedding, and of SwiGLU and its gradient.
#pragma once

#include <assay/nn/rope.hpp>
#include <assay/nn/swiglu.hpp>
#include <assay/nn/vectors.cuh>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// A block row for each position of a sequence, of `columns` elements.
template <int Width, class T>
__global__ void rope_rows(unsigned context, unsigned columns, unsigned head_size,
                          std::size_t stride, bool back, float const* table, T* x) {
  unsigned const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= columns) { return; }
  float turn[Width], from[Width];
  auto* const at = x + blockIdx.x * stride + c;
  load(table + (blockIdx.x % context) * head_size + c % head_size, turn);
  load(at, from);
  for (int i = 0; i < Width; i += 2) {
    float const cosine = turn[i], sine = back ? -turn[i + 1] : turn[i + 1];
    float const first = from[i], second = from[i + 1];
    from[i] = first * cosine - second * sine;
    from[i + 1] = first * sine + second * cosine;
  }
  store(at, from);
}

template <int Width, class T>
__global__ void swiglu_rows(int width, std::size_t stride, T const* a, T const* b, T* out) {
  int const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= width) { return; }
  auto const at = blockIdx.x * stride + c;
  float x[Width], y[Width];
  load(a + at, x);
  load(b + at, y);
  for (int i = 0; i < Width; ++i) { x[i] = x[i] / (1 + expf(-x[i])) * y[i]; }
  store(out + static_cast<std::size_t>(blockIdx.x) * width + c, x);
}

template <int Width, class T>
__global__ void swiglu_gradient_rows(int width, std::size_t stride, T const* a, T const* b,
                                     T const* out_gradient, T* a_gradient, T* b_gradient) {
  int const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= width) { return; }
  auto const at = blockIdx.x * stride + c;
  float x[Width], y[Width], d[Width];
  load(a + at, x);
  load(b + at, y);
  load(out_gradient + static_cast<std::size_t>(blockIdx.x) * width + c, d);
  for (int i = 0; i < Width; ++i) {
    float const s = 1 / (1 + expf(-x[i])), of_b = d[i] * x[i] * s;
    x[i] = d[i] * y[i] * s * (1 + x[i] * (1 - s));
    y[i] = of_b;
  }
  store(a_gradient + at, x);
  store(b_gradient + at, y);
}

}  // namespace kernels

template <class T>
void enqueue(::cuda::stream_ref stream, rope const& op, in<float> table, std::span<T> x) {
  constexpr int full = full_width<T>;
  auto const columns = op.heads * op.head_size;
  bool const wide = allows_width<full>({op.head_size, op.stride}, {table.data(), x.data()});
  row_shape const shape{op.rows(), columns / (wide ? full : 2)};
  auto const narrow = [](std::size_t size) { return static_cast<unsigned>(size); };
  kernel::launch(wide ? kernels::rope_rows<full, T> : kernels::rope_rows<2, T>, shape.grid,
                 shape.threads, 0, stream, narrow(op.context), narrow(columns),
                 narrow(op.head_size), op.stride, op.back, table.data(), x.data());
}

template <class T>
void enqueue(::cuda::stream_ref stream, swiglu const& op, in<T> a, in<T> b, std::span<T> out) {
  constexpr int full = full_width<T>;
  bool const wide = allows_width<full>({op.width, op.stride}, {a.data(), b.data(), out.data()});
  row_shape const shape{op.rows, op.width / (wide ? full : 1)};
  kernel::launch(wide ? kernels::swiglu_rows<full, T> : kernels::swiglu_rows<1, T>, shape.grid,
                 shape.threads, 0, stream, static_cast<int>(op.width), op.stride, a.data(),
                 b.data(), out.data());
}

template <class T>
void enqueue(::cuda::stream_ref stream, swiglu_gradient const& op, in<T> a, in<T> b,
             in<T> out_gradient, std::span<T> a_gradient, std::span<T> b_gradient) {
  constexpr int full = full_width<T>;
  bool const wide = allows_width<full>(
      {op.width, op.stride},
      {a.data(), b.data(), out_gradient.data(), a_gradient.data(), b_gradient.data()});
  row_shape const shape{op.rows, op.width / (wide ? full : 1)};
  kernel::launch(
      wide ? kernels::swiglu_gradient_rows<full, T> : kernels::swiglu_gradient_rows<1, T>,
      shape.grid, shape.threads, 0, stream, static_cast<int>(op.width), op.stride, a.data(),
      b.data(), out_gradient.data(), a_gradient.data(), b_gradient.data());
}

}  // namespace assay::nn
