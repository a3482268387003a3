// SPDX-License-Identifier: Apache-2.0
// The step of one of several ranks: five ways to average the gradients, in one report.
#include "../ranks/rank_worlds.hpp"
#include "transformer.hpp"

#include <over_nccl.hpp>

#include <assay/comm/all_reduce.cuh>
#include <assay/compare.cuh>
#include <assay/compare/ranks.hpp>
#include <assay/core/concat.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/report/text.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transformer/device_trainer.cuh>
#include <assay/transformer/gradient_average.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace nn = assay::nn;

namespace examples {
namespace {

using choices =
    nn::choices<nn::bf16, nn::attention::fused, nn::projections::packed, nn::optimiser::per_tensor>;

/// One way to average gradients over the ranks.
struct way {
  char const* name;
  nn::gradient_exchange exchange;
};
constexpr std::size_t all_at_once = SIZE_MAX, in_buckets = nn::gradient_exchange{}.bucket;
constexpr way ways[] = {{"behind the pass", {all_at_once, false, false}},
                        {"in buckets", {in_buckets, false, false}},
                        {"overlapped", {in_buckets, true, false}},
                        {"bf16", {all_at_once, false, true}},
                        {"bf16, overlapped", {in_buckets, true, true}}};

auto memory_of(assay::on::device place) { return assay::mr::cuda_malloc{}.open(place); }

/// The mean losses over all ranks of steps of training; on rank 0 alone.
template <class Collective>
std::vector<double> losses_of(assay::world const& all, Collective const& by, nn::problem const& own,
                              nn::gradient_exchange const& how,
                              std::vector<nn::token_batch> const& batches) {
  assay::stream const on{by.device()};
  nn::device_trainer run{own, on, memory_of(by.device()), {}, 1, choices{}};
  nn::gradient_average reduce{by, own.model, how, on};
  std::vector<double> means;
  for (auto const& each : batches) {
    auto const part = nn::part_of(each, own.batch * all.ranks(), all.rank(), all.ranks());
    double sum = 0;
    for (auto const& loss : all.gather(std::to_string(run.step(part, reduce)))) {
      sum += std::stod(loss);
    }
    means.push_back(sum / all.ranks());
  }
  by.synchronize(on);
  return means;
}

/// Says how far the losses of the ranks are from those of one rank with the whole batch.
template <class Collective>
std::string curve_note(assay::world const& all, Collective const& by, nn::problem const& whole,
                       nn::problem const& own, way const& which,
                       std::vector<nn::token_batch> const& batches) {
  auto const found = losses_of(all, by, own, which.exchange, batches);
  if (all.rank() != 0) { return {}; }
  assay::stream const on{by.device()};
  nn::device_trainer alone{whole, on, memory_of(by.device()), {}, 1, choices{}};
  double apart = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    apart = std::max(apart, std::abs(found[i] / alone.step(batches[i]) - 1));
  }
  return assay::concat({which.name, ": the losses of ", std::to_string(batches.size()),
                        " steps, the last of ", std::to_string(found.back()),
                        ", differ from those of one rank with the whole batch by at most ",
                        std::to_string(100 * apart), " %"});
}

/// The steps of a rank by all ways, as graphs over one model.
template <class Collective>
class rank_steps {
 public:
  rank_steps(Collective const& by, nn::problem const& own)
      : on_(by.device()),
        plan_(own, choices{}),
        memory_((nn::require_free(plan_), plan_.peak()), on_, memory_of(by.device())),
        model_(own, choices{}, on_, memory_.span().first(plan_.kept())),
        arrays_(model_.arrays(memory_.span().subspan(plan_.kept()))) {
    model_.set_weights(on_, nn::initial_weights<float>(own.model, 1));
    model_.set_batch(on_, nn::random_batch(own, 1 + static_cast<std::uint64_t>(by.rank())));
    // A learning rate of zero: all steps are equal, and AdamW runs in full.
    model_.set_update(on_, {{.learning_rate = 0}, model_.weights().size()});
    for (auto const& each : ways) {
      averages_.push_back(
          std::make_unique<nn::gradient_average<Collective>>(by, own.model, each.exchange, on_));
      model_.enqueue_step(on_, arrays_, *averages_.back());  // loads kernels, and connects
      by.synchronize(on_);
      assay::submit::stream_capture capture{on_};
      model_.enqueue_step(on_, arrays_, *averages_.back());
      graphs_.emplace_back(capture.end());
    }
  }

