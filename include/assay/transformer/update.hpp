// SPDX-License-Identifier: Apache-2.0
/// @file
/// The backward pass with a step of AdamW, written once for all that run it, as in `step.hpp`.
#pragma once

#include <assay/nn/adamw.hpp>
#include <assay/transformer/step.hpp>
#include <assay/transformer/update_in_products.hpp>

#include <concepts>
#include <cstddef>

namespace assay::nn {

/// A step of AdamW over `count` weights from `offset` on, and over the further pieces of `op`.
/// Arrays without elements stay so.
template <class Run, class Real, class Narrow>
void update_part(Run& run, adamw_update op, std::size_t offset, std::size_t count,
                 trained_weights<Real, Narrow> const& all) {
  op.count = count;
  auto const part = [&](auto from) {
    return from.empty() ? from : from.subspan(offset, op.extent());
  };
  run(place_in_step{phase::optimiser, -1, "adamw"}, op, part(all.gradients), part(all.weights),
      part(all.first), part(all.second));
}

/// A step of AdamW over what no product makes: the embedding and the gains, of which both of a
/// layer lie as far from those of the next.
template <class Run, class Real, class Narrow>
void update_others(Run& run, adamw_update op, decoder const& model,
                   trained_weights<Real, Narrow> const& all) {
  auto const tensors = weight_tensors(model);
  auto const layers = static_cast<std::size_t>(model.layers);
  auto const of_layer = (tensors.size() - 3) / layers;
  update_part(run, op, 0, tensors[0].size(), all);
  update_part(run, op, tensors[tensors.size() - 2].offset, tensors[tensors.size() - 2].size(), all);
  op.pieces = layers;
  op.distance = tensors[1 + of_layer].offset - tensors[1].offset;
  for (std::size_t i = 1; i <= of_layer; ++i) {
    if (tensors[i].rows == 0) { update_part(run, op, tensors[i].offset, tensors[i].size(), all); }
  }
}

/// `backward_pass` and a step of AdamW. The count of `op` does not matter.
template <class Run, class Choices, class Real, class Narrow>
void training_pass(Run& run, problem const& of, Choices const& how, token_positions const& tokens,
                   weights<Real, Narrow> const& w, weights<Real> const& dw,
                   activations<Real, Narrow> const& a, adamw_update const& op,
                   trained_weights<Real, Narrow> const& all) {
  using optimiser_type = decltype(how.optimiser);
  if constexpr (std::same_as<optimiser_type, optimiser::in_products>) {
    products_with_updates<Run, Real, Narrow> updating{run, a.layout, op, all};
    backward_pass(updating, of, how.attention, tokens, w, dw, a);
    updating.flush();
    return update_others(run, op, of.model, all);
  }
  backward_pass(run, of, how.attention, tokens, w, dw, a);
  if constexpr (std::same_as<optimiser_type, optimiser::fused>) {
    update_part(run, op, 0, static_cast<std::size_t>(of.model.parameters()), all);
  } else if constexpr (std::same_as<optimiser_type, optimiser::per_tensor>) {
    for (auto const& each : weight_tensors(of.model)) {
      update_part(run, op, each.offset, each.size(), all);
    }
  }
}

}  // namespace assay::nn
