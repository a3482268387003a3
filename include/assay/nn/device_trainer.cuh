// SPDX-License-Identifier: Apache-2.0
/// @file
/// A decoder that trains on a device in float32, with naive attention; needs cuBLAS.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/nn/adamw.cuh>
#include <assay/nn/cross_entropy.cuh>
#include <assay/nn/cublas_products.hpp>
#include <assay/nn/embedding.cuh>
#include <assay/nn/host_trainer.hpp>
#include <assay/nn/masked_softmax.cuh>
#include <assay/nn/rms_norm.cuh>
#include <assay/nn/rope.cuh>
#include <assay/nn/swiglu.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace assay::nn {

/// Enqueues each operation when it is called with it, in a range with the name of its part.
///
/// The payload of the range is the number of the operation in the `ledger` of the problem, so that
/// a trace finds the operation of each kernel.
class device_runner {
 public:
  device_runner(::cuda::stream_ref stream, std::span<std::byte> workspace,
                std::span<float*> pointers)
      : stream_(stream), products_(stream, workspace, pointers) {}

  template <class Operation, class... Arguments>
  void operator()(place_in_step const& where, Operation const& what,
                  Arguments const&... arguments) {
    nvtx_range const range{where.part.data(), category::gpu, number_++};
    if constexpr (std::is_same_v<Operation, product>) {
      products_.enqueue(what, arguments...);
    } else {
      enqueue(stream_, what, arguments...);
    }
  }
  /// The next operation is the first one of a step.
  void begin_step() { number_ = 0; }

 private:
  ::cuda::stream_ref stream_;
  cublas_products products_;
  std::uint64_t number_ = 0;
};

/// Weights, gradients, the state of AdamW and all activations on a device, from one resource and in
/// the order of one stream, whose device is current. `memory_plan` has their bytes.
template <class Resource>
class device_trainer {
 public:
  /// Throws `std::invalid_argument` for a problem or settings that are not possible, and what the
  /// resource throws. The first weights are those of a `host_trainer` with that seed.
  device_trainer(problem const& of, ::cuda::stream_ref stream, Resource resource,
                 adamw const& settings = {}, std::uint64_t seed = 1)
      : of_((of.validate(), of)),
        settings_((settings.validate(), settings)),
        stream_(stream),
        weights_(parameters(), stream, resource),
        gradients_(parameters(), stream, resource),
        moments_(2 * parameters(), stream, resource),
        held_(activations<float>{of}.elements, stream, resource),
        tokens_(2 * static_cast<std::size_t>(of.tokens()), stream, resource),
        workspace_(memory_plan{of}.workspace, stream, resource),
        pointers_(memory_plan::head_pointer_count(of), stream, resource),
        run_(stream, workspace_.span(), pointers_.span()),
        activations_(of, held_.span()) {
    set_weights(initial_weights<float>(of.model, seed));
    check(cudaMemsetAsync(moments_.data(), 0, moments_.bytes(), stream.get()));
    copy_in(activations_.turns, rope_table<float>(static_cast<std::size_t>(of.context),
                                                  static_cast<std::size_t>(of.model.head_size())));
  }
  device_trainer(device_trainer const&) = delete;
  device_trainer& operator=(device_trainer const&) = delete;

  problem const& of() const { return of_; }
  int steps() const { return steps_; }

  /// In the order of `weight_tensors`. Each waits for the stream.
  std::vector<float> weights() const { return copy_out(weights_.span()); }
  std::vector<float> gradients() const { return copy_out(gradients_.span()); }
  void set_weights(std::vector<float> const& all) {
    detail::require_size("set_weights", "the argument", std::span{all}, parameters());
    copy_in(weights_.span(), all);
  }

  /// The forward pass alone: the logits stay on the device. Waits for the stream, as the next three
  /// do.
  void forward(token_batch const& batch) {
    nvtx_range const range{"nn::forward", category::gpu};
    enqueue_forward(batch);
    check(cudaStreamSynchronize(stream_.get()));
  }
  /// The mean loss of a batch; changes no weight.
  float loss(token_batch const& batch) {
    nvtx_range const range{"nn::loss", category::gpu};
    enqueue_loss(batch);
    return found_loss();
  }
  /// The mean loss of a batch, and all gradients of the weights.
  float loss_and_gradients(token_batch const& batch) {
    nvtx_range const range{"nn::gradients", category::gpu};
    enqueue_loss(batch);
    enqueue_gradients();
    return found_loss();
  }
  /// Trains on one batch; returns its loss before the step. Throws `loss_error`, and the weights
  /// are then lost.
  float step(token_batch const& batch) {
    nvtx_range const range{"nn::step", category::gpu};
    enqueue_loss(batch);
    enqueue_gradients();
    ++steps_;
    update_pass(run_, settings_, steps_, gradients_.span(), weights_.span(),
                moments_.span().first(parameters()), moments_.span().last(parameters()));
    auto const found = found_loss();
    if (!std::isfinite(found)) { throw loss_error(found, steps_); }
    return found;
  }

 private:
  template <class T>
  using held = buffer<T, Resource, ::cuda::stream_ref>;

  std::size_t parameters() const { return static_cast<std::size_t>(of_.model.parameters()); }
  std::span<token> inputs() { return tokens_.span().first(tokens_.size() / 2); }
  std::span<token> targets() { return tokens_.span().last(tokens_.size() / 2); }

  void enqueue_forward(token_batch const& batch) {
    require_batch(of_, batch);
    copy_in(inputs(), batch.inputs);
    copy_in(targets(), batch.targets);
    run_.begin_step();
    nn::weights<float> const w{of_.model, weights_.span()};
    forward_pass(run_, of_, inputs(), w, activations_);
  }
  void enqueue_loss(token_batch const& batch) {
    enqueue_forward(batch);
    loss_pass(run_, of_, targets(), activations_);
  }
  void enqueue_gradients() {
    nn::weights<float> const w{of_.model, weights_.span()}, dw{of_.model, gradients_.span()};
    backward_pass(run_, of_, inputs(), w, dw, activations_);
  }
  float found_loss() const { return copy_out(std::span<float const>{activations_.loss})[0]; }

  template <class T>
  void copy_in(std::span<T> to, std::vector<T> const& from) {
    check(cudaMemcpyAsync(to.data(), from.data(), to.size_bytes(), cudaMemcpyHostToDevice,
                          stream_.get()));
  }
  std::vector<float> copy_out(std::span<float const> from) const {
    std::vector<float> to(from.size());
    check(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), cudaMemcpyDeviceToHost,
                          stream_.get()));
    check(cudaStreamSynchronize(stream_.get()));
    return to;
  }

  problem of_;
  adamw settings_;
  ::cuda::stream_ref stream_;
  held<float> weights_, gradients_, moments_, held_;
  held<token> tokens_;
  held<std::byte> workspace_;
  held<float*> pointers_;
  device_runner run_;
  activations<float> activations_;
  int steps_ = 0;
};

}  // namespace assay::nn
