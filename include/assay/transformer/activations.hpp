// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arrays of a step, and the plan of its memory.
#pragma once

#include <assay/nn/attention.hpp>
#include <assay/nn/operation.hpp>
#include <assay/nn/rms_norm.hpp>
#include <assay/transformer/decoder.hpp>
#include <assay/transformer/policies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::nn {

namespace detail {

/// Cuts memory into parts that begin at multiples of 256 bytes. A cutter without memory counts.
/// `take` throws `std::length_error` where the memory is too short.
class cutter {
 public:
  explicit cutter(std::span<std::byte> all = {}) : all_(all) {}
  template <class T>
  std::span<T> take(std::size_t size) {
    constexpr std::size_t step = 256;
    auto const first = taken_;
    taken_ += (size * sizeof(T) + step - 1) / step * step;
    if (all_.empty()) { return {}; }
    if (taken_ > all_.size()) {
      throw std::length_error("the arrays of a transformer need more than the " +
                              std::to_string(all_.size()) + " bytes given: see memory_plan");
    }
    return {reinterpret_cast<T*>(all_.data() + first), size};
  }
  template <class T>
  void take(std::span<T>& to, std::size_t size) {
    to = take<T>(size);
  }
  std::size_t taken() const { return taken_; }

 private:
  std::span<std::byte> all_;
  std::size_t taken_ = 0;
};

}  // namespace detail

/// The results of the forward pass of one layer that its backward pass reads. `x` and `middle` are
/// the residual stream before attention and before SwiGLU.
template <class Real, class Narrow>
struct layer_activations {
  std::span<Real> x, inverse1, middle, inverse2;
  std::span<Narrow> normed1, qkv, attended, normed2, ab, gated;
  std::span<Narrow> probabilities;  ///< of attention that keeps its scores
  std::span<Real> log_sums;         ///< of other attention: batch x heads x context
};

/// The gradients of a layer that its products of weights read: of its result, between its blocks,
/// of its queries, keys and values, and of both halves of SwiGLU.
template <class Narrow>
struct layer_gradients {
  std::span<Narrow> out_copy, middle_copy;  ///< of `dx`; empty if the types are the same
  std::span<Narrow> out, middle;            ///< the copies, or `dx` itself
  std::span<Narrow> qkv, ab;
};

/// The intermediate results of a step, and the gradients on their way back. The residual stream
/// and statistics are `Real`, all other activations `Narrow`.
template <class Real, class Narrow = Real>
struct activations {
  nn::layout layout;
  std::vector<layer_activations<Real, Narrow>> layers;
  std::span<Real> x, inverse;        ///< the residual stream behind all layers
  std::span<Narrow> normed, branch;  ///< branch: of a block, before the next norm adds it
  std::span<Narrow> logits;          ///< they become their gradient
  std::span<Real> losses, loss;
  std::span<Real> gain_parts;  ///< of gains: both of each layer, and the last; or empty
  std::span<Real> dx;          ///< gradient of the residual stream
  /// One for each layer whose gradients are needed at once. Layers take turns.
  std::vector<layer_gradients<Narrow>> kept_gradients;
  std::span<Narrow> dnormed, dattended, dscores, dgated;
  std::span<Real const> turns;  ///< `rope_table`, of the owner
  std::size_t bytes = 0;        ///< of all parts together

  layer_gradients<Narrow> const& gradients(std::size_t layer) const {
    return kept_gradients[layer % kept_gradients.size()];
  }