  /// The step of a way, as a callable.
  auto of(std::size_t which) const {
    return [&graph = graphs_[which]](cudaStream_t on) { graph.launch(::cuda::stream_ref{on}); };
  }

 private:
  assay::stream on_;
  nn::memory_plan plan_;
  assay::buffer<std::byte, decltype(memory_of(assay::on::device{0})), ::cuda::stream_ref> memory_;
  nn::device_model<choices> model_;
  typename nn::device_model<choices>::activation_arrays arrays_;
  std::vector<std::unique_ptr<nn::gradient_average<Collective>>> averages_;
  std::vector<assay::submit::graph_exec> graphs_;
};

/// The whole program of one rank. Rank 0 prints.
template <class Collective>
void run_rank(assay::world const& all, Collective const& by, transformer_case const& which,
              std::vector<nn::token_batch> const& batches) {
  assay::check(cudaSetDevice(by.device().id));
  auto own = which.of;
  own.batch /= all.ranks();
  std::vector<std::string> notes;
  for (auto const* each : {&ways[2], &ways[4]}) {
    notes.push_back(curve_note(all, by, which.of, own, *each, batches));
  }
  all.barrier();  // rank 0 has trained alone meanwhile
  rank_steps<Collective> const steps{by, own};
  assay::options chosen{
      .max_seconds = 30,
      .same_buffers = true,
      .title = "A step of training over " + std::to_string(all.ranks()) + " ranks"};
  if constexpr (requires { by.barrier(); }) { chosen.barrier = by.barrier(); }
  auto found =
      assay::compare_all(all, ways[0].name, steps.of(0), ways[1].name, steps.of(1), ways[2].name,
                         steps.of(2), ways[3].name, steps.of(3), ways[4].name, steps.of(4), chosen);
  if (all.rank() != 0) { return; }
  found.notes.insert(found.notes.end(), notes.begin(), notes.end());
  assay::report::text(std::cout, found);
}

}  // namespace

void compare_on_ranks(transformer_case const& which, std::string const& over,
                      std::vector<nn::token_batch> const& batches) {
  auto const require = [](bool fits, std::string const& why) {
    if (!fits) { throw std::invalid_argument("--ranks: " + why); }
  };
  require(which.optimiser == "per_tensor",
          "optimiser " + which.optimiser +
              " does not wait for averages; it needs per_tensor, which updates each tensor behind "
              "its bucket of gradients");
  require(which.precision == "bf16" && which.attention == "fused" && which.projections == "packed",
          "it needs precision bf16, attention fused, projections packed");
  require(which.run == "step", "run " + which.run + " has no gradients");
  auto const run = [&](assay::world const& all, auto const& by) {
    require(which.of.batch % all.ranks() == 0, "--batch " + std::to_string(which.of.batch) +
                                                   " is not divisible by " +
                                                   std::to_string(all.ranks()) + " ranks");
    run_rank(all, by, which, batches);
  };
  if (over == "nccl") {
    auto const all = assay::world::from_environment();
    over_nccl(all, [&](auto const& by) { run(all, by); });
    return;
  }
  int const ranks = std::min(assay::device_count(), assay::comm::max_ranks);
  require(ranks >= 2, "this process sees " + std::to_string(ranks) + " GPUs");
  assay::comm::all_reduce engine{assay::comm::peers::first(ranks)};
  engine.prepare<float>();
  engine.prepare<__nv_bfloat16>();
  assay::examples::run_on_ranks(ranks, [&](assay::world const& all) {
    try {
      run(all, engine.rank(all.rank()));
    } catch (...) {
      engine.abort();  // ends the waits of the other ranks
      throw;
    }
  });
}

}  // namespace examples
