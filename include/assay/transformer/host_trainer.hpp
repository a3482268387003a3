// SPDX-License-Identifier: Apache-2.0
/// @file
/// A decoder that trains on the host: in float64 the reference of all others.
#pragma once

#include <assay/transformer/data_parallel.hpp>
#include <assay/transformer/tokens.hpp>
#include <assay/transformer/update.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::nn {

/// A loss that is not finite.
class loss_error : public std::runtime_error {
 public:
  loss_error(double loss, int step)
      : std::runtime_error("the loss of step " + std::to_string(step) + " is " +
                           std::to_string(loss) + ": lower the learning rate") {}
};

/// Computes each operation when it is called with it.
struct host_runner {
  template <class Operation, class... Arguments>
  void operator()(place_in_step const&, Operation const& what, Arguments const&... arguments) {
    what(arguments...);
  }
};

/// Weights, gradients and the state of AdamW on the host. For small models: products are plain
/// loops of one thread. Equal seeds and batches give equal bits.
template <class Real, class Choices = choices<>>
class host_trainer {
 public:
  /// Throws `std::invalid_argument` for a problem or settings that are not possible. All numbers
  /// are `Real`, whatever the precision of `how`.
  explicit host_trainer(problem const& of, adamw const& settings = {}, std::uint64_t seed = 1,
                        Choices const& how = {})
      : of_((of.validate(), of)),
        settings_((settings.validate(), settings)),
        weights_(initial_weights<Real>(of.model, seed)),
        gradients_(weights_.size()),
        first_(weights_.size()),
        second_(weights_.size()),
        order_(static_cast<std::size_t>(of.tokens())),
        begins_(static_cast<std::size_t>(of.model.vocabulary) + 1),
        turns_(rope_table<Real>(static_cast<std::size_t>(of.context),
                                static_cast<std::size_t>(of.model.head_size()))),
        held_(activations<Real>{of, layout_of(how)}.bytes),
        activations_(of, layout_of(how), held_),
        how_(how) {
    activations_.turns = turns_;
  }
  host_trainer(host_trainer const&) = delete;
  host_trainer& operator=(host_trainer const&) = delete;

  problem const& of() const { return of_; }
  /// In the order of `weight_tensors`. They may be replaced between steps.
  std::span<Real> weights() { return weights_; }
  std::span<Real const> gradients() const { return gradients_; }
  int steps() const { return steps_; }

  /// The mean loss of a batch; changes no weight.
  Real loss(token_batch const& batch) {
    require_batch(of_, batch);
    nn::weights<Real> const w{of_.model, weights_};
    forward_pass(run_, of_, how_.attention, batch.inputs, w, activations_);
    loss_pass(run_, of_, batch.targets, activations_);
    return activations_.loss[0];
  }

  /// The mean loss of a batch, and all gradients of the weights.
  Real loss_and_gradients(token_batch const& batch) {
    auto const found = loss(batch);
    nn::weights<Real> const w{of_.model, weights_}, dw{of_.model, gradients_};
    sort_positions(batch.inputs, order_, begins_);
    backward_pass(run_, of_, how_.attention, token_positions{order_, begins_}, w, dw, activations_);
    return found;
  }

  /// Trains on one batch; returns its loss before the step. Throws `loss_error`. A rank of several
  /// gives what averages the gradients; see <assay/transformer/data_parallel.hpp>.
  template <class... Reduce>
  Real step(token_batch const& batch, Reduce&... reduce) {
    auto const found = loss(batch);
    if (!std::isfinite(found)) { throw loss_error(static_cast<double>(found), steps_ + 1); }
    ++steps_;
    nn::weights<Real> const w{of_.model, weights_}, dw{of_.model, gradients_};
    sort_positions(batch.inputs, order_, begins_);
    training_pass(run_, of_, how_, token_positions{order_, begins_}, w, dw, activations_,
                  adamw_update{settings_, weights_.size(), steps_},
                  trained_weights<Real>{gradients_, weights_, first_, second_}, reduce...);
    return found;
  }

 private:
  problem of_;
  adamw settings_;
  host_runner run_;
  std::vector<Real> weights_, gradients_, first_, second_;
  std::vector<token> order_, begins_;
  std::vector<Real> turns_;
  std::vector<std::byte> held_;
  activations<Real> activations_;
  Choices how_;
  int steps_ = 0;
};

}  // namespace assay::nn
