// SPDX-License-Identifier: Apache-2.0
// How near does a transfer come to what the link carries, what holds it back, and from what size on
// does which one pay? Every transfer from 1 MiB each way on by doubling, all choices of chunks and
// streams, and verdicts between neighbours. Without a GPU, the sum of two arrays on the CPU.
// Predicts: at 64 MiB chunks that overlap take 60 % of the time of one copy after another, within
// 10 % of the link's own time; pageable memory is better staged by threads than by the driver.
// assay-test-args: --quick --max-bytes 4MiB --sweep-bytes 4MiB --compare-bytes 1MiB --epochs 8

#include "support/overlap_device.cuh"

#include <assay/core/device.hpp>

#include <iostream>

using namespace assay;

int main(int argc, char** argv) {
  cli::explaining explain;
  return examples::run_overlap(
      argc, argv,
      "How near do transfers come to what the link carries? On a GPU; without one, or with --host, "
      "the sum of two arrays on the CPU.",
      [&](cli::command_line& line) { explain.add_to(line); },
      [&](examples::overlap_parameters const& given, cli::options const& chosen) {
        explain.check();
        bool const host = chosen.host || (!chosen.device_named && device_count() == 0);
        if (!host) { return examples::overlap_on_device(given, chosen, explain); }
        explain.check_host();
        if (!chosen.host) { std::cerr << "no GPU: the host half is run\n"; }
        return examples::overlap_on_host(given, chosen);
      });
}
