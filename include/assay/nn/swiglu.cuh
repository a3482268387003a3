// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of SwiGLU and its gradient, in float32.
#pragma once

#include <assay/kernel/element_wise_shape.cuh>
#include <assay/kernel/grid_stride.cuh>
#include <assay/nn/swiglu.hpp>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

template <class Real>
__global__ void swiglu_elements(std::size_t count, Real const* a, Real const* b, Real* out) {
  for (auto const i : kernel::grid_stride(count)) { out[i] = a[i] / (1 + expf(-a[i])) * b[i]; }
}

template <class Real>
__global__ void swiglu_gradient_elements(std::size_t count, Real const* a, Real const* b,
                                         Real const* out_gradient, Real* a_gradient,
                                         Real* b_gradient) {
  for (auto const i : kernel::grid_stride(count)) {
    Real const s = 1 / (1 + expf(-a[i]));
    a_gradient[i] = out_gradient[i] * b[i] * s * (1 + a[i] * (1 - s));
    b_gradient[i] = out_gradient[i] * a[i] * s;
  }
}

}  // namespace kernels

inline void enqueue(::cuda::stream_ref stream, swiglu const& op, std::span<float const> a,
                    std::span<float const> b, std::span<float> out) {
  kernel::launch(kernels::swiglu_elements<float>, kernel::element_wise_shape(op.count), 0, stream,
                 op.count, a.data(), b.data(), out.data());
}

inline void enqueue(::cuda::stream_ref stream, swiglu_gradient const& op, std::span<float const> a,
                    std::span<float const> b, std::span<float const> out_gradient,
                    std::span<float> a_gradient, std::span<float> b_gradient) {
  kernel::launch(kernels::swiglu_gradient_elements<float>, kernel::element_wise_shape(op.count), 0,
                 stream, op.count, a.data(), b.data(), out_gradient.data(), a_gradient.data(),
                 b_gradient.data());
}

}  // namespace assay::nn
