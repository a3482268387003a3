// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::transformer`: a forward pass or a training step as a workload; needs cuBLAS.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/policy.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/submit/lane.hpp>
#include <assay/transformer/device_model.cuh>
#include <assay/transformer/gradient_check.hpp>
#include <assay/transformer/ledger.hpp>
#include <assay/transformer/update_check.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::nn {

/// The work of one item.
enum class run { forward, step };

/// The results of an item: the loss and gradients of a step, or the last logits of a forward pass.
struct item_outputs {
  float loss = 0;
  std::vector<float> values;  ///< the compared elements of each tensor
};

/// The state of the items of a transformer, with device memory of its own. Activations come from
/// the memory of a lane, and go back before an item ends.
template <class Choices>
class transformer_items {
 public:
  /// Throws `std::invalid_argument` for a problem that is not possible, or beyond the free memory.
  transformer_items(on::device place, problem const& of, nn::run what, std::uint64_t seed,
                    Choices const& how)
      : place_(place),
        what_(what),
        plan_((of.validate(), memory_plan{of, how})),
        own_(place),
        kept_(allocate()),
        model_(of, how, own_, kept_.span()),
        last_(static_cast<std::size_t>(of.model.vocabulary), own_, memory()),
        loss_(1, own_, memory()) {
    auto const first_weights = initial_weights<float>(of.model, seed);
    model_.set_weights(own_, first_weights);
    model_.set_batch(own_, random_batch(of, seed));
    if (what == nn::run::step) {
      wrong_update_ = check_update();
      model_.set_weights(own_, first_weights);
    }
    model_.set_update(own_, resting());
    enqueue(::cuda::stream_ref{own_}, memory());  // cuBLAS loads its kernels
    own_.synchronize();
  }

  template <class Memory>
  void enqueue(::cuda::stream_ref stream, Memory const& from) {
    auto block = make_buffer<std::byte>(plan_.activations, stream, from);
    auto const arrays = model_.arrays(block.span());
    if (what_ == nn::run::forward) {
      model_.enqueue_forward(stream, arrays);
      keep(stream, last_.span(), arrays.logits.last(last_.size()));
      model_.list_captured();
      return;
    }
    model_.enqueue_step(stream, arrays);
    keep(stream, loss_.span(), arrays.loss);
    model_.list_captured();
  }
  void poison() {
    device_guard const guard{place_};
    for (auto const each :
         {std::as_writable_bytes(model_.gradients()), std::as_writable_bytes(last_.span()),
          std::as_writable_bytes(loss_.span())}) {
      check(cudaMemsetAsync(each.data(), 0xFF, each.size(), own_.get()));
    }
    if (!keeps_gradients) {  // numbers near 12: a moment is read before it is written
      auto const moments = std::as_writable_bytes(gradients());
      check(cudaMemsetAsync(moments.data(), 0x41, moments.size(), own_.get()));
    }
    own_.synchronize();
  }
  /// After the last item.
  item_outputs outputs() {
    device_guard const guard{place_};
    item_outputs found;
    if (what_ == nn::run::forward) {
      for (auto const each : on_host(own_, last_.span())) {
        found.values.push_back(static_cast<float>(each));
      }
      return found;
    }
    found.loss = on_host(own_, loss_.span())[0];
    for (auto const& tensor : weight_tensors(model_.of().model)) {
      auto const part =
          on_host(own_, gradients().subspan(tensor.offset, compared_elements(tensor)));
      found.values.insert(found.values.end(), part.begin(), part.end());
    }
    return found;
  }
  /// Of an item. Where the step keeps none, first moments are the gradients, as `resting` says.
  std::span<float> gradients() const {
    return keeps_gradients ? model_.gradients() : model_.trained().first;
  }
  /// What was wrong with weights and moments behind a step with a learning rate above zero.
  mismatch const& wrong_update() const { return wrong_update_; }
  /// The nodes of the last item that a graph recorded, with their operations.
  std::vector<captured_node> const& captured() const { return model_.captured(); }

 private:
  using narrow = typename Choices::activation;
  static constexpr bool keeps_gradients =
      !std::same_as<decltype(Choices::optimiser), optimiser::in_products>;
  using resource = decltype(mr::cuda_malloc{}.open(on::device{0}));
  template <class T>
  using held = buffer<T, resource, ::cuda::stream_ref>;

