// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arrays of a step, and the plan of its memory.
#pragma once

#include <assay/nn/decoder.hpp>
#include <assay/nn/operation.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay::nn {

namespace detail {

/// Cuts an array into parts that begin at multiples of 256 bytes. A cutter without an array counts.
template <class Real>
class cutter {
 public:
  explicit cutter(std::span<Real> all = {}) : all_(all) {}
  std::span<Real> take(std::size_t size) {
    constexpr std::size_t step = 256 / sizeof(Real);
    auto const first = taken_;
    taken_ += (size + step - 1) / step * step;
    return all_.empty() ? std::span<Real>{} : all_.subspan(first, size);
  }
  std::size_t taken() const { return taken_; }

 private:
  std::span<Real> all_;
  std::size_t taken_ = 0;
};

}  // namespace detail

/// The results of the forward pass of one layer that its backward pass reads. `x` and `middle` are
/// the residual stream before attention and before SwiGLU.
template <class Real>
struct layer_activations {
  std::span<Real> x, inverse1, normed1, q, k, v, probabilities, attended;
  std::span<Real> middle, inverse2, normed2, a, b, gated;
};

/// The intermediate results of a step with naive attention, and the gradients on their way back.
template <class Real>
struct activations {
  std::vector<layer_activations<Real>> layers;
  std::span<Real> x, inverse, normed;     ///< the residual stream behind all layers
  std::span<Real> branch;                 ///< output of a block, before the next norm adds it
  std::span<Real> logits, losses, loss;   ///< logits become their gradient
  std::span<Real> dx, dnormed;            ///< gradients of the residual stream and of a norm
  std::span<Real> dq, dk, dv, dattended;  ///< gradients of attention
  std::span<Real> dscores;
  std::span<Real> da, db, dgated;  ///< gradients of SwiGLU
  std::span<Real> turns;           ///< `rope_table`
  std::size_t elements = 0;        ///< of all parts together

  /// The parts of `all`; without an array only `elements` means something.
  explicit activations(problem const& of, std::span<Real> all = {}) {
    detail::cutter<Real> cut{all};
    auto const size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    auto const n = size(of.tokens()), nd = n * size(of.model.width);
    auto const ni = n * size(of.model.inner), scores = size(of.scores());
    for (std::int64_t l = 0; l < of.model.layers; ++l) {
      auto& to = layers.emplace_back();
      for (auto* each :
           {&to.x, &to.normed1, &to.q, &to.k, &to.v, &to.attended, &to.middle, &to.normed2}) {
        *each = cut.take(nd);
      }
      for (auto* each : {&to.inverse1, &to.inverse2}) { *each = cut.take(n); }
      for (auto* each : {&to.a, &to.b, &to.gated}) { *each = cut.take(ni); }
      to.probabilities = cut.take(scores);
    }
    for (auto* each : {&x, &normed, &branch, &dx, &dnormed, &dq, &dk, &dv, &dattended}) {
      *each = cut.take(nd);
    }
    for (auto* each : {&inverse, &losses}) { *each = cut.take(n); }
    for (auto* each : {&da, &db, &dgated}) { *each = cut.take(ni); }
    dscores = cut.take(scores);
    logits = cut.take(n * size(of.model.vocabulary));
    loss = cut.take(1);
    turns = cut.take(size(of.context * of.model.head_size()));
    elements = cut.taken();
  }
};

/// The bytes that a training step in float32 with naive attention holds, by purpose.
struct memory_plan {
  std::size_t weights = 0;
  std::size_t gradients = 0;
  std::size_t moments = 0;  ///< two of AdamW
  std::size_t activations = 0;
  std::size_t tokens = 0;            ///< inputs and targets
  std::size_t pointers = 0;          ///< to heads, for batched products on a device
  std::size_t workspace = 32 << 20;  ///< of cuBLAS

  explicit memory_plan(problem const& of) {
    auto const parameters = static_cast<std::size_t>(of.model.parameters()) * sizeof(float);
    weights = gradients = parameters;
    moments = 2 * parameters;
    activations = nn::activations<float>{of}.elements * sizeof(float);
    tokens = 2 * static_cast<std::size_t>(of.tokens()) * sizeof(token);
    pointers = head_pointer_count(of) * sizeof(void*);
  }
  /// A batched product finds the heads of an array by pointers: of five arrays in each layer, and
  /// of their five gradients.
  static std::size_t head_pointer_count(problem const& of) {
    return 5 * static_cast<std::size_t>((of.model.layers + 1) * of.batch * of.model.heads);
  }
  std::size_t peak() const {
    return weights + gradients + moments + activations + tokens + pointers + workspace;
  }
};

}  // namespace assay::nn
