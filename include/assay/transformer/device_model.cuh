// SPDX-License-Identifier: Apache-2.0
/// @file
/// The passes of a decoder on a device, in memory of the caller; needs cuBLAS.
#pragma once

#include <assay/host/parallel_for.hpp>
#include <assay/nn/adamw.cuh>
#include <assay/nn/cross_entropy.cuh>
#include <assay/nn/cublas_products.hpp>
#include <assay/nn/embedding.cuh>
#include <assay/nn/fused_attention_backward.cuh>
#include <assay/nn/masked_softmax.cuh>
#include <assay/nn/operation.hpp>
#include <assay/nn/rms_norm.cuh>
#include <assay/nn/rope.cuh>
#include <assay/nn/swiglu.cuh>
#include <assay/nn/weight_update.cuh>
#include <assay/transformer/data_parallel.hpp>
#include <assay/transformer/op_scope.hpp>
#include <assay/transformer/swiglu_product.cuh>
#include <assay/transformer/tokens.hpp>
#include <assay/transformer/update.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::nn {

namespace detail {

/// Calls `each(i)` for all numbers below `count`, in several threads.
template <class Each>
void for_each_number(std::size_t count, Each const& each) {
  host::parallel_for(host::all_threads(), static_cast<std::ptrdiff_t>(count), 1 << 16,
                     [&](auto begin, auto end) {
                       for (auto i = begin; i < end; ++i) { each(static_cast<std::size_t>(i)); }
                     });
}

}  // namespace detail

/// Numbers of a device on the host. Waits for the stream.
template <class T>
std::vector<std::remove_const_t<T>> on_host(::cuda::stream_ref stream, std::span<T> from) {
  std::vector<std::remove_const_t<T>> to(from.size());
  check(cudaMemcpyAsync(to.data(), from.data(), from.size_bytes(), cudaMemcpyDeviceToHost,
                        stream.get()));
  check(cudaStreamSynchronize(stream.get()));
  return to;
}
/// The same of floats in two halves.
inline std::vector<float> on_host(::cuda::stream_ref stream, split_floats const& from) {
  auto const high = on_host(stream, from.high);
  auto const low = on_host(stream, from.low);
  std::vector<float> to(from.size());
  detail::for_each_number(
      to.size(), [&](std::size_t i) { to[i] = static_cast<float>(float_halves{high[i], low[i]}); });
  return to;
}

