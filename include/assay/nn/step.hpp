// SPDX-License-Identifier: Apache-2.0
/// @file
/// The passes of a decoder as sequences of operations, written once for all that run them.
///
/// `run(where, operation, arguments...)` is called for each operation in turn. A runner computes on
/// the host, enqueues on a device, or writes a table.
#pragma once

#include <assay/nn/activations.hpp>
#include <assay/nn/adamw.hpp>
#include <assay/nn/cross_entropy.hpp>
#include <assay/nn/embedding.hpp>
#include <assay/nn/masked_softmax.hpp>
#include <assay/nn/product.hpp>
#include <assay/nn/rms_norm.hpp>
#include <assay/nn/rope.hpp>
#include <assay/nn/swiglu.hpp>
#include <assay/nn/weights.hpp>

#include <span>
#include <string_view>

namespace assay::nn {

/// The part of a step that an operation belongs to.
enum class phase { forward, loss, backward, optimiser };

/// The place of an operation in a step.
struct place_in_step {
  nn::phase phase = phase::forward;
  int layer = -1;         ///< -1: outside of the layers
  std::string_view part;  ///< a literal, so that it ends with a zero
  bool operator==(place_in_step const&) const = default;
};

/// The operations of a problem, by their shapes.
struct operations {
  explicit operations(problem const& of)
      : rows(static_cast<std::size_t>(of.tokens())),
        width(static_cast<std::size_t>(of.model.width)),
        inner(static_cast<std::size_t>(of.model.inner)),
        vocabulary(static_cast<std::size_t>(of.model.vocabulary)),
        attention{static_cast<std::size_t>(of.batch), static_cast<std::size_t>(of.context),
                  static_cast<std::size_t>(of.model.heads),
                  static_cast<std::size_t>(of.model.head_size())} {}

  std::size_t rows, width, inner, vocabulary;
  attention_products attention;
  linear square{rows, width, width};
  linear into{rows, width, inner};
  linear out_of{rows, inner, width};
  linear head{rows, width, vocabulary};
  masked_softmax softmax{attention.batch * attention.heads, attention.context};
  rope turn(bool back) const {
    return {attention.batch, attention.context, attention.heads, attention.head_size, back};
  }
};

namespace detail {

template <class Run, class Real>
void attention_forward(Run& run, operations const& op, int layer, layer_weights<Real> const& w,
                       layer_activations<Real> const& a, activations<Real> const& all) {
  auto const at = [&](std::string_view part) { return place_in_step{phase::forward, layer, part}; };
  run(at("q"), op.square.forward(), a.normed1, w.q, a.q);
  run(at("k"), op.square.forward(), a.normed1, w.k, a.k);
  run(at("v"), op.square.forward(), a.normed1, w.v, a.v);
  run(at("rope q"), op.turn(false), all.turns, a.q);
  run(at("rope k"), op.turn(false), all.turns, a.k);
  run(at("scores"), op.attention.scores(), a.q, a.k, a.probabilities);
  run(at("softmax"), op.softmax, a.probabilities);
  run(at("values"), op.attention.outputs(), a.probabilities, a.v, a.attended);
  run(at("output"), op.square.forward(), a.attended, w.output, all.branch);
}

/// From the gradient of the block's output, `all.dx`, to the gradient of its input, `all.dnormed`.
template <class Run, class Real>
void attention_backward(Run& run, operations const& op, int layer, layer_weights<Real> const& w,
                        layer_weights<Real> const& dw, layer_activations<Real> const& a,
                        activations<Real> const& all) {
  auto const at = [&](std::string_view part) {
    return place_in_step{phase::backward, layer, part};
  };
  run(at("output"), op.square.input_gradient(), all.dx, w.output, all.dattended);
  run(at("output weight"), op.square.weight_gradient(), all.dx, a.attended, dw.output);
  run(at("probabilities"), op.attention.probability_gradient(), all.dattended, a.v, all.dscores);
  run(at("values"), op.attention.value_gradient(), a.probabilities, all.dattended, all.dv);
  run(at("softmax"), masked_softmax_gradient{op.softmax.count, op.softmax.context}, a.probabilities,
      all.dscores);
  run(at("scores q"), op.attention.query_gradient(), all.dscores, a.k, all.dq);
  run(at("scores k"), op.attention.key_gradient(), all.dscores, a.q, all.dk);
  run(at("rope q"), op.turn(true), all.turns, all.dq);
  run(at("rope k"), op.turn(true), all.turns, all.dk);
  run(at("q"), op.square.input_gradient(), all.dq, w.q, all.dnormed);
  run(at("k"), op.square.input_gradient(true), all.dk, w.k, all.dnormed);
  run(at("v"), op.square.input_gradient(true), all.dv, w.v, all.dnormed);
  run(at("q weight"), op.square.weight_gradient(), all.dq, a.normed1, dw.q);
  run(at("k weight"), op.square.weight_gradient(), all.dk, a.normed1, dw.k);
  run(at("v weight"), op.square.weight_gradient(), all.dv, a.normed1, dw.v);
}

template <class Run, class Real>
void swiglu_forward(Run& run, operations const& op, int layer, layer_weights<Real> const& w,
                    layer_activations<Real> const& a, activations<Real> const& all) {
  auto const at = [&](std::string_view part) { return place_in_step{phase::forward, layer, part}; };
  run(at("w1"), op.into.forward(), a.normed2, w.w1, a.a);
  run(at("w3"), op.into.forward(), a.normed2, w.w3, a.b);
  run(at("swiglu"), swiglu{op.rows * op.inner}, a.a, a.b, a.gated);
  run(at("w2"), op.out_of.forward(), a.gated, w.w2, all.branch);
}

/// As `attention_backward`.
template <class Run, class Real>
void swiglu_backward(Run& run, operations const& op, int layer, layer_weights<Real> const& w,
                     layer_weights<Real> const& dw, layer_activations<Real> const& a,
                     activations<Real> const& all) {
  auto const at = [&](std::string_view part) {
    return place_in_step{phase::backward, layer, part};
  };
  run(at("w2"), op.out_of.input_gradient(), all.dx, w.w2, all.dgated);
  run(at("w2 weight"), op.out_of.weight_gradient(), all.dx, a.gated, dw.w2);
  run(at("swiglu"), swiglu_gradient{op.rows * op.inner}, a.a, a.b, all.dgated, all.da, all.db);
  run(at("w1"), op.into.input_gradient(), all.da, w.w1, all.dnormed);
  run(at("w3"), op.into.input_gradient(true), all.db, w.w3, all.dnormed);
  run(at("w1 weight"), op.into.weight_gradient(), all.da, a.normed2, dw.w1);
  run(at("w3 weight"), op.into.weight_gradient(), all.db, a.normed2, dw.w3);
}

}  // namespace detail

/// From tokens to logits: x = embedding; x += attention(norm(x)) and x += swiglu(norm(x)) for each
/// layer; logits = norm(x) head^T. Each sum is a part of the norm behind it.
template <class Run, class Real>
void forward_pass(Run& run, problem const& of, std::span<token const> tokens,
                  weights<Real> const& w, activations<Real> const& a) {
  operations const op{of};
  auto const at = [](int layer, std::string_view part) {
    return place_in_step{phase::forward, layer, part};
  };
  std::span<Real> const none;
  run(at(-1, "embedding"), embedding{op.rows, op.width, op.vocabulary}, tokens, w.embedding,
      a.layers[0].x);
  auto stream = a.layers[0].x;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    auto const& layer = a.layers[l];
    auto const number = static_cast<int>(l);
    run(at(number, "norm1"), rms_norm{op.rows, op.width, l > 0}, stream, l > 0 ? a.branch : none,
        w.layers[l].norm1, layer.x, layer.inverse1, layer.normed1);
    detail::attention_forward(run, op, number, w.layers[l], layer, a);
    run(at(number, "norm2"), rms_norm{op.rows, op.width}, layer.x, a.branch, w.layers[l].norm2,
        layer.middle, layer.inverse2, layer.normed2);
    detail::swiglu_forward(run, op, number, w.layers[l], layer, a);
    stream = layer.middle;
  }
  run(at(-1, "norm"), rms_norm{op.rows, op.width}, stream, a.branch, w.final_norm, a.x, a.inverse,
      a.normed);
  run(at(-1, "head"), op.head.forward(), a.normed, w.head, a.logits);
}

