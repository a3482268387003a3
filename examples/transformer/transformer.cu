// SPDX-License-Identifier: Apache-2.0
// The kernels of the transformer: each choice of precision, attention and projections, timed and
// traced.
#include "transformer.hpp"

#include <assay/cupti/recorder.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/transformer/answers.hpp>
#include <assay/transformer/device_trainer.cuh>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace nn = assay::nn;
namespace trace = assay::trace;

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
    if (which.optimiser == "per_tensor") { return visit(usual.with(nn::optimiser::per_tensor{})); }
    return visit(usual.with(nn::optimiser::in_backward{which.multiprocessors}));
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

/// Milliseconds of each repetition of `enqueue`, which a graph records where asked.
template <class Enqueue>
std::vector<double> times_of(assay::stream const& on, bool as_graph, int repetitions,
                             Enqueue const& enqueue) {
  for (int i = 0; i < 3; ++i) { enqueue(); }  // cuBLAS loads its kernels
  on.synchronize();
  std::optional<assay::submit::graph_exec> recorded;
  if (as_graph) {
    assay::submit::stream_capture capture{on};
    enqueue();
    recorded.emplace(capture.end());
    recorded->launch(on);
  }
  assay::event begin{assay::event::kind::timed}, end{assay::event::kind::timed};
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    begin.record(on);
    if (recorded) {
      recorded->launch(on);
    } else {
      enqueue();
    }
    end.record(on);
    on.synchronize();
    times.push_back(1e3 * end.seconds_since(begin));
  }
  return times;
}

}  // namespace

transformer_time time_of(transformer_case const& which, int repetitions) {
  return with_choices(which, [&](auto how) {
    assay::stream const on{gpu};
    assay::device_guard const guard{gpu};
    nn::memory_plan const plan{which.of, how};
    nn::require_free(plan);
    auto memory =
        assay::make_buffer<std::byte>(plan.peak(), on, assay::mr::cuda_malloc{}.open(gpu));
    nn::device_model model{which.of, how, on, memory.span().first(plan.kept())};
    auto const arrays = model.arrays(memory.span().subspan(plan.kept()));
    model.set_weights(on, nn::initial_weights<float>(which.of.model, 1));
    model.set_batch(on, nn::random_batch(which.of, 1));
    // A learning rate of zero: all steps are equal, and AdamW runs in full.
    model.set_update(on, {{.learning_rate = 0}, model.weights().size()});
    auto times = times_of(on, which.submission == "graph", repetitions, [&] {
      if (which.run == "forward") { return model.enqueue_forward(on, arrays); }
      model.enqueue_step(on, arrays);
    });
    std::ranges::sort(times);
    return transformer_time{plan.peak(), times[times.size() / 2], times.front()};
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

std::vector<trace::table> answers_of(transformer_case const& which, int repetitions,
                                     double copy_rate) {
  return with_choices(which, [&](auto how) {
    // docs: answers
    assay::stream const stream{gpu};
    nn::require_free(nn::memory_plan{which.of, how});
    nn::device_trainer run{
        which.of, stream, assay::mr::cuda_malloc{}.open(gpu), nn::adamw{.learning_rate = 0},
        1,        how};
    auto const batch = nn::random_batch(which.of, 1);
    auto const range = which.run == "forward" ? "nn::forward" : "nn::step";
    auto const repeat = [&](int count) {
      for (int i = 0; i < count; ++i) {
        if (which.run == "forward") {
          run.forward(batch);
        } else {
          run.step(batch);
        }
      }
    };
    repeat(3);  // cuBLAS loads its kernels
    auto const recorded = trace::record({.driver_calls = true}, [&] { repeat(repetitions); });
    nn::answers const found{trace::step_operations(recorded, range), nn::ledger{which.of, how}};
    return std::vector{nn::summary_table(found), nn::kernel_table(found),
                       nn::part_table(found, copy_rate)};
    // docs: end
  });
}

double copy_rate() { return assay::machine::device_copy_ceiling(gpu).per_second; }

}  // namespace examples
