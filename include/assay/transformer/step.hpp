// SPDX-License-Identifier: Apache-2.0
/// @file
/// The passes of a decoder as sequences of operations, written once for all that run them.
///
/// `run(where, operation, arguments...)` is called for each operation in turn. A runner computes on
/// the host, enqueues on a device, or writes a table.
#pragma once

#include <assay/nn/cross_entropy.hpp>
#include <assay/nn/embedding.hpp>
#include <assay/nn/product.hpp>
#include <assay/nn/rms_norm.hpp>
#include <assay/nn/rope.hpp>
#include <assay/nn/swiglu.hpp>
#include <assay/transformer/activations.hpp>
#include <assay/transformer/attend.hpp>
#include <assay/transformer/policies.hpp>
#include <assay/transformer/swiglu_product.hpp>
#include <assay/transformer/weights.hpp>

#include <cstddef>
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
  operations(problem const& of, nn::layout how)
      : layout(how),
        rows(static_cast<std::size_t>(of.tokens())),
        width(static_cast<std::size_t>(of.model.width)),
        inner(static_cast<std::size_t>(of.model.inner)),
        vocabulary(static_cast<std::size_t>(of.model.vocabulary)),
        attention{static_cast<std::size_t>(of.batch), static_cast<std::size_t>(of.context),
                  static_cast<std::size_t>(of.model.heads),
                  static_cast<std::size_t>(of.model.head_size()), how.packed ? 3 * width : width} {}

  nn::layout layout;
  std::size_t rows, width, inner, vocabulary;
  attention_products attention;
  linear square{rows, width, width};
  linear into{rows, width, inner};
  linear qkv{rows, width, 3 * width};
  linear w13{rows, width, 2 * inner};
  linear out_of{rows, inner, width};
  linear head{rows, width, vocabulary};
  /// Of queries and keys at once: they follow each other in memory, whole or row by row.
  rope turn(bool back) const {
    auto const n = attention.batch, h = attention.heads;
    return {layout.packed ? n : 2 * n,
            attention.context,
            layout.packed ? 2 * h : h,
            attention.head_size,
            back,
            attention.stride};
  }
  /// The gradients of all gains, from parts. A layer has a gain, the four matrices of attention, a
  /// gain, and the three of SwiGLU; the last gain follows the layers.
  gain_sums gains(std::size_t layers) const {
    auto const second = width + 4 * width * width;
    return {norm_gradient(true).gain_parts(), width, 2 * layers + 1, second,
            second + width + 3 * width * inner};
  }
  rms_norm_gradient norm_gradient(bool accumulate) const {
    return {rows, width, accumulate, layout.gain_parts};
  }
  swiglu gate() const { return {rows, inner, layout.packed ? 2 * inner : inner}; }
  swiglu_product gated() const { return {rows, width, inner}; }
  swiglu_product_gradient gated_gradient() const { return {rows, inner, width}; }

  /// Array `which` of those that lie side by side in `all`, if packed, or behind each other.
  template <class T>
  std::span<T> part(std::span<T> all, std::size_t columns, std::size_t which) const {
    if (all.empty()) { return all; }
    auto const stride = all.size() / rows;
    return layout.packed ? all.subspan(which * columns, (rows - 1) * stride + columns)
                         : all.subspan(which * rows * columns, rows * columns);
  }
  /// Queries and keys, as `turn` takes them.
  template <class T>
  std::span<T> queries_and_keys(std::span<T> qkv_of) const {
    return qkv_of.empty() ? qkv_of : qkv_of.first(turn(false).extent());
  }
  template <class Real, class Narrow>
  attention_arrays<Real, Narrow> arrays(std::span<Narrow> qkv_of, std::span<Narrow> out,
                                        std::span<Narrow> scores, std::span<Real> log_sums) const {
    return {part(qkv_of, width, 0),
            part(qkv_of, width, 1),
            part(qkv_of, width, 2),
            out,
            scores,
            log_sums};
  }
};