/// The mean loss; logits become their gradient.
template <class Run, class Real>
void loss_pass(Run& run, problem const& of, std::span<token const> targets,
               activations<Real> const& a) {
  operations const op{of};
  run(place_in_step{phase::loss, -1, "cross-entropy"}, cross_entropy{op.rows, op.vocabulary},
      targets, a.logits, a.losses);
  run(place_in_step{phase::loss, -1, "mean"}, mean{op.rows}, a.losses, a.loss);
}

/// From the gradient of the logits to all gradients of the weights, `dw`, which it overwrites.
template <class Run, class Real>
void backward_pass(Run& run, problem const& of, std::span<token const> tokens,
                   weights<Real> const& w, weights<Real> const& dw, activations<Real> const& a) {
  operations const op{of};
  auto const at = [](int layer, std::string_view part) {
    return place_in_step{phase::backward, layer, part};
  };
  rms_norm_gradient const norm{op.rows, op.width};
  run(at(-1, "head"), op.head.input_gradient(), a.logits, w.head, a.dnormed);
  run(at(-1, "head weight"), op.head.weight_gradient(), a.logits, a.normed, dw.head);
  run(at(-1, "norm"), rms_norm_gradient{op.rows, op.width, false}, a.dnormed, a.x, w.final_norm,
      a.inverse, a.dx, dw.final_norm);
  for (std::size_t l = a.layers.size(); l-- > 0;) {
    auto const& layer = a.layers[l];
    auto const& from = w.layers[l];
    auto const& to = dw.layers[l];
    auto const number = static_cast<int>(l);
    detail::swiglu_backward(run, op, number, from, to, layer, a);
    run(at(number, "norm2"), norm, a.dnormed, layer.middle, from.norm2, layer.inverse2, a.dx,
        to.norm2);
    detail::attention_backward(run, op, number, from, to, layer, a);
    run(at(number, "norm1"), norm, a.dnormed, layer.x, from.norm1, layer.inverse1, a.dx, to.norm1);
  }
  run(at(-1, "embedding"), embedding_gradient{op.rows, op.width, op.vocabulary}, tokens, a.dx,
      dw.embedding);
}

/// One step of AdamW over all weights.
template <class Run, class Real>
void update_pass(Run& run, adamw const& settings, int step, std::span<Real> gradients,
                 std::span<Real> all, std::span<Real> first, std::span<Real> second) {
  run(place_in_step{phase::optimiser, -1, "adamw"}, adamw_update{settings, all.size(), step},
      gradients, all, first, second);
}

}  // namespace assay::nn
