// SPDX-License-Identifier: Apache-2.0
// How near does a full batch of the experiment (4 threads x 100 items, pool, concurrent) come to
// what its kernels take on the GPU alone? And how long does a verdict on a batch of 1 ms take?
// Predicts: the batch within 1.15x of its kernels one after another, since launches of four threads
// cost 1.2 us each and its kernels 5 us on average; a verdict with 8 epochs within 2 s.

#include "support/result.hpp"

#include <assay/core/units.hpp>
#include <assay/machine/memory_scrub.hpp>
#include <assay/measure/compare_pipelines.hpp>
#include <assay/measure/instruments.cuh>
#include <assay/pool/pool.hpp>
#include <assay/submit/graph.hpp>
#include <assay/submit/threaded.hpp>
#include <assay/workload/null_cast.cuh>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

using namespace assay;
using namespace assay::literals;

/// The times of the batches of one kind, over all its rigs.
struct batch_times {
  std::vector<double> wall, gpu, submit;
};

template <class Pipeline>
void time_batches(rig<Pipeline>& real, int batches, batch_times& into) {
  auto const timer =
      measure::device_batch_timer(real.what().place, static_cast<int>(real.lanes().size()));
  for (int buffer_set : {0, 1}) {
    if (auto const wrong = real.verify(buffer_set)) { throw std::runtime_error(*wrong); }
  }
  for (int batch = 0; batch < batches; ++batch) {
    auto const times = real.run(batch % 2, watch_probe{*timer});
    into.wall.push_back(times.wall);
    into.submit.push_back(times.submit_per_item);
    into.gpu.push_back(timer->gpu_seconds());
  }
}

/// Times batches of a rig of their own, and returns when the device has cleared what that freed.
template <class Pipeline>
void time_rig(Pipeline const& what, int batches, batch_times& into) {
  machine::memory_scrub freed{what.place};
  {
    rig real{what};
    time_batches(real, batches, into);
    freed.mark();
  }
  freed.wait();
}

double median(std::vector<double> const& values) { return stats::summarise(values).median; }

/// The batch and its kernels take turns by rigs, each of which goes before the next is made: once
/// hundreds of graphs of several lanes are recorded, plain launches to streams that were there
/// before cost several times as much, although no graph is running. That is measured last.
void full_batch(on::device place, int rounds, report::document& figures) {
  pipeline const what{workloads::null_cast<std::int32_t>{}, place, mr::pool{10_GiB},
                      submit::concurrent{.threads = 4, .items = 100}};
  auto const four_lanes_of_graphs = what.with(submit::graph{.threads = 4, .items = 100});
  constexpr int batches = 15;  // a median of 15 lies within 1 % from run to run, a batch within 2 %
  batch_times batch, one_after_another, four_at_once, beside_graphs;
  for (int round = 0; round < rounds; ++round) {
    time_rig(what, batches, batch);
    time_rig(what.with(submit::graph{.threads = 1, .items = 400}), batches, one_after_another);
    time_rig(four_lanes_of_graphs, batches, four_at_once);
  }
  {
    rig plain{what};
    rig recorded{four_lanes_of_graphs};
    recorded.run();
    time_batches(plain, batches, beside_graphs);
  }
  double const wall = median(batch.wall);
  double const alone = median(one_after_another.gpu);
  double const at_once = median(four_at_once.gpu);
  figures["full_batch"] = {{"items", 400},
                           {"bytes", what.batch_traffic().bytes()},
                           {"wall_seconds", wall},
                           {"wall_min_seconds", std::ranges::min(batch.wall)},
                           {"gpu_seconds", median(batch.gpu)},
                           {"submit_seconds_per_item", median(batch.submit)},
                           {"kernels_one_after_another_seconds", alone},
                           {"kernels_of_four_lanes_at_once_seconds", at_once},
                           {"wall_over_kernels_alone", wall / alone},
                           {"wall_over_four_lanes_at_once", wall / at_once},
                           {"beside_400_recorded_graphs",
                            {{"wall_seconds", median(beside_graphs.wall)},
                             {"submit_seconds_per_item", median(beside_graphs.submit)}}},
                           {"rounds", rounds},
                           {"batches_per_round", batches}};
  std::printf(
      "batch %.3f ms (at best %.3f; on the GPU %.3f; %.1f us to submit an item); its kernels one "
      "after another %.3f ms (%.3fx), of four lanes at once, replayed as graphs, %.3f ms (%.3fx); "
      "the batch while 400 graphs of four lanes exist %.3f ms (%.1f us to submit an item)\n",
      wall * 1e3, std::ranges::min(batch.wall) * 1e3, median(batch.gpu) * 1e3,
      median(batch.submit) * 1e6, alone * 1e3, wall / alone, at_once * 1e3, wall / at_once,
      median(beside_graphs.wall) * 1e3, median(beside_graphs.submit) * 1e6);
}

void verdict_on_a_millisecond(on::device place, int trials, report::document& figures) {
  pipeline const what{workloads::null_cast<std::int32_t>{}, place, mr::pool{1_GiB},
                      submit::concurrent{.threads = 4, .items = 17}};
  measure::options chosen;
  chosen.max_epochs = 8;
  chosen.profiled_batches = 0;
  std::vector<double> seconds, batches;
  for (int i = 0; i < trials; ++i) {
    auto const found = compare(what, what, chosen);
    if (!found.failure.empty()) { throw std::runtime_error(found.failure); }
    seconds.push_back(found.seconds);
    batches.push_back(found.variants[0].on(measure::clock::wall).median);
  }
  figures["verdict"] = {{"batch_seconds", median(batches)},
                        {"epochs", 8},
                        {"trials", trials},
                        {"seconds", median(seconds)},
                        {"max_seconds", std::ranges::max(seconds)}};
  std::printf("a verdict on a batch of %.3f ms with 8 epochs: %.2f s (at most %.2f s of %d)\n",
              median(batches) * 1e3, median(seconds), std::ranges::max(seconds), trials);
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark::run(argc, argv, "batch",
                        [](benchmark::options const& chosen, report::document& figures) {
                          full_batch(chosen.place, chosen.quick ? 1 : 5, figures);
                          verdict_on_a_millisecond(chosen.place, chosen.quick ? 1 : 5, figures);
                        });
}