  /// The step of an item. A learning rate of zero: items are equal, and AdamW runs in full. A first
  /// moment that keeps nothing of the last one is the gradient, bit for bit.
  adamw_update resting() const {
    adamw settings{.learning_rate = 0};
    if (!keeps_gradients) { settings.beta1 = 0; }
    return {settings, model_.weights().size()};
  }
  /// Trains for two steps, of which the second has moments to keep, and looks at both ends of each
  /// tensor. Gradients have a check of their own, so those of the device decide here.
  mismatch check_update() {
    adamw_update op{{.learning_rate = 1e-3, .weight_decay = 0.1}, model_.weights().size(), 1};
    auto const train = [&](adamw_update const& by) {
      model_.set_update(own_, by);
      enqueue(::cuda::stream_ref{own_}, memory());
      return samples();
    };
    auto before = train(op);
    if (!keeps_gradients) { before = train(resting()); }
    op.step = 2;
    auto after = train(op);
    auto const tensors = weight_tensors(model_.of().model);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      // Both steps had the same weights.
      if (!keeps_gradients) { after[i].gradient = before[i].gradient; }
      // The kernel of products with updates has a root and a quotient that are less exact.
      auto const wrong = nn::wrong_update(op, before[i], after[i], keeps_gradients ? 0 : 4);
      if (wrong) { return tensors[i].name + ": " + *wrong; }
    }
    return {};
  }
  std::vector<update_sample> samples() const {
    auto const all = model_.trained();
    std::vector<update_sample> made;
    for (auto const& tensor : weight_tensors(model_.of().model)) {
      auto const some = [&](auto const& from) {
        constexpr std::size_t most = 2048;
        auto const first = std::min(most, tensor.size());
        auto const last = std::min(most, tensor.size() - first);
        auto taken = on_host(own_, from.subspan(tensor.offset, first));
        auto const rest = on_host(own_, from.subspan(tensor.offset + tensor.size() - last, last));
        taken.insert(taken.end(), rest.begin(), rest.end());
        return taken;
      };
      made.push_back({some(gradients()), some(all.weights), some(all.first), some(all.second)});
    }
    return made;
  }

  resource memory() const { return mr::cuda_malloc{}.open(place_); }
  held<std::byte> allocate() const {
    device_guard const guard{place_};
    require_free(plan_);
    return {plan_.kept(), own_, memory()};
  }
  template <class T>
  static void keep(::cuda::stream_ref stream, std::span<T> to, std::span<T> from) {
    check(cudaMemcpyAsync(to.data(), from.data(), to.size_bytes(), cudaMemcpyDeviceToDevice,
                          stream.get()));
  }

  on::device place_;
  nn::run what_;
  memory_plan plan_;
  stream own_;
  held<std::byte> kept_;
  device_model<Choices> model_;
  held<narrow> last_;
  held<float> loss_;
  mismatch wrong_update_;
};

}  // namespace assay::nn

namespace assay::workloads {

/// A decoder: one forward pass, or one step of training with a learning rate of zero.
///
/// The axes are precision, attention, projections and optimiser. An item takes its activations from
/// the memory of its lane at once. The reference of all choices is float32 with separate products.
template <class Choices = nn::choices<>>
struct transformer {
  static constexpr std::string_view name = "transformer";

  nn::decoder model{};
  std::int64_t batch = 4;
  std::int64_t context = 512;
  nn::run run = nn::run::step;
  std::uint64_t seed = 1;
  Choices how{};
  bool operator==(transformer const&) const = default;

  nn::problem of() const { return {model, batch, context}; }
  std::string describe() const {
    return parameter_list{}
        .show(std::to_string(model.layers) + " layers of " + std::to_string(model.width))
        .show(std::to_string(batch) + " x " + std::to_string(context) + " tokens")
        .show(run == nn::run::step ? "step" : "forward")
        .after(name);
  }
  auto axes() const {
    return std::tuple{how.precision, how.attention, how.projections, how.optimiser};
  }
  template <nn::transformer_choice Choice>
  auto with(Choice const& choice) const {
    auto const changed = how.with(choice);
    return transformer<std::remove_const_t<decltype(changed)>>{model, batch, context,
                                                               run,   seed,  changed};
  }

  /// The operations of an item: bytes with each array read and written once by each operation.
  traffic item_traffic() const {
    return nn::ledger{of(), how}
        .sum([this](nn::ledger_entry const& each) {
          return run == nn::run::step || each.where.phase == nn::phase::forward;
        })
        .second;
  }

  struct state {
    std::unique_ptr<nn::transformer_items<Choices>> items;
    nn::item_outputs wanted;
  };

  template <device_lane Lane>
  state prepare(Lane& where, int lanes) const {
    if (lanes != 1) {
      throw std::invalid_argument("transformer: lanes = " + std::to_string(lanes) +
                                  " is not possible: 1 is, since a step fills the device");
    }
    device_guard const guard{where.place};
    // The reference gives its memory back before the items allocate.
    auto wanted = [&] {
      nn::transformer_items reference{where.place, of(), run, seed, nn::choices<>{}};
      return reference.outputs();
    }();
    return {std::make_unique<nn::transformer_items<Choices>>(where.place, of(), run, seed, how),
            std::move(wanted)};
  }
  template <device_lane Lane>
  void enqueue(Lane& where, state& of_items) const {
    nvtx_range const range{"transformer", category::gpu};
    of_items.items->enqueue(where.stream, where.memory);
  }
  void poison(state& of_items) const { of_items.items->poison(); }

  /// The loss and, by the norm of the difference, gradients of all tensors and of each, or logits.
  /// Rounding grows with the number of layers, so the bounds are wider than in the tests of two
  /// layers. `prepare` ran a step of training: its weights and moments are held to float64.
  mismatch verify(state& of_items) const {
    if (auto const& wrong = of_items.items->wrong_update()) { return wrong; }
    using precision = decltype(how.precision);
    double const allowed = std::same_as<precision, nn::fp32>   ? 1e-4
                           : std::same_as<precision, nn::tf32> ? 1e-2
                                                               : 5e-2;
    auto const found = of_items.items->outputs();
    auto const& wanted = of_items.wanted;
    if (!(std::abs(found.loss - wanted.loss) <= allowed * std::abs(wanted.loss))) {
      return "the loss is " + std::to_string(found.loss) + ", expected is " +
             std::to_string(wanted.loss);
    }
    return run == nn::run::step ? nn::wrong_gradients(model, found.values, wanted.values, allowed)
                                : nn::wrong_by_norm("logits", found.values, wanted.values, allowed);
  }
};

}  // namespace assay::workloads