/// Throws `std::invalid_argument` unless a plan fits the free memory of the current device.
inline void require_free(memory_plan const& plan) {
  std::size_t free_bytes = 0, total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  if (plan.peak() <= free_bytes) { return; }
  auto const mib = [](std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  throw std::invalid_argument("a step needs " + mib(plan.peak()) + " of device memory, and " +
                              mib(free_bytes) +
                              " are free: lower the batch or the context, or take a smaller "
                              "model or activations in bfloat16");
}

/// Enqueues each operation when it is called with it, in a range with the name of its part.
///
/// The payload of the range is the number of the operation in the `ledger` of the problem, so that
/// a trace finds the operation of each kernel. In a capture it owns the nodes, as `op_scope` says.
class device_runner {
 public:
  /// The workspace of the products also holds sums in several parts: all are on one stream.
  device_runner(::cuda::stream_ref stream, cublas_products& products,
                std::span<std::byte> workspace, adamw_factors const* factors,
                std::uint64_t first_number, capture_log& log)
      : stream_(stream),
        products_(products),
        scratch_(reinterpret_cast<float*>(workspace.data()), workspace.size() / sizeof(float)),
        factors_(factors),
        number_(first_number),
        log_(log) {}

  template <class Operation, class... Arguments>
  void operator()(place_in_step const& where, Operation const& what,
                  Arguments const&... arguments) {
    op_scope const scope{where.part.data(), number_++, log_};
    if constexpr (std::same_as<Operation, product>) {
      products_.enqueue(stream_, what, arguments...);
    } else if constexpr (std::same_as<Operation, rms_norm_gradient> ||
                         std::same_as<Operation, turned_attention_gradient>) {
      enqueue(stream_, what, arguments..., scratch_);
    } else if constexpr (std::same_as<Operation, adamw_update>) {
      enqueue(stream_, what, arguments..., factors_);
    } else if constexpr (std::same_as<Operation, swiglu_product> ||
                         std::same_as<Operation, swiglu_product_gradient>) {
      enqueue(stream_, what, arguments..., products_);
    } else if constexpr (std::same_as<Operation, weight_updates>) {
      enqueue(stream_, what, arguments..., factors_, products_);
    } else {
      enqueue(stream_, what, arguments...);
    }
  }
  std::uint64_t number() const { return number_; }

 private:
  ::cuda::stream_ref stream_;
  cublas_products& products_;
  std::span<float> scratch_;
  adamw_factors const* factors_;
  std::uint64_t number_;
  capture_log& log_;
};

/// The weights of a decoder on a device with all that a step keeps, and the passes. Nothing is
/// allocated here. A pass only enqueues kernels, so a stream capture can hold it.
template <class Choices = choices<>>
class device_model {
 public:
  using narrow = typename Choices::activation;
  static_assert(Choices::keeps_scores || std::same_as<narrow, bfloat16>,
                "nn::attention::fused needs nn::bf16");
  using activation_arrays = activations<float, narrow>;

  /// `kept` has `memory_plan::kept()` bytes and begins at a multiple of 256. Throws
  /// `std::invalid_argument` for a problem that is not possible. Weights are undefined at first.
  device_model(problem const& of, Choices const& how, ::cuda::stream_ref stream,
               std::span<std::byte> kept)
      : of_((of.validate(), of)),
        how_(how),
        cut_(kept),
        workspace_(cut_.take<std::byte>(memory_plan{of, how}.workspace)),
        products_(workspace_.first(memory_plan::workspace_bytes), is_tf32) {
    auto const count = static_cast<std::size_t>(of.model.parameters());
    if constexpr (is_split) {
      cut_.take(weights_.high, count);
      cut_.take(weights_.low, count);
    } else {
      cut_.take(weights_, count);
    }
    for (auto* each : {&gradients_, &first_, &second_}) { cut_.take(*each, count); }
    cut_.take(tokens_, memory_plan::token_count(of));
    cut_.take(turns_, static_cast<std::size_t>(of.context * of.model.head_size()));
    cut_.take(factors_, 1);
    check(cudaMemsetAsync(first_.data(), 0, first_.size_bytes(), stream.get()));
    check(cudaMemsetAsync(second_.data(), 0, second_.size_bytes(), stream.get()));
    copy_in(stream, turns_,
            rope_table<float>(static_cast<std::size_t>(of.context),
                              static_cast<std::size_t>(of.model.head_size())));
  }
  device_model(device_model const&) = delete;
  device_model& operator=(device_model const&) = delete;

  problem const& of() const { return of_; }
  weight_span<float, narrow> weights() const { return weights_; }
  std::span<float> gradients() const { return gradients_; }
  /// All that a step of AdamW reads and writes.
  trained_weights<float, narrow> trained() const { return {gradients_, weights_, first_, second_}; }
  /// The nodes of the graph that the passes were last captured into, with their operations.
  std::vector<captured_node> const& captured() const { return log_.nodes(); }
  /// Within a capture, after work that a caller enqueued behind the passes.
  void list_captured() {
    if (log_.active()) { log_.list(); }
  }

  /// The arrays of a step in `memory`, which has `memory_plan::activations` bytes.
  activation_arrays arrays(std::span<std::byte> memory) const {
    activation_arrays made{of_, layout_of(how_), memory};
    made.turns = turns_;
    return made;
  }

  void set_weights(::cuda::stream_ref stream, std::vector<float> const& all) {
    detail::require_size("set_weights", "the argument", std::span{all}, weights_.size());
    if constexpr (is_split) {
      std::vector<narrow> high(all.size());
      std::vector<std::uint16_t> low(all.size());
      detail::for_each_number(all.size(), [&](std::size_t i) {
        float_halves const both{all[i]};
        high[i] = both.high;
        low[i] = both.low;
      });
      copy_in(stream, weights_.high, high);
      copy_in(stream, weights_.low, low);
    } else {
      copy_in(stream, weights_, all);
    }
  }
  /// The tokens of the next passes.
  void set_batch(::cuda::stream_ref stream, token_batch const& batch) {
    require_batch(of_, batch);
    std::vector<token> all;
    all.reserve(tokens_.size());
    all.insert(all.end(), batch.inputs.begin(), batch.inputs.end());
    all.insert(all.end(), batch.targets.begin(), batch.targets.end());
    all.resize(tokens_.size());
    auto const listed = std::span{all}.subspan(2 * batch.inputs.size());
    sort_positions(batch.inputs, listed.first(batch.inputs.size()),
                   listed.subspan(batch.inputs.size()));
    copy_in(stream, tokens_, all);
  }
  /// The settings and the number of the next step of AdamW.
  void set_update(::cuda::stream_ref stream, adamw_update const& op) {
    copy_in(stream, factors_, std::vector{adamw_factors{op}});
  }

  void enqueue_forward(::cuda::stream_ref stream, activation_arrays const& a) {
    number_ = 0;
    run(stream, [&](auto& each) {
      forward_pass(each, of_, how_.attention, std::span<token const>{inputs()}, parameters(), a);
    });
  }
  void enqueue_loss(::cuda::stream_ref stream, activation_arrays const& a) {
    enqueue_forward(stream, a);
    run(stream, [&](auto& each) { loss_pass(each, of_, std::span<token const>{targets()}, a); });
  }
  /// After `enqueue_loss`.
  void enqueue_gradients(::cuda::stream_ref stream, activation_arrays const& a) {
    nn::weights<float> const to{of_.model, gradients_};
    run(stream, [&](auto& each) {
      backward_pass(each, of_, how_.attention, positions(), parameters(), to, a);
    });
  }
  /// A step of training: loss, gradients and AdamW. A rank of several gives its `gradient_average`,
  /// on the same stream.
  template <class... Reduce>
  void enqueue_step(::cuda::stream_ref stream, activation_arrays const& a, Reduce&... reduce) {
    enqueue_loss(stream, a);
    nn::weights<float> const to{of_.model, gradients_};
    run(stream, [&](auto& each) {
      training_pass(each, of_, how_, positions(), parameters(), to, a, adamw_update{}, trained(),
                    reduce...);
    });
  }

 private:
  static constexpr bool is_split = !std::same_as<narrow, float>;
  static constexpr bool is_tf32 = std::same_as<decltype(Choices::precision), tf32>;

  nn::weights<float, narrow> parameters() const {
    return nn::weights<float, narrow>{of_.model, weights_};
  }
  std::span<token> inputs() const { return tokens_.first(static_cast<std::size_t>(of_.tokens())); }
  std::span<token> targets() const { return tokens_.subspan(inputs().size(), inputs().size()); }

  token_positions positions() const {
    auto const listed = tokens_.subspan(2 * inputs().size());
    return {listed.first(inputs().size()), listed.subspan(inputs().size())};
  }

  template <class Pass>
  void run(::cuda::stream_ref stream, Pass const& pass) {
    log_.look(stream);
    device_runner each{stream, products_, workspace_, factors_.data(), number_, log_};
    pass(each);
    number_ = each.number();
    list_captured();
  }
  template <class T>
  static void copy_in(::cuda::stream_ref stream, std::span<T> to, std::vector<T> const& from) {
    check(cudaMemcpyAsync(to.data(), from.data(), to.size_bytes(), cudaMemcpyHostToDevice,
                          stream.get()));
  }

  problem of_;
  Choices how_;
  detail::cutter cut_;
  std::span<std::byte> workspace_;
  cublas_products products_;
  weight_span<float, narrow> weights_;
  std::span<float> gradients_, first_, second_, turns_;
  std::span<token> tokens_;  ///< inputs, targets, positions by word and their begins
  std::span<adamw_factors> factors_;
  std::uint64_t number_ = 0;
  capture_log log_;
};

}  // namespace assay::nn
