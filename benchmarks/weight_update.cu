// SPDX-License-Identifier: Apache-2.0
// What do products that update their own weights gain over the products of cuBLAS and one AdamW
// behind them? The weights of a layer of a step in bf16, packed, and of several layers at once; and
// whole steps of training as graphs.
// Predicts: 1.4x to 1.6x. Apart, 32 bytes move for a weight behind tensor work; together 24 bytes
// move beside it, and the copies of tiles from the second-level cache keep it from 1.9x.
// assay-links: cublas
// assay-architectures: 90a

#include "../examples/device_array.hpp"
#include "support/kernel_timing.cuh"
#include "support/result.hpp"
#include "support/trials.hpp"

#include <assay/compare.cuh>
#include <assay/core/bfloat16.hpp>
#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/nn/cublas_products.hpp>
#include <assay/nn/operation.hpp>
#include <assay/nn/weight_update.cuh>
#include <assay/submit/graph.hpp>
#include <assay/transformer/device_model.cuh>
#include <assay/transformer/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

constexpr std::size_t tokens = 4 * 512;

/// Random numbers in [least, 1) on the device.
template <class T>
examples::device_array<T> random_array(std::size_t count, float least = -1) {
  std::vector<T> some(std::min(count, std::size_t{1} << 20));
  for (std::size_t i = 0; i < some.size(); ++i) {
    some[i] = static_cast<T>(random_value(uniform<float>{least, 1}, 1, i));
  }
  examples::device_array<T> made{count};
  for (std::size_t at = 0; at < count; at += some.size()) {
    auto const part = std::min(some.size(), count - at);
    check(cudaMemcpy(made.get() + at, some.data(), part * sizeof(T), cudaMemcpyDefault));
  }
  return made;
}

/// The linear layers of some layers of a decoder, packed.
std::vector<nn::linear> linear_layers(nn::decoder const& model, int layers) {
  auto const width = static_cast<std::size_t>(model.width);
  auto const inner = static_cast<std::size_t>(model.inner);
  std::vector<nn::linear> all;
  for (int layer = 0; layer < layers; ++layer) {
    for (auto const& each :
         {nn::linear{tokens, width, 3 * width}, nn::linear{tokens, width, width},
          nn::linear{tokens, width, 2 * inner}, nn::linear{tokens, inner, width}}) {
      all.push_back(each);
    }
  }
  return all;
}

/// Their weights as they lie in a step: one array of each kind for all of them.
class weights_of_layers {
 public:
  explicit weights_of_layers(std::vector<nn::linear> const& layers) {
    for (auto const& each : layers) {
      count_ += each.in * each.out;
      used_ += tokens * (each.in + each.out);
    }
    std::size_t weight = 0, used = 0;
    auto const take = [&](std::size_t size) {
      used += size;
      return std::span<bfloat16 const>{activations_.get() + used - size, size};
    };
    allocate();
    for (auto const& each : layers) {
      auto const size = each.in * each.out;
      auto const part = [&](auto& of) { return std::span{of.get() + weight, size}; };
      auto const dy = take(tokens * each.out), x = take(tokens * each.in);
      ops_.all.push_back({each});
      arrays_.push_back(
          {dy, x, part(gradients_), {part(high_), part(low_)}, part(first_), part(second_)});
      weight += size;
    }
  }

  std::size_t count() const { return count_; }
  traffic cost() const { return ops_.cost(0.5); }
  void together(::cuda::stream_ref on, nn::cublas_products& products) const {
    enqueue(on, ops_, arrays_, factors_.get(), products);
  }
  void apart(::cuda::stream_ref on, nn::cublas_products& products) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      auto const& of = arrays_[i];
      products.enqueue(on, ops_.all[i].gradient(), of.dy, of.x, of.scratch);
    }
    auto const whole = [this](auto const& of) { return std::span{of.get(), count_}; };
    enqueue(on, nn::adamw_update{{}, count_, 3}, whole(gradients_),
            nn::split_floats{whole(high_), whole(low_)}, whole(first_), whole(second_),
            factors_.get());
  }

 private:
  void allocate() {
    for (auto* each : {&first_, &gradients_}) { *each = random_array<float>(count_); }
    second_ = random_array<float>(count_, 0);
    high_ = random_array<bfloat16>(count_);
    low_ = examples::device_array<std::uint16_t>{count_};
    check(cudaMemset(low_.get(), 0x5A, count_ * sizeof(std::uint16_t)));
    activations_ = random_array<bfloat16>(used_);
    nn::adamw_factors const by{nn::adamw_update{{.learning_rate = 0}, count_, 3}};
    check(cudaMemcpy(factors_.get(), &by, sizeof by, cudaMemcpyDefault));
  }

  std::size_t count_ = 0, used_ = 0;
  examples::device_array<float> first_{1}, second_{1}, gradients_{1};
  examples::device_array<bfloat16> high_{1}, activations_{1};
  examples::device_array<std::uint16_t> low_{1};
  examples::device_array<nn::adamw_factors> factors_{1};
  nn::weight_updates ops_;
  std::vector<nn::weight_arrays<float, bfloat16>> arrays_;
};

