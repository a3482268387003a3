// SPDX-License-Identifier: Apache-2.0
/// @file
/// A training step of one of several ranks, each with its part of the batch, written once for all
/// that run it, as in `step.hpp`.
#pragma once

#include <assay/transformer/tokens.hpp>
#include <assay/transformer/update.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::nn {

/// Gradients that are averaged over the ranks at once: whole tensors that follow each other.
struct gradient_bucket {
  std::size_t offset = 0, count = 0;
  place_in_step complete;  ///< the operation of the backward pass behind which they are complete
  bool operator==(gradient_bucket const&) const = default;
};

/// The buckets of a decoder in the order of a backward pass, which completes gradients from the end
/// of their array on. A bucket ends with a layer and has `least` gradients or more, but the last.
inline std::vector<gradient_bucket> gradient_buckets(decoder const& model, std::size_t least) {
  auto const tensors = weight_tensors(model);
  auto const of_layer = (tensors.size() - 3) / static_cast<std::size_t>(model.layers);
  std::vector<gradient_bucket> all;
  auto end = static_cast<std::size_t>(model.parameters());
  for (auto layer = static_cast<int>(model.layers) - 1; layer >= -1; --layer) {
    auto const first = layer < 0 ? 0 : 1 + static_cast<std::size_t>(layer) * of_layer;
    auto const offset = tensors[first].offset;
    if (layer >= 0 && end - offset < least) { continue; }
    all.push_back(
        {offset, end - offset, {phase::backward, layer, layer < 0 ? "embedding" : "norm1"}});
    end = offset;
  }
  return all;
}

/// The sequences of a rank in a batch of all ranks. The mean loss of the batch is the mean over the
/// ranks. Throws `std::invalid_argument` where the ranks do not share the sequences evenly.
inline token_batch part_of(token_batch const& all, std::int64_t sequences, int rank, int ranks) {
  if (sequences % ranks != 0) {
    throw std::invalid_argument("the batch of " + std::to_string(sequences) +
                                " sequences is not divisible by " + std::to_string(ranks) +
                                " ranks");
  }
  auto const count = all.inputs.size() / static_cast<std::size_t>(ranks);
  auto const part = [&](std::vector<token> const& of) {
    auto const own = std::span{of}.subspan(count * static_cast<std::size_t>(rank), count);
    return std::vector<token>(own.begin(), own.end());
  };
  return {part(all.inputs), part(all.targets)};
}

/// The pass of `update.hpp` for one rank of several. As soon as the gradients of a bucket are
/// complete, `reduce.begin(bucket, gradients)` averages them over the ranks. `reduce.wait(bucket)`
/// waits for the averages, before the tensors of the bucket are updated.
template <class Run, class Choices, class Real, class Narrow, class Reduce>
void training_pass(Run& run, problem const& of, Choices const& how, token_positions const& tokens,
                   weights<Real, Narrow> const& w, weights<Real> const& dw,
                   activations<Real, Narrow> const& a, adamw_update const& op,
                   trained_weights<Real, Narrow> const& all, Reduce& reduce) {
  static_assert(std::same_as<decltype(how.optimiser), optimiser::per_tensor>,
                "optimiser::fused updates all weights at once, and optimiser::in_products before "
                "gradients are averaged: ranks need optimiser::per_tensor, which updates each "
                "tensor behind its bucket");
  auto const& buckets = reduce.buckets();
  auto next = buckets.begin();
  auto const watched = [&](place_in_step const& where, auto const& what, auto const&... arguments) {
    run(where, what, arguments...);
    if (next == buckets.end() || where != next->complete) { return; }
    reduce.begin(*next, all.gradients.subspan(next->offset, next->count));
    ++next;
  };
  backward_pass(watched, of, how.attention, tokens, w, dw, a);
  for (auto const& bucket : buckets) {
    reduce.wait(bucket);
    for (auto const& each : weight_tensors(of.model)) {
      if (each.offset < bucket.offset || each.offset >= bucket.offset + bucket.count) { continue; }
      update_part(run, op, each.offset, each.size(), all);
    }
  }
}

}  // namespace assay::nn
