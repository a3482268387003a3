// SPDX-License-Identifier: Apache-2.0
/// @file
/// The attention of a layer, forward and back, as each policy computes it.
#pragma once

#include <assay/nn/attention.hpp>
#include <assay/nn/masked_softmax.hpp>
#include <assay/nn/product.hpp>
#include <assay/transformer/policies.hpp>

#include <span>

namespace assay::nn {

/// Arrays of the attention of one layer, or their gradients. Queries, keys and values are batch x
/// context x heads x head_size, with positions `attention_products::stride` elements apart. Outputs
/// are the same without gaps.
template <class Real, class Narrow>
struct attention_arrays {
  std::span<Narrow> q, k, v, out;
  std::span<Narrow> scores;  ///< of attention that keeps them: probabilities
  std::span<Real> log_sums;  ///< of other attention: batch x heads x context
};

/// From queries, keys and values to outputs, and to what the backward pass reads. A policy of
/// attention has this function and the next. `at(part)` is the place of an operation.
template <class Run, class At, class Real, class Narrow>
void attend(attention::naive, Run& run, At const& at, attention_products const& op,
            attention_arrays<Real, Narrow> const& a) {
  run(at("scores"), op.scores(), a.q, a.k, a.scores);
  run(at("softmax"), masked_softmax{op.batch * op.heads, op.context}, a.scores);
  run(at("values"), op.outputs(), a.scores, a.v, a.out);
}

/// From the gradient of the outputs, `d.out`, to the gradients of queries, keys and values. A
/// policy that keeps no scores takes the turns of queries and keys too, and turns their gradients
/// back.
template <class Run, class At, class Real, class Narrow>
void attend_back(attention::naive, Run& run, At const& at, attention_products const& op,
                 attention_arrays<Real, Narrow> const& a, attention_arrays<Real, Narrow> const& d) {
  masked_softmax_gradient const softmax{op.batch * op.heads, op.context};
  run(at("probabilities"), op.probability_gradient(), d.out, a.v, d.scores);
  run(at("values"), op.value_gradient(), a.scores, d.out, d.v);
  run(at("softmax"), softmax, a.scores, d.scores);
  run(at("scores q"), op.query_gradient(), d.scores, a.k, d.q);
  run(at("scores k"), op.key_gradient(), d.scores, a.q, d.k);
}

namespace detail {

inline attention_shape shape_of(attention_products const& op) {
  return {op.batch, op.context, op.heads, op.head_size};
}

/// Queries, keys, values and outputs, or their gradients.
template <class Narrow>
struct attention_rows {
  head_rows<Narrow> q, k, v, out;

  template <class Real>
  attention_rows(attention_products const& op, attention_arrays<Real, Narrow> const& a)
      : q{a.q.data(), op.stride},
        k{a.k.data(), op.stride},
        v{a.v.data(), op.stride},
        out{a.out.data(), op.heads * op.head_size} {}
};

}  // namespace detail

template <class Run, class At, class Real, class Narrow>
void attend(attention::fused, Run& run, At const& at, attention_products const& op,
            attention_arrays<Real, Narrow> const& a) {
  detail::attention_rows<Narrow> const rows{op, a};
  run(at("attention"), fused_attention{detail::shape_of(op)}, rows.q, rows.k, rows.v, rows.out,
      a.log_sums);
}

template <class Run, class At, class Real, class Narrow>
void attend_back(attention::fused, Run& run, At const& at, attention_products const& op,
                 attention_arrays<Real, Narrow> const& a, attention_arrays<Real, Narrow> const& d,
                 std::span<Real const> turns) {
  detail::attention_rows<Narrow> const rows{op, a}, to{op, d};
  run(at("attention"), turned_attention_gradient{detail::shape_of(op)}, rows.q, rows.k, rows.v,
      rows.out, a.log_sums, to.out, to.q, to.k, to.v, turns);
}

}  // namespace assay::nn
