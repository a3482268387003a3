// SPDX-License-Identifier: Apache-2.0
// The kernels of the transformer: each choice of precision, attention and projections, timed and
// traced.
#include "transformer.hpp"

#include <assay/core/nvtx_range.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/memory/buffer.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transformer/device_trainer.cuh>
#include <assay/transformer/host_trainer.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

namespace nn = assay::nn;

namespace examples {
namespace {

constexpr assay::on::device gpu{0};

/// Calls `visit` with the choices of these names.
template <class Visit>
auto with_choices(transformer_case const& which, Visit const& visit) {
  if (which.optimiser != "fused") {
    if (which.precision != "bf16" || which.attention != "fused" || which.projections != "packed") {
      throw std::invalid_argument("optimiser " + which.optimiser +
                                  ": it needs precision bf16, attention fused, projections packed");
    }
    constexpr nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed> usual;
    if (which.optimiser == "in_products") {
      return visit(usual.with(nn::optimiser::in_products{}));
    }
    return visit(usual.with(nn::optimiser::per_tensor{}));
  }
  auto const with_projections = [&]<class Precision, class Attention>(Precision, Attention) {
    if (which.projections == "packed") {
      return visit(nn::choices<Precision, Attention, nn::projections::packed>{});
    }
    return visit(nn::choices<Precision, Attention, nn::projections::separate>{});
  };
  if (which.attention == "fused") {
    if (which.precision != "bf16") {
      throw std::invalid_argument("attention fused with precision " + which.precision +
                                  ": it needs bf16");
    }
    return with_projections(nn::bf16{}, nn::attention::fused{});
  }
  constexpr nn::attention::naive naive;
  if (which.precision == "fp32") { return with_projections(nn::fp32{}, naive); }
  if (which.precision == "tf32") { return with_projections(nn::tf32{}, naive); }
  return with_projections(nn::bf16{}, naive);
}

/// A model on the device with one of its passes, kernel by kernel or as a graph.
template <class Choices>
class pass_on_device {
 public:
  pass_on_device(transformer_case const& which, Choices const& how)
      : of_(which),
        on_(gpu),
        guard_(gpu),
        plan_(which.of, how),
        memory_((nn::require_free(plan_), plan_.peak()), on_, assay::mr::cuda_malloc{}.open(gpu)),
        model_(which.of, how, on_, memory_.span().first(plan_.kept())),
        arrays_(model_.arrays(memory_.span().subspan(plan_.kept()))) {
    model_.set_weights(on_, nn::initial_weights<float>(which.of.model, 1));
    model_.set_batch(
        on_, which.tokens == "zipf" ? nn::zipf_batch(which.of, 1) : nn::random_batch(which.of, 1));
    // A learning rate of zero: all steps are equal, and AdamW runs in full.
    model_.set_update(on_, {{.learning_rate = 0}, model_.weights().size()});
    for (int i = 0; i < 3; ++i) { enqueue(); }  // cuBLAS loads its kernels
    on_.synchronize();
    if (which.submission == "graph") {
      assay::submit::stream_capture capture{on_};
      enqueue();
      recorded_.emplace(capture.end());
      recorded_->launch(on_);
      on_.synchronize();
    }
  }

  assay::stream const& stream() const { return on_; }
  std::size_t bytes() const { return plan_.peak(); }
  /// The nodes of the graph; none without one.
  std::vector<nn::captured_node> const& captured() const { return model_.captured(); }
  void run() {
    if (recorded_) { return recorded_->launch(on_); }
    enqueue();
  }

 private:
  void enqueue() {
    if (of_.run == "forward") { return model_.enqueue_forward(on_, arrays_); }
    model_.enqueue_step(on_, arrays_);
  }

