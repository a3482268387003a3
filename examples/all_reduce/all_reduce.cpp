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
// on they fill the link.
// Measured on two H200: bulk<4> is 6 to 25 % slower up to 4 MiB. On 2 to 8 SMs it carries 0.69 to
// 0.91 of what plain loads carry.
// The benchmark all_reduce times the automatic choice beside NCCL.

#include "../tracing/tracing.hpp"
#include "options.hpp"
#include "report.hpp"

#include <assay/cli/outputs.hpp>
#include <assay/cli/run.hpp>
#include <assay/cli/traces.hpp>
#include <assay/core/device.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

using namespace assay;

namespace {

/// The comparison of the strategies.
measure::comparison compared(examples::all_reduce_parameters const& given, comm::peers const& peers,
                             cli::options const& chosen, bool clock) {
  auto all = cli::join(examples::compare_strategies(given, peers, chosen,
                                                    clock ? chosen.clock : measure::clock::gpu),
                       chosen.alpha);
  all.title = "All-reduce over " + std::to_string(peers.ranks()) +
              " ranks: what do copy strategies change?";
  all.changed = "strategy";
  all.notes.emplace_back(
      "each size is a comparison of its own, and together they have the confidence above: each is "
      "tested at its share of alpha; times are of one graph launch, the slowest rank's");
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  // Ranks that share a device wait for each other's kernels, which must not queue behind them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  examples::all_reduce_options asked;
  cli::traces traces{examples::tracing()};
  CLI::App const* line = nullptr;
  auto const body = [&](cli::options const& chosen) -> std::optional<measure::comparison> {
    auto const given = asked.read(chosen);
    if (chosen.list) {
      for (auto const& each : examples::all_reduce_strategies()) { std::cout << each << '\n'; }
      return {};
    }
    if (device_count() == 0 && chosen.files.empty() && chosen.fail_if.empty()) {
      std::cerr << "no GPU: nothing is reduced\n";
      return {};
    }
    traces.check();
    cli::require_output(cli::path_of(chosen, "--json", "table"));
    auto const peers = asked.peers(chosen);
    auto found = compared(given, peers, chosen, line->count("--clock") != 0);
    auto const blocks = examples::sweep_blocks(given, peers, chosen);
    if (!chosen.quiet) { examples::print_blocks(std::cout, blocks, given.sweep); }
    cli::write_output(chosen, "--json", "table",
                      examples::blocks_json(blocks, given.sweep, peers.ranks()).dump(1) + '\n');
    if (traces.wanted()) {
      for (auto const& [name, made] :
           examples::trace_strategies(given, peers, chosen, traces.by())) {
        traces.tell(made, name, chosen);
      }
    }
    return found;
  };
  return cli::run(
      argc, argv, {"All-reduce over peer access: what do copy strategies change?", ASSAY_COMMIT},
      [&](CLI::App& app) {
        asked.add_to(app);
        traces.add_to(app);
        line = &app;
      },
      body);
}
