// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of SwiGLU and its gradient.
#pragma once

#include <assay/nn/swiglu.hpp>
#include <assay/nn/vectors.cuh>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// 1 / (1 + e^-x), off by five roundings: two of `expf`, one of the sum, and two of the reciprocal
/// (PTX ISA, "rcp.approx.ftz"), which has no branch as a quotient has.
template <class = void>
__device__ float sigmoid(float x) {
  float s = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(1 + expf(-x)));
  return s;
}

template <std::size_t Width>
__device__ void gate_elements(float const (&a)[Width], float const (&b)[Width],
                              float (&out)[Width]) {
#pragma unroll
  for (int i = 0; i < int{Width}; ++i) { out[i] = a[i] * sigmoid(a[i]) * b[i]; }
}

/// The gradients take the places of a and b.
template <std::size_t Width>
__device__ void gate_gradients(float (&a)[Width], float (&b)[Width], float const (&d)[Width]) {
#pragma unroll
  for (int i = 0; i < int{Width}; ++i) {
    float const s = sigmoid(a[i]), silu = a[i] * s;
    a[i] = d[i] * b[i] * (s + silu * (1 - s));
    b[i] = d[i] * silu;
  }
}

template <int Width, class T>
__global__ void swiglu_rows(int width, std::size_t stride, T const* a, T const* b, T* out) {
  int const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= width) { return; }
  auto const at = blockIdx.x * stride + c;
  float x[Width], y[Width];
  load(a + at, x);
  load(b + at, y);
  gate_elements(x, y, x);
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
  gate_gradients(x, y, d);
  store(a_gradient + at, x);
  store(b_gradient + at, y);
}

}  // namespace kernels

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