namespace detail {

template <class Run, class Attention, class Real, class Narrow>
void attention_forward(Run& run, operations const& op, Attention const& how, int layer,
                       layer_weights<Real, Narrow> const& w,
                       layer_activations<Real, Narrow> const& a,
                       activations<Real, Narrow> const& all) {
  auto const at = [&](std::string_view part) { return place_in_step{phase::forward, layer, part}; };
  auto const arrays = op.arrays(a.qkv, a.attended, a.probabilities, a.log_sums);
  if (op.layout.packed) {
    run(at("qkv"), op.qkv.forward(), a.normed1, w.qkv, a.qkv);
  } else {
    run(at("q"), op.square.forward(), a.normed1, w.q, arrays.q);
    run(at("k"), op.square.forward(), a.normed1, w.k, arrays.k);
    run(at("v"), op.square.forward(), a.normed1, w.v, arrays.v);
  }
  run(at("rope"), op.turn(false), all.turns, op.queries_and_keys(a.qkv));
  attend(how, run, at, op.attention, arrays);
  run(at("output"), op.square.forward(), a.attended, w.output, all.branch);
}

/// From the gradient of the block's output, the `middle` of `all.gradients(layer)`, to the gradient
/// of its input, `all.dnormed`.
template <class Run, class Attention, class Real, class Narrow>
void attention_backward(Run& run, operations const& op, Attention const& how, int layer,
                        layer_weights<Real, Narrow> const& w, layer_weights<Real> const& dw,
                        layer_activations<Real, Narrow> const& a,
                        activations<Real, Narrow> const& all) {
  auto const at = [&](std::string_view part) {
    return place_in_step{phase::backward, layer, part};
  };
  auto const arrays = op.arrays(a.qkv, a.attended, a.probabilities, a.log_sums);
  auto const& kept = all.gradients(static_cast<std::size_t>(layer));
  auto const d = op.arrays(kept.qkv, all.dattended, all.dscores, std::span<Real>{});
  run(at("output"), op.square.input_gradient(), kept.middle, w.output, all.dattended);
  run(at("output weight"), op.square.weight_gradient(), kept.middle, a.attended, dw.output);
  if constexpr (Attention::keeps_scores) {
    attend_back(how, run, at, op.attention, arrays, d);
    run(at("rope"), op.turn(true), all.turns, op.queries_and_keys(kept.qkv));
  } else {
    attend_back(how, run, at, op.attention, arrays, d, all.turns);
  }
  if (op.layout.packed) {
    run(at("qkv"), op.qkv.input_gradient(), kept.qkv, w.qkv, all.dnormed);
    run(at("qkv weight"), op.qkv.weight_gradient(), kept.qkv, a.normed1, dw.qkv);
    return;
  }
  run(at("q"), op.square.input_gradient(), d.q, w.q, all.dnormed);
  run(at("k"), op.square.input_gradient(true), d.k, w.k, all.dnormed);
  run(at("v"), op.square.input_gradient(true), d.v, w.v, all.dnormed);
  run(at("q weight"), op.square.weight_gradient(), d.q, a.normed1, dw.q);
  run(at("k weight"), op.square.weight_gradient(), d.k, a.normed1, dw.k);
  run(at("v weight"), op.square.weight_gradient(), d.v, a.normed1, dw.v);
}

template <class Run, class Real, class Narrow>
void swiglu_forward(Run& run, operations const& op, int layer, layer_weights<Real, Narrow> const& w,
                    layer_activations<Real, Narrow> const& a,
                    activations<Real, Narrow> const& all) {
  auto const at = [&](std::string_view part) { return place_in_step{phase::forward, layer, part}; };
  if (op.layout.gated_products) {
    run(at("w1, w3"), op.gated(), a.normed2, w.w13, a.ab, a.gated);
  } else {
    auto const first = op.part(a.ab, op.inner, 0), second = op.part(a.ab, op.inner, 1);
    if (op.layout.packed) {
      run(at("w1, w3"), op.w13.forward(), a.normed2, w.w13, a.ab);
    } else {
      run(at("w1"), op.into.forward(), a.normed2, w.w1, first);
      run(at("w3"), op.into.forward(), a.normed2, w.w3, second);
    }
    run(at("swiglu"), op.gate(), first, second, a.gated);
  }
  run(at("w2"), op.out_of.forward(), a.gated, w.w2, all.branch);
}

/// As `attention_backward`, from their `out`.
template <class Run, class Real, class Narrow>
void swiglu_backward(Run& run, operations const& op, int layer,
                     layer_weights<Real, Narrow> const& w, layer_weights<Real> const& dw,
                     layer_activations<Real, Narrow> const& a,
                     activations<Real, Narrow> const& all) {
  auto const at = [&](std::string_view part) {
    return place_in_step{phase::backward, layer, part};
  };
  auto const first = op.part(a.ab, op.inner, 0), second = op.part(a.ab, op.inner, 1);
  auto const& d = all.gradients(static_cast<std::size_t>(layer));
  auto const da = op.part(d.ab, op.inner, 0), db = op.part(d.ab, op.inner, 1);
  if (op.layout.gated_products) {
    run(at("w2"), op.gated_gradient(), d.out, w.w2, a.ab, all.dgated, d.ab);
    run(at("w2 weight"), op.out_of.weight_gradient(), d.out, a.gated, dw.w2);
  } else {
    run(at("w2"), op.out_of.input_gradient(), d.out, w.w2, all.dgated);
    run(at("w2 weight"), op.out_of.weight_gradient(), d.out, a.gated, dw.w2);
    run(at("swiglu"), swiglu_gradient{op.rows, op.inner, op.gate().stride}, first, second,
        all.dgated, da, db);
  }
  if (op.layout.packed) {
    run(at("w1, w3"), op.w13.input_gradient(), d.ab, w.w13, all.dnormed);
    run(at("w1, w3 weight"), op.w13.weight_gradient(), d.ab, a.normed2, dw.w13);
    return;
  }
  run(at("w1"), op.into.input_gradient(), da, w.w1, all.dnormed);
  run(at("w3"), op.into.input_gradient(true), db, w.w3, all.dnormed);
  run(at("w1 weight"), op.into.weight_gradient(), da, a.normed2, dw.w1);
  run(at("w3 weight"), op.into.weight_gradient(), db, a.normed2, dw.w3);
}

}  // namespace detail

