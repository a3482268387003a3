// SPDX-License-Identifier: Apache-2.0
/// @file
/// The backward pass with a step of AdamW, written once for all that run it, as in `step.hpp`.
#pragma once

#include <assay/nn/adamw.hpp>
#include <assay/transformer/step.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace assay::nn {

/// What a step of AdamW reads and writes.
template <class Real, class Narrow = Real>
struct trained_weights {
  std::span<Real> gradients, weights, first, second;
  std::span<Narrow> copy;  ///< in the type of activations; empty if that is the same type
};

/// A step of AdamW over `count` weights from `offset` on. Arrays without elements stay so.
template <class Run, class Real, class Narrow>
void update_part(Run& run, adamw_update op, std::size_t offset, std::size_t count,
                 trained_weights<Real, Narrow> const& all) {
  auto const part = [&](auto from) { return from.empty() ? from : from.subspan(offset, count); };
  op.count = count;
  run(place_in_step{phase::optimiser, -1, "adamw"}, op, part(all.gradients), part(all.weights),
      part(all.first), part(all.second), part(all.copy));
}

/// `backward_pass` and a step of AdamW, which also writes the copy of the weights. The count of
/// `op` does not matter.
template <class Run, class Choices, class Real, class Narrow>
void training_pass(Run& run, problem const& of, Choices const& how, token_positions const& tokens,
                   weights<Real, Narrow> const& w, weights<Real> const& dw,
                   activations<Real, Narrow> const& a, adamw_update const& op,
                   trained_weights<Real, Narrow> const& all) {
  using optimiser_type = decltype(how.optimiser);
  backward_pass(run, of, how.attention, tokens, w, dw, a);
  if constexpr (std::same_as<optimiser_type, optimiser::fused>) {
    update_part(run, op, 0, static_cast<std::size_t>(of.model.parameters()), all);
  } else {
    static_assert(std::same_as<optimiser_type, optimiser::per_tensor>);
    for (auto const& each : weight_tensors(of.model)) {
      update_part(run, op, each.offset, each.size(), all);
    }
  }
}

}  // namespace assay::nn
