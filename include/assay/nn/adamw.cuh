// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of AdamW: one launch for all weights, which are floats or floats in two halves.
#pragma once

#include <assay/kernel/grid_stride.cuh>
#include <assay/nn/adamw.hpp>
#include <assay/nn/vectors.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>

namespace assay::nn {

/// The factors of a step, rounded once. They lie in device memory, so that a recorded graph can
/// take another step each time.
struct adamw_factors {
  float beta1, rest1, beta2, rest2, epsilon, keep, rate, root_factor;

  explicit adamw_factors(adamw_update const& op) {
    auto const& s = op.settings;
    auto const of_step = op.of_step();
    auto const narrow = [](double value) { return static_cast<float>(value); };
    beta1 = narrow(s.beta1);
    rest1 = narrow(1 - s.beta1);
    beta2 = narrow(s.beta2);
    rest2 = narrow(1 - s.beta2);
    epsilon = narrow(s.epsilon);
    keep = narrow(of_step.keep);
    rate = narrow(of_step.rate);
    root_factor = narrow(of_step.root_factor);
  }
};

namespace kernels {

/// `Width` weights from number `at` on.
template <int Width, class Weights>
__device__ void update_weights(std::size_t at, adamw_factors const& by, float const* gradient,
                               Weights weights, float* first, float* second) {
  float g[Width], w[Width], m[Width], v[Width];
  load(gradient + at, g);
  load(weights + at, w);
  load(first + at, m);
  load(second + at, v);
  for (int i = 0; i < Width; ++i) {
    m[i] = by.beta1 * m[i] + by.rest1 * g[i];
    v[i] = by.beta2 * v[i] + by.rest2 * g[i] * g[i];
    w[i] = w[i] * by.keep - by.rate * m[i] / (sqrtf(v[i]) * by.root_factor + by.epsilon);
  }
  store(first + at, m);
  store(second + at, v);
  store(weights + at, w);
}

/// Pieces of `count` weights, `distance` apart, one for each row of blocks.
template <int Width, class Weights>
__global__ void adamw_elements(std::size_t count, std::size_t distance,
                               adamw_factors const* factors, float const* gradient, Weights weights,
                               float* first, float* second) {
  adamw_factors const by = *factors;
  auto const begin = blockIdx.y * distance;
  for (auto const i : kernel::grid_stride(count / Width)) {
    update_weights<Width>(begin + Width * i, by, gradient, weights, first, second);
  }
  auto const rest = count % Width;
  if (blockIdx.x == 0 && threadIdx.x < rest) {
    update_weights<1>(begin + count - rest + threadIdx.x, by, gradient, weights, first, second);
  }
}

template <class From, class To>
__global__ void copy_elements(std::size_t count, From from, To to) {
  for (auto const i : kernel::grid_stride(count)) {
    float one[1];
    load(from + i, one);
    store(to + i, one);
  }
}

}  // namespace kernels

namespace detail {

/// A thread for each element, and at least one block.
inline kernel::launch_shape element_shape(std::size_t count) {
  constexpr std::size_t threads = 256, most = 0x7FFF'FFFF;
  auto const blocks = std::clamp<std::size_t>((count + threads - 1) / threads, 1, most);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(threads)};
}

}  // namespace detail

/// Enqueues the operation. The weights are floats, or floats in two halves.
template <class Weights>
void enqueue(::cuda::stream_ref stream, adamw_update const& op, in<float> gradient,
             Weights const& weights, std::span<float> first, std::span<float> second,
             adamw_factors const* factors) {
  constexpr int full = 4;
  auto const [begin, other] = arrays_of(weights);
  bool const wide = allows_width<full>(
      {op.distance}, {gradient.data(), begin, other, first.data(), second.data()});
  auto const all = kernels::begin_of(weights);
  using pointer = std::remove_const_t<decltype(all)>;
  auto const shape = detail::element_shape(wide ? op.count / full : op.count);
  kernel::launch(
      wide ? kernels::adamw_elements<full, pointer> : kernels::adamw_elements<1, pointer>,
      dim3(shape.blocks, static_cast<unsigned>(op.pieces)), dim3(shape.threads), 0, stream,
      op.count, op.distance, factors, gradient.data(), all, first.data(), second.data());
}

/// Writes numbers in another type.
template <class From, class To>
void enqueue_copy(::cuda::stream_ref stream, From const& from, To const& to) {
  auto const begin = kernels::begin_of(from);
  auto const end = kernels::begin_of(to);
  kernel::launch(kernels::copy_elements<std::remove_const_t<decltype(begin)>,
                                        std::remove_const_t<decltype(end)>>,
                 detail::element_shape(to.size()), 0, stream, to.size(), begin, end);
}

}  // namespace assay::nn