  transformer_case of_;
  assay::stream on_;
  assay::device_guard guard_;
  nn::memory_plan plan_;
  assay::buffer<std::byte, decltype(assay::mr::cuda_malloc{}.open(gpu)), ::cuda::stream_ref>
      memory_;
  nn::device_model<Choices> model_;
  typename nn::device_model<Choices>::activation_arrays arrays_;
  std::optional<assay::submit::graph_exec> recorded_;
};

/// Milliseconds of each repetition: on the device, and on the host with the wait for the device.
struct clock_times {
  std::vector<double> device, host;
};

template <class Choices>
clock_times times_of(pass_on_device<Choices>& pass, int repetitions) {
  assay::event begin{assay::event::kind::timed}, end{assay::event::kind::timed};
  clock_times times;
  for (int i = 0; i < repetitions; ++i) {
    auto const from = std::chrono::steady_clock::now();
    begin.record(pass.stream());
    pass.run();
    end.record(pass.stream());
    pass.stream().synchronize();
    std::chrono::duration<double, std::milli> const host = std::chrono::steady_clock::now() - from;
    times.device.push_back(1e3 * end.seconds_since(begin));
    times.host.push_back(host.count());
  }
  return times;
}

double mean_ns(std::vector<double> const& ms) {
  return 1e6 * std::accumulate(ms.begin(), ms.end(), 0.0) / static_cast<double>(ms.size());
}

/// FLOPs per second of a product of 8192^3, the fastest of ten. Products of zeros are faster than
/// others, since they draw less power.
template <class Choices>
double product_rate() {
  using element = typename Choices::activation;
  constexpr std::size_t size = 8192;
  assay::stream const on{gpu};
  auto const memory = assay::mr::cuda_malloc{}.open(gpu);
  auto workspace = assay::make_buffer<std::byte>(nn::memory_plan::workspace_bytes, on, memory);
  auto arrays = assay::make_buffer<element>(3 * size * size, on, memory);
  std::vector<element> some(size * size);
  std::minstd_rand random;
  for (auto& each : some) { each = element(static_cast<float>(random() % 4096) / 2048.0f - 1.0f); }
  for (std::size_t part = 0; part < 2; ++part) {
    assay::check(cudaMemcpyAsync(arrays.span().data() + part * some.size(), some.data(),
                                 some.size() * sizeof(element), cudaMemcpyHostToDevice, on.get()));
  }
  nn::cublas_products products{workspace.span(),
                               std::same_as<decltype(Choices::precision), nn::tf32>};
  auto const each = [&](std::size_t part) {
    return arrays.span().subspan(part * some.size(), some.size());
  };
  auto const op = nn::linear{size, size, size}.forward();
  assay::event begin{assay::event::kind::timed}, end{assay::event::kind::timed};
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 12; ++i) {
    begin.record(on);
    products.enqueue(on, op, each(0), each(1), each(2));
    end.record(on);
    on.synchronize();
    if (i >= 2) { fastest = std::min(fastest, end.seconds_since(begin)); }
  }
  return op.cost().flops / fastest;
}

}  // namespace

transformer_time time_of(transformer_case const& which, int repetitions) {
  return with_choices(which, [&](auto how) {
    pass_on_device pass{which, how};
    auto times = times_of(pass, repetitions).device;
    std::ranges::sort(times);
    return transformer_time{pass.bytes(), times[times.size() / 2], times.front()};
  });
}

std::vector<float> losses_of(transformer_case const& which,
                             std::vector<nn::token_batch> const& batches) {
  return with_choices(which, [&](auto how) {
    assay::stream const on{gpu};
    assay::device_guard const guard{gpu};
    nn::require_free(nn::memory_plan{which.of, how});
    nn::device_trainer run{which.of, on, assay::mr::cuda_malloc{}.open(gpu), {}, 1, how};
    if (which.submission == "graph") { run.record(); }
    std::vector<float> losses;
    for (auto const& each : batches) { losses.push_back(run.step(each)); }
    return losses;
  });
}

traced_pass trace_pass(transformer_case const& which, int repetitions,
                       std::function<void(std::function<void()> const&)> const& record) {
  return with_choices(which, [&](auto how) {
    auto const rate = product_rate<decltype(how)>();
    pass_on_device pass{which, how};
    auto const untraced = times_of(pass, repetitions);
    auto const range = "nn::" + which.run;
    record([&] {
      for (int i = 0; i < repetitions; ++i) {
        assay::nvtx_range const step{range.c_str(), assay::category::gpu};
        pass.run();
        pass.stream().synchronize();
      }
    });
    return traced_pass{nn::ledger{which.of, how}, pass.captured(), rate, mean_ns(untraced.host),
                       mean_ns(untraced.device)};
  });
}

double copy_rate() { return assay::machine::device_copy_ceiling(gpu).per_second; }

}  // namespace examples