  /// The parts of `all`; without memory only `bytes` means something.
  explicit activations(problem const& of, nn::layout how = {}, std::span<std::byte> all = {})
      : layout(how) {
    detail::cutter cut{all};
    auto const size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    auto const n = size(of.tokens()), nd = n * size(of.model.width);
    auto const ni = n * size(of.model.inner);
    auto const scores = how.keeps_scores ? size(of.scores()) : 0;
    for (std::int64_t l = 0; l < of.model.layers; ++l) {
      auto& to = layers.emplace_back();
      for (auto* each : {&to.x, &to.middle}) { cut.take(*each, nd); }
      for (auto* each : {&to.inverse1, &to.inverse2}) { cut.take(*each, n); }
      for (auto* each : {&to.normed1, &to.attended, &to.normed2}) { cut.take(*each, nd); }
      cut.take(to.qkv, 3 * nd);
      cut.take(to.ab, 2 * ni);
      cut.take(to.gated, ni);
      cut.take(to.probabilities, scores);
      cut.take(to.log_sums, how.keeps_scores ? 0 : n * size(of.model.heads));
    }
    for (auto* each : {&x, &dx}) { cut.take(*each, nd); }
    for (auto* each : {&inverse, &losses}) { cut.take(*each, n); }
    for (auto* each : {&normed, &branch, &dnormed, &dattended}) { cut.take(*each, nd); }
    cut.take(dgated, ni);
    cut.take(dscores, scores);
    cut.take(logits, n * size(of.model.vocabulary));
    cut.take(loss, 1);
    auto const parts = rms_norm_gradient{n, 1, true, how.gain_parts}.gain_parts();
    auto const gains = size(2 * of.model.layers + 1);
    cut.take(gain_parts, how.gain_parts ? gains * parts * size(of.model.width) : 0);
    // The weights of a wide layer keep a device busy alone: on an H200, steps of xl got slower with
    // the gradients of more layers. Without copies, dx is overwritten within a layer.
    constexpr std::int64_t wide = 1 << 24;
    auto const weights = of.model.width * (4 * of.model.width + 3 * of.model.inner);
    if (weights >= wide) { layout.layers_at_once = std::min(layout.layers_at_once, 1); }
    if constexpr (std::is_same_v<Real, Narrow>) { layout.layers_at_once = 0; }
    kept_gradients.resize(size(std::max(1, layout.layers_at_once)));
    for (auto& to : kept_gradients) {
      cut.take(to.qkv, 3 * nd);
      cut.take(to.ab, 2 * ni);
      if constexpr (std::is_same_v<Real, Narrow>) {
        to.out = to.middle = dx;
      } else {
        cut.take(to.out_copy, nd);
        to.middle_copy = to.out_copy;
        if (layout.layers_at_once > 0) { cut.take(to.middle_copy, nd); }
        to.out = to.out_copy;
        to.middle = to.middle_copy;
      }
    }
    bytes = cut.taken();
  }
};

/// The bytes that a training step holds, by purpose, each a multiple of 256. All of it is one
/// piece of memory.
struct memory_plan {
  std::size_t weights = 0;  ///< as floats, or their two halves beside activations of 16 bits
  std::size_t gradients = 0;
  std::size_t moments = 0;    ///< two of AdamW
  std::size_t tokens = 0;     ///< inputs, targets, and the positions of inputs by word
  std::size_t constants = 0;  ///< the table of RoPE, the factors of AdamW
  std::size_t workspace = 0;  ///< of cuBLAS, and for sums in several parts
  std::size_t activations = 0;

  /// Of cuBLAS, and the least of the workspace.
  static constexpr std::size_t workspace_bytes = 32 << 20;

  /// Throws `std::invalid_argument` for heads that the kernels of fused attention cannot take.
  template <class Choices = choices<>>
  explicit memory_plan(problem const& of, Choices const& how = {})
      : memory_plan(
            of, sizeof(typename Choices::activation),
            nn::activations<float, typename Choices::activation>{of, layout_of(how)}.bytes) {
    if constexpr (!Choices::keeps_scores) { hold_attention_terms(of); }
  }

  /// The part that stays from step to step.
  std::size_t kept() const {
    return weights + gradients + moments + tokens + constants + workspace;
  }
  std::size_t peak() const { return kept() + activations; }

  /// Inputs, targets, the positions of inputs by word, and the begins of words in these.
  static std::size_t token_count(problem const& of) {
    return static_cast<std::size_t>(3 * of.tokens() + of.model.vocabulary + 1);
  }

 private:
  memory_plan(problem const& of, std::size_t narrow_bytes, std::size_t of_activations)
      : activations(of_activations) {
    auto const parameters = static_cast<std::size_t>(of.model.parameters());
    gradients = rounded(parameters * sizeof(float));
    moments = 2 * gradients;
    weights = narrow_bytes < sizeof(float) ? 2 * rounded(parameters * narrow_bytes) : gradients;
    tokens = rounded(token_count(of) * sizeof(token));
    constants =
        rounded(static_cast<std::size_t>(of.context * of.model.head_size()) * sizeof(float)) +
        rounded(1);
    workspace = workspace_bytes;
  }

  /// Fused attention has two numbers for each row of scores on its way back.
  void hold_attention_terms(problem const& of) {
    attention_shape const shape{
        static_cast<std::size_t>(of.batch), static_cast<std::size_t>(of.context),
        static_cast<std::size_t>(of.model.heads), static_cast<std::size_t>(of.model.head_size())};
    detail::require_attention(shape);
    workspace = std::max(workspace, rounded(fused_attention_scratch_bytes(shape)));
  }

  static std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

}  // namespace assay::nn
