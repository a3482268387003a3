// SPDX-License-Identifier: Apache-2.0
// How often does a comparison of an all-reduce with itself find a difference? Both engines run the
// same code between two GPUs, or between two ranks that share one, and are made anew for each
// epoch, as experiments do. 200 comparisons of each algorithm, in turn.
// Predicts: at most 15 false alarms of each, 0.5 s a verdict between two GPUs. Found on one H200: 1
// of 200 by two_shot, 0.6 s a verdict. Engines of two_shot that were kept for all epochs differed
// in a quarter of 50 comparisons, by up to 1.7 %. Where two ranks share one GPU, FIFO algorithms
// take all SMs twice over: a verdict takes 3.4 s.
// A run that --minutes ends is continued by the next one with the same --json.

#include "support/result.hpp"
#include "support/resumable_trials.hpp"

#include "../examples/ranks/reduction_work.cuh"

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/factorial.hpp>

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace assay;
using namespace assay::benchmark;

/// An operation that is compared with itself.
struct reduction_case {
  comm::algorithm how;
  std::size_t bytes;
  int operations;  ///< of one launch, which is to take some hundred microseconds
};

measure::comparison compare(comm::peers const& peers, reduction_case const& what) {
  comm::all_reduce_options options;
  options.how = what.how;
  examples::epoch_arrays arrays{peers, what.bytes / sizeof(float)};
  std::vector<std::string> const labels{"control", "variant"};
  std::vector<measure::variant> variants;
  for (auto const& label : labels) {
    variants.push_back(
        {label, {{"engine", label}}, [&](measure::epoch const& now) {
           return arrays.subject(
               [&] { return examples::engine_function<copy::regular<>>(peers, options); },
               what.operations, now);
         }});
  }
  measure::options chosen;
  chosen.clock = measure::clock::gpu;
  return measure::compare_variants(variants, measure::against_first(labels),
                                   examples::watched(chosen, examples::watches_of(peers)));
}

}  // namespace

int main(int argc, char** argv) {
  // Ranks that share a device wait for each other's kernels, which must not queue behind them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  constexpr std::size_t kib = 1024;
  constexpr reduction_case cases[] = {{comm::algorithm::lamport_push, 16 * kib, 40},
                                      {comm::algorithm::fifo_one_shot, 4096 * kib, 20},
                                      {comm::algorithm::fifo_two_shot, 4096 * kib, 20},
                                      {comm::algorithm::pull, 1024 * kib, 20},
                                      {comm::algorithm::two_shot, 1024 * kib, 20}};
  std::optional<comm::peers> peers;
  std::vector<trial_kind> kinds;
  for (auto const& each : cases) {
    kinds.emplace_back(std::string{to_string(each.how)},
                       std::vector<std::string>{std::to_string(each.bytes / kib) + " KiB"},
                       [&](std::string const&) { return compare(*peers, each); });
  }
  if (lists_kinds(argc, argv, kinds)) { return 0; }
  trial_plan plan{.count = 200};
  return benchmark::run(
      argc, argv, "collective_false_alarms",
      [&](benchmark::options const& chosen, report::document& figures) {
        peers = device_count() > 1 ? comm::peers::first(2) : comm::peers::on_one(chosen.place, 2);
        if (chosen.quick) { plan.count = 3; }
        resumable_trials trials{chosen, plan, figures};
        figures["peers"] = peers->describe();
        trials.run("renewed", kinds);
        trials.count_false_alarms("renewed", kinds);
      },
      plan.options());
}