/// Bytes per second of the driver's copies on the device, read and written.
double copy_rate(on::device place) {
  stream const where{place};
  constexpr std::size_t count = std::size_t{1} << 28;
  auto const some = random_array<bfloat16>(count);
  copy_peer peer{where, count * sizeof(bfloat16), some.get(), count * sizeof(bfloat16)};
  std::vector<double> found;
  for (int i = 0; i < 15; ++i) { found.push_back(peer.bytes() / peer.seconds()); }
  return stats::summarise(found).median;
}

/// A row with the times of both, in `units` a second, and the least that the second one gains.
report::document row_of_two(measure::comparison const& found, char const* first, char const* second,
                            double units) {
  auto row = trial_of(found);
  row[first] = benchmark::finite(found.variants[0].on(found.primary).median * units);
  row[second] = benchmark::finite(found.variants[1].on(found.primary).median * units);
  row["gains_at_least"] = row["high"].is_number() ? 1 - row["high"].get<double>() : 0;
  return row;
}

report::document row_of(on::device place, char const* size, int layers, double copies,
                        nn::cublas_products& products) {
  weights_of_layers const work{linear_layers(nn::named_size(size), layers)};
  auto const found = compare(
      "apart", [&](cudaStream_t on) { work.apart(::cuda::stream_ref{on}, products); }, "together",
      [&](cudaStream_t on) { work.together(::cuda::stream_ref{on}, products); },
      {.place = place, .same_buffers = true});
  auto row = row_of_two(found, "apart_us", "together_us", 1e6);
  auto const cost = work.cost();
  auto const together = found.variants[1].on(found.primary).median;
  row["size"] = size, row["layers"] = layers, row["weights"] = work.count();
  row["bytes"] = cost.bytes(), row["flops"] = cost.flops;
  row["share_of_bound"] = benchmark::finite(cost.bytes() / copies / together);
  std::cout << size << ", " << layers << " layers\n" << found;
  return row;
}

/// A step of training with a learning rate of zero, as a graph, in memory that several share.
template <class How>
class recorded_step {
 public:
  recorded_step(nn::problem const& of, How const& how, stream const& on,
                std::span<std::byte> memory)
      : model_(of, how, on, memory.first(nn::memory_plan{of, how}.kept())) {
    auto const arrays = model_.arrays(memory.subspan(nn::memory_plan{of, how}.kept()));
    auto const weights = model_.weights();
    std::vector<float> first(weights.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] = i < period ? random_value(uniform<float>{-0.05F, 0.05F}, 1, i) : first[i - period];
    }
    model_.set_weights(on, first);
    model_.set_batch(on, nn::random_batch(of, 1));
    model_.set_update(on, {{.learning_rate = 0}, weights.size()});
    model_.enqueue_step(on, arrays);  // cuBLAS loads its kernels
    on.synchronize();
    submit::stream_capture capture{on};
    model_.enqueue_step(on, arrays);
    graph_.emplace(capture.end());
  }
  void replay(cudaStream_t on) const { graph_->launch(::cuda::stream_ref{on}); }

 private:
  static constexpr std::size_t period = std::size_t{1} << 20;
  nn::device_model<How> model_;
  std::optional<submit::graph_exec> graph_;
};

report::document step_of(on::device place, char const* size) {
  constexpr nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed> usual;
  constexpr auto together = usual.with(nn::optimiser::in_products{});
  nn::problem const of{nn::named_size(size), 4, 512};
  stream const on{place};
  nn::memory_plan const plan{of, together};
  nn::require_free(plan);
  examples::device_array<std::byte> const memory{plan.peak()};
  std::span const all{memory.get(), plan.peak()};
  recorded_step const first{of, usual, on, all};
  recorded_step const second{of, together, on, all};
  auto const found = compare(
      "fused", [&](cudaStream_t stream) { first.replay(stream); }, "in_products",
      [&](cudaStream_t stream) { second.replay(stream); },
      {.max_seconds = 30, .place = place, .same_buffers = true});
  auto row = row_of_two(found, "fused_ms", "in_products_ms", 1e3);
  row["size"] = size;
  row["more_mib"] =
      static_cast<double>(plan.peak() - nn::memory_plan{of, usual}.peak()) / (1 << 20);
  std::cout << "step of " << size << ", context 512\n" << found;
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "weight_update",
                        [](benchmark::options const& chosen, report::document& out) {
                          device_guard const guard{chosen.place};
                          constexpr std::size_t bytes = 32 << 20;
                          examples::device_array<std::byte> const workspace{bytes};
                          nn::cublas_products products{{workspace.get(), bytes}};
                          auto const copies = copy_rate(chosen.place);
                          out["copy_bytes_per_second"] = copies;
                          auto rows = report::document::array();
                          rows.push_back(row_of(chosen.place, "small", 1, copies, products));
                          if (!chosen.quick) {
                            rows.push_back(row_of(chosen.place, "small", 12, copies, products));
                            rows.push_back(row_of(chosen.place, "xl", 1, copies, products));
                            rows.push_back(row_of(chosen.place, "2.7B", 1, copies, products));
                          }
                          out["rows"] = std::move(rows);
                          auto steps = report::document::array();
                          steps.push_back(step_of(chosen.place, "small"));
                          if (!chosen.quick) { steps.push_back(step_of(chosen.place, "xl")); }
                          out["steps"] = std::move(steps);
                        });
}
