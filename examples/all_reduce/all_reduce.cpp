// SPDX-License-Identifier: Apache-2.0
// assay-uses: cli
// assay-test-args: --quick --same-device 2 --epochs 12
//
// Does the copy strategy matter in an all-reduce at the limit of the link? A published A/B test of
// cp.async double buffering between two GPUs found 0.0 %. That test reached 3.6 GB/s, a hundredth
// of the link, where only the latency of the link matters. The strategies load the inputs of
// `pull`, which has one stage, and of `two_shot`, which has two.
// Predicts: with all SMs, strategies are within 1 % at any size, as 16-byte loads already keep the
// link full. With 2 to 8 SMs, bulk copies reach twice the busbw of plain loads or more. From 16 SMs
// on they fill the link. All ends within 30 s between two GPUs, and within 60 s between four.
// Measured on two H200: bulk<4> is 6 to 25 % slower up to 4 MiB. On 2 to 8 SMs it carries 0.69 to
// 0.91 of what plain loads carry.
// The benchmark all_reduce times the automatic choice beside NCCL.

#include "../tracing/tracing.hpp"
#include "options.hpp"

#include <assay/cli/run.hpp>
#include <assay/cli/traces.hpp>

#include <cstdlib>
#include <iostream>
#include <optional>

using namespace assay;

namespace {

std::optional<measure::comparison> compare(examples::all_reduce_options const& asked,
                                           cli::traces const& traces, cli::options const& chosen) {
  auto const given = asked.read(chosen);
  if (chosen.list) {
    for (auto const& each : examples::all_reduce_variants()) { std::cout << each << '\n'; }
    return {};
  }
  traces.check();
  auto const peers = asked.peers(chosen);
  auto measuring = chosen.measuring;
  measuring.title = "All-reduce over " + std::to_string(peers.ranks()) +
                    " ranks: what do copy strategies change?";
  measuring.changed = "strategy";
  chosen.say_limit(measuring.max_seconds);
  auto found = examples::compare_strategies(given, peers, measuring);
  found.notes.emplace_back("times are of one graph launch, the slowest rank's");
  if (traces.wanted()) {
    examples::trace_strategies(
        given, peers, chosen.measuring.seed,
        [&](auto const& work, auto const& variant) { traces.record(work, variant, chosen); });
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  // Ranks that share a device wait for each other's kernels, which must not queue behind them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  examples::all_reduce_options asked;
  cli::traces traces{examples::tracing()};
  return cli::run(
      argc, argv, {"All-reduce over peer access: what do copy strategies change?", ASSAY_COMMIT},
      [&](CLI::App& app) {
        asked.add_to(app);
        traces.add_to(app);
      },
      [&](cli::options const& chosen) { return compare(asked, traces, chosen); });
}
