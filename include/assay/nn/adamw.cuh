// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of AdamW, in float32: one launch for all weights.
#pragma once

#include <assay/kernel/element_wise_shape.cuh>
#include <assay/kernel/grid_stride.cuh>
#include <assay/nn/adamw.hpp>

#include <cmath>
#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// The factors of a step, rounded once.
struct adamw_factors {
  float beta1, rest1, beta2, rest2, epsilon, keep, rate, root_factor;
};

template <class Real>
__global__ void adamw_elements(std::size_t count, adamw_factors const by, Real const* gradient,
                               Real* weights, Real* first, Real* second) {
  for (auto const i : kernel::grid_stride(count)) {
    Real const g = gradient[i];
    Real const m = by.beta1 * first[i] + by.rest1 * g;
    Real const v = by.beta2 * second[i] + by.rest2 * g * g;
    first[i] = m;
    second[i] = v;
    weights[i] = weights[i] * by.keep - by.rate * m / (sqrtf(v) * by.root_factor + by.epsilon);
  }
}

}  // namespace kernels

inline void enqueue(::cuda::stream_ref stream, adamw_update const& op,
                    std::span<float const> gradient, std::span<float> weights,
                    std::span<float> first, std::span<float> second) {
  auto const& s = op.settings;
  auto const of_step = op.of_step();
  auto const narrow = [](double value) { return static_cast<float>(value); };
  kernels::adamw_factors const by{
      narrow(s.beta1),   narrow(1 - s.beta1),  narrow(s.beta2),      narrow(1 - s.beta2),
      narrow(s.epsilon), narrow(of_step.keep), narrow(of_step.rate), narrow(of_step.root_factor)};
  kernel::launch(kernels::adamw_elements<float>, kernel::element_wise_shape(op.count), 0, stream,
                 op.count, by, gradient.data(), weights.data(), first.data(), second.data());
}

}  // namespace assay::nn