/// From tokens to logits: x = embedding; x += attention(norm(x)) and x += swiglu(norm(x)) for each
/// layer; logits = norm(x) head^T. Each sum is a part of the norm behind it.
template <class Run, class Attention, class Real, class Narrow>
void forward_pass(Run& run, problem const& of, Attention const& how, std::span<token const> tokens,
                  weights<Real, Narrow> const& w, activations<Real, Narrow> const& a) {
  operations const op{of, a.layout};
  auto const at = [](int layer, std::string_view part) {
    return place_in_step{phase::forward, layer, part};
  };
  std::span<Narrow> const none;
  run(at(-1, "embedding"), embedding{op.rows, op.width, op.vocabulary}, tokens, w.embedding,
      a.layers[0].x);
  auto stream = a.layers[0].x;
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    auto const& layer = a.layers[l];
    auto const number = static_cast<int>(l);
    run(at(number, "norm1"), rms_norm{op.rows, op.width, l > 0}, stream, l > 0 ? a.branch : none,
        w.layers[l].norm1, layer.x, layer.inverse1, layer.normed1);
    detail::attention_forward(run, op, how, number, w.layers[l], layer, a);
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
template <class Run, class Real, class Narrow>
void loss_pass(Run& run, problem const& of, std::span<token const> targets,
               activations<Real, Narrow> const& a) {
  operations const op{of, a.layout};
  run(place_in_step{phase::loss, -1, "cross-entropy"}, cross_entropy{op.rows, op.vocabulary},
      targets, a.logits, a.losses);
  run(place_in_step{phase::loss, -1, "mean"}, mean{op.rows}, a.losses, a.loss);
}

/// From the gradient of the logits to all gradients of the weights, `dw`, which it overwrites.
template <class Run, class Attention, class Real, class Narrow>
void backward_pass(Run& run, problem const& of, Attention const& how, token_positions const& tokens,
                   weights<Real, Narrow> const& w, weights<Real> const& dw,
                   activations<Real, Narrow> const& a) {
  operations const op{of, a.layout};
  auto const at = [](int layer, std::string_view part) {
    return place_in_step{phase::backward, layer, part};
  };
  auto const gains = op.gains(a.layers.size());
  auto const norm = op.norm_gradient(true);
  // The gradient of a gain, or its parts.
  auto const of_gain = [&](std::size_t number, std::span<Real> whole) {
    auto const size = gains.parts * gains.width;
    return a.gain_parts.empty() ? whole : a.gain_parts.subspan(number * size, size);
  };
  run(at(-1, "head"), op.head.input_gradient(), a.logits, w.head, a.dnormed);
  run(at(-1, "head weight"), op.head.weight_gradient(), a.logits, a.normed, dw.head);
  run(at(-1, "norm"), op.norm_gradient(false), a.dnormed, a.x, w.final_norm, a.inverse, a.dx,
      of_gain(gains.gains - 1, dw.final_norm), a.gradients(a.layers.size() - 1).out_copy);
  for (std::size_t l = a.layers.size(); l-- > 0;) {
    auto const& layer = a.layers[l];
    auto const& from = w.layers[l];
    auto const& to = dw.layers[l];
    auto const number = static_cast<int>(l);
    detail::swiglu_backward(run, op, number, from, to, layer, a);
    run(at(number, "norm2"), norm, a.dnormed, layer.middle, from.norm2, layer.inverse2, a.dx,
        of_gain(2 * l + 1, to.norm2), a.gradients(l).middle_copy);
    detail::attention_backward(run, op, how, number, from, to, layer, a);
    auto const below =
        a.gradients(l + a.kept_gradients.size() - 1).out_copy;  // of the layer before
    run(at(number, "norm1"), norm, a.dnormed, layer.x, from.norm1, layer.inverse1, a.dx,
        of_gain(2 * l, to.norm1), below);
  }
  if (op.layout.gain_parts) {
    auto const first = dw.layers[0].norm1;
    auto const size = gains.place(gains.gains - 1) + gains.width;
    run(at(-1, "gains"), gains, a.gain_parts,
        first.empty() ? first : std::span<Real>{first.data(), size});
  }
  run(at(-1, "embedding"), embedding_gradient{op.rows, op.width, op.vocabulary}, tokens, a.dx,
      dw.embedding);
}

}  // namespace assay::nn
