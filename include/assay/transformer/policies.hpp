// SPDX-License-Identifier: Apache-2.0
/// @file
/// The choices on the axes of a transformer: precision, attention, projections, optimiser.
#pragma once

#include <assay/core/bfloat16.hpp>
#include <assay/core/policy.hpp>

#include <string_view>
#include <type_traits>

namespace assay::nn {

/// Activations and products in float32, without tf32.
struct fp32 {
  static constexpr std::string_view axis = "precision";
  static constexpr std::string_view name = "fp32";
  using activation = float;
  bool operator==(fp32 const&) const = default;
};

/// Activations in float32, factors of products rounded to 11 significant bits.
struct tf32 {
  static constexpr std::string_view axis = "precision";
  static constexpr std::string_view name = "tf32";
  using activation = float;
  bool operator==(tf32 const&) const = default;
};

/// Activations and factors of products in bfloat16. Weights, their gradients, the residual stream,
/// statistics and all sums are float32.
struct bf16 {
  static constexpr std::string_view axis = "precision";
  static constexpr std::string_view name = "bf16";
  using activation = bfloat16;
  bool operator==(bf16 const&) const = default;
};

namespace attention {

/// Attention as products of matrices and a softmax, with all scores in memory.
struct naive {
  static constexpr std::string_view axis = "attention";
  static constexpr std::string_view name = "naive";
  static constexpr bool keeps_scores = true;
  bool operator==(naive const&) const = default;
};

/// Attention as one operation that keeps no scores: kernels of our own. In bf16 alone, on compute
/// capability 8.0 and up, with heads of 64, 80 or 128 elements.
struct fused {
  static constexpr std::string_view axis = "attention";
  static constexpr std::string_view name = "fused";
  static constexpr bool keeps_scores = false;
  bool operator==(fused const&) const = default;
};

}  // namespace attention

/// The form of the products that make the inputs of attention and of SwiGLU.
namespace projections {

/// One product for each matrix of weights.
struct separate {
  static constexpr std::string_view axis = "projections";
  static constexpr std::string_view name = "separate";
  static constexpr bool is_packed = false;
  bool operator==(separate const&) const = default;
};

/// Queries, keys and values in one product, and both inputs of SwiGLU in one. The weights lie in
/// memory as for `separate`.
struct packed {
  static constexpr std::string_view axis = "projections";
  static constexpr std::string_view name = "packed";
  static constexpr bool is_packed = true;
  bool operator==(packed const&) const = default;
};

}  // namespace projections

/// When AdamW runs, and in how many launches.
namespace optimiser {

/// One launch for all weights, behind the backward pass, and one that adds up the gradients of all
/// gains, whose parts the pass leaves.
struct fused {
  static constexpr std::string_view axis = "optimiser";
  static constexpr std::string_view name = "fused";
  bool operator==(fused const&) const = default;
};

/// A launch for each tensor, behind the backward pass.
struct per_tensor {
  static constexpr std::string_view axis = "optimiser";
  static constexpr std::string_view name = "per_tensor";
  bool operator==(per_tensor const&) const = default;
};

/// The step of each matrix in the product that makes its gradient, which is not kept; those of
/// gains and of the embedding behind the backward pass. One kernel does both in bf16 on compute
/// capability 9.0, in code for sm_90a.
struct in_products {
  static constexpr std::string_view axis = "optimiser";
  static constexpr std::string_view name = "in_products";
  bool operator==(in_products const&) const = default;
};

}  // namespace optimiser

/// A choice on each axis.
template <class Precision = fp32, class Attention = attention::naive,
          class Projections = projections::separate, class Optimiser = optimiser::fused>
struct choices {
  using activation = typename Precision::activation;
  static constexpr bool keeps_scores = Attention::keeps_scores;
  Precision precision{};
  Attention attention{};
  Projections projections{};
  Optimiser optimiser{};
  bool operator==(choices const&) const = default;

  /// A copy that differs in one choice.
  template <class Choice>
  constexpr auto with(Choice const& choice) const {
    if constexpr (Choice::axis == Precision::axis) {
      return choices<Choice, Attention, Projections, Optimiser>{choice, attention, projections,
                                                                optimiser};
    } else if constexpr (Choice::axis == Attention::axis) {
      return choices<Precision, Choice, Projections, Optimiser>{precision, choice, projections,
                                                                optimiser};
    } else if constexpr (Choice::axis == Projections::axis) {
      return choices<Precision, Attention, Choice, Optimiser>{precision, attention, choice,
                                                              optimiser};
    } else {
      static_assert(Choice::axis == Optimiser::axis);
      return choices<Precision, Attention, Projections, Choice>{precision, attention, projections,
                                                                choice};
    }
  }
};

/// True of a choice on an axis of a transformer.
template <class Choice>
concept transformer_choice =
    policy<Choice> &&
    (Choice::axis == fp32::axis || Choice::axis == attention::naive::axis ||
     Choice::axis == projections::separate::axis || Choice::axis == optimiser::fused::axis);

/// The choices that decide the arrays of a step.
struct layout {
  bool packed = false;          ///< projections
  bool keeps_scores = true;     ///< attention: else the logarithms of its sums
  bool gain_parts = false;      ///< optimiser: gradients of gains are added up at once
  int layers_at_once = 0;       ///< optimiser: it reads all gradients of at most so many layers
  bool gated_products = false;  ///< projections and precision: SwiGLU ends products
  bool operator==(layout const&) const = default;
};

template <class Precision, class Attention, class Projections, class Optimiser>
constexpr layout layout_of(choices<Precision, Attention, Projections, Optimiser> const&) {
  return {Projections::is_packed, Attention::keeps_scores,
          std::is_same_v<Optimiser, optimiser::fused> ||
              std::is_same_v<Optimiser, optimiser::in_products>,
          std::is_same_v<Optimiser, optimiser::in_products> ? 2 : 0,
          Projections::is_packed && std::is_same_v<typename Precision::activation, bfloat16>};
}

static_assert(policy<fp32> && policy<tf32> && policy<bf16> && policy<attention::naive>);
static_assert(policy<attention::fused>);
static_assert(policy<projections::separate> && policy<projections::packed>);
static_assert(policy<optimiser::fused> && policy<optimiser::per_tensor>);
static_assert(policy<optimiser::in_products>);

}  // namespace assay::nn
