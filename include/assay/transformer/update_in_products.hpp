// SPDX-License-Identifier: Apache-2.0
/// @file
/// A backward pass whose products of weights also update them, as in `step.hpp`.
#pragma once

#include <assay/nn/adamw.hpp>
#include <assay/nn/operation.hpp>
#include <assay/nn/product.hpp>
#include <assay/nn/rms_norm.hpp>
#include <assay/nn/weight_update.hpp>
#include <assay/transformer/step.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace assay::nn {

/// What a step of AdamW reads and writes.
template <class Real, class Narrow = Real>
struct trained_weights {
  std::span<Real> gradients;
  weight_span<Real, Narrow> weights;
  std::span<Real> first, second;
};

/// Runs the operations of a backward pass, but holds products of weights back and runs them with
/// their updates. The products of some layers, or of a block, run together: the tiles of few
/// weights leave much of a device idle at the end of a launch.
template <class Run, class Real, class Narrow>
class products_with_updates {
 public:
  products_with_updates(Run& run, nn::layout how, adamw_update const& op,
                        trained_weights<Real, Narrow> const& all)
      : run_(run), most_layers_(how.layers_at_once), op_(op), all_(all) {}

  template <class Operation, class... Arguments>
  void operator()(place_in_step const& where, Operation const& what,
                  Arguments const&... arguments) {
    // A norm overwrites the gradient of the residual stream, which the products held back read. The
    // one at the end of a layer overwrites what the oldest of `most_layers_` reads.
    if constexpr (std::same_as<Operation, rms_norm_gradient>) {
      held_layers_ += where.part == "norm1";
      if (held_layers_ >= most_layers_) { flush(); }
    }
    run_(where, what, arguments...);
  }
  void operator()(place_in_step const& where, product const& what, std::span<Narrow> a, auto b,
                  auto c) {
    if constexpr (std::same_as<decltype(c), std::span<Real>>) {
      if (what.of_weights) { return hold(where, what, a, b, c); }
    }
    run_(where, what, a, b, c);
  }
  /// Runs what is held back.
  void flush() {
    if (held_.all.empty()) { return; }
    run_(place_in_step{phase::backward, last_layer_, "weights"}, held_, arrays_);
    held_.all.clear();
    arrays_.clear();
    held_layers_ = 0;
  }

 private:
  void hold(place_in_step const& where, product const& what, std::span<Narrow> dy,
            std::span<Narrow> x, std::span<Real> gradient) {
    weight_update const op{{what.depth, what.columns, what.rows}, op_.settings, op_.step};
    auto const offset = static_cast<std::size_t>(gradient.data() - all_.gradients.data());
    auto const part = [&](auto from) {
      return from.empty() ? from : from.subspan(offset, op.count());
    };
    last_layer_ = where.layer;
    held_.all.push_back(op);
    arrays_.push_back({dy, x, gradient, part(all_.weights), part(all_.first), part(all_.second)});
  }

  Run& run_;
  int most_layers_;
  adamw_update op_;
  trained_weights<Real, Narrow> all_;
  weight_updates held_;
  std::vector<weight_arrays<Real, Narrow>> arrays_;
  int last_layer_ = -1;  ///< whose products are held back
  int held_layers_ = 0;  ///< with all of their products
};

}  // namespace assay::nn
