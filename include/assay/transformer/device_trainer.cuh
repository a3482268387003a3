// SPDX-License-Identifier: Apache-2.0
/// @file
/// A decoder that trains on a device; needs cuBLAS.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transformer/device_model.cuh>
#include <assay/transformer/host_trainer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace assay::nn {

/// Weights, gradients, the state of AdamW and all activations on a device, in one piece of memory
/// from a resource. All work runs in the order of one stream; the device of the stream must be
/// current. `memory_plan` has the bytes.
template <class Resource, class Choices = choices<>>
class device_trainer {
 public:
  /// Throws `std::invalid_argument` for a problem or settings that are not possible, and what the
  /// resource throws. The first weights equal the weights of a `host_trainer` with that seed.
  device_trainer(problem const& of, ::cuda::stream_ref stream, Resource resource,
                 adamw const& settings = {}, std::uint64_t seed = 1, Choices const& how = {})
      : settings_((of.validate(), settings.validate(), settings)),
        stream_(stream),
        memory_(memory_plan{of, how}.peak(), stream, resource),
        model_(of, how, stream, memory_.span().first(memory_plan{of, how}.kept())),
        activations_(model_.arrays(memory_.span().subspan(memory_plan{of, how}.kept()))) {
    set_weights(initial_weights<float>(of.model, seed));
  }
  device_trainer(device_trainer const&) = delete;
  device_trainer& operator=(device_trainer const&) = delete;

  problem const& of() const { return model_.of(); }
  int steps() const { return steps_; }

  /// The nodes of the recorded step, with their operations; none before `record`.
  std::vector<captured_node> const& captured() const { return model_.captured(); }

  /// In the order of `weight_tensors`. Each waits for the stream.
  std::vector<float> weights() const { return on_host(stream_, model_.weights()); }
  /// A step keeps those of matrices unless `optimiser::in_products` made them.
  std::vector<float> gradients() const { return on_host(stream_, model_.gradients()); }
  void set_weights(std::vector<float> const& all) { model_.set_weights(stream_, all); }

  /// The forward pass alone: the logits stay on the device. Waits for the stream, as the next three
  /// do.
  void forward(token_batch const& batch) {
    nvtx_range const range{"nn::forward", category::gpu};
    model_.set_batch(stream_, batch);
    model_.enqueue_forward(stream_, activations_);
    check(cudaStreamSynchronize(stream_.get()));
  }
  /// The mean loss of a batch; changes no weight.
  float loss(token_batch const& batch) {
    nvtx_range const range{"nn::loss", category::gpu};
    model_.set_batch(stream_, batch);
    model_.enqueue_loss(stream_, activations_);
    return found_loss();
  }
  /// The mean loss of a batch, and all gradients of the weights.
  float loss_and_gradients(token_batch const& batch) {
    nvtx_range const range{"nn::gradients", category::gpu};
    model_.set_batch(stream_, batch);
    model_.enqueue_loss(stream_, activations_);
    model_.enqueue_gradients(stream_, activations_);
    return found_loss();
  }
  /// Trains on one batch; returns its loss before the step. Throws `loss_error`, and the weights
  /// are then lost. A rank of several gives its `gradient_average`; its steps are not replayed.
  template <class... Reduce>
  float step(token_batch const& batch, Reduce&... reduce) {
    nvtx_range const range{"nn::step", category::gpu};
    model_.set_batch(stream_, batch);
    ++steps_;
    model_.set_update(stream_, {settings_, model_.weights().size(), steps_});
    if (recorded_ && sizeof...(Reduce) == 0) {
      recorded_->launch(stream_);
    } else {
      model_.enqueue_step(stream_, activations_, reduce...);
    }
    auto const found = found_loss();
    if (!std::isfinite(found)) { throw loss_error(found, steps_); }
    return found;
  }

  /// Records a step as a graph, which later steps replay, bit for bit. The stream is not the
  /// default one.
  void record() {
    // A first run on any tokens, since cuBLAS loads its kernels at their first use.
    std::vector<token> const zeros(static_cast<std::size_t>(of().tokens()));
    (void)loss_and_gradients({zeros, zeros});
    submit::stream_capture capture{stream_};
    model_.enqueue_step(stream_, activations_);
    recorded_.emplace(capture.end());
  }

 private:
  float found_loss() const { return on_host(stream_, activations_.loss)[0]; }

  adamw settings_;
  ::cuda::stream_ref stream_;
  buffer<std::byte, Resource, ::cuda::stream_ref> memory_;
  device_model<Choices> model_;
  typename device_model<Choices>::activation_arrays activations_;
  std::optional<submit::graph_exec> recorded_;
  int steps_ = 0;
};

}  // namespace assay::nn
