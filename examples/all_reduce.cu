// SPDX-License-Identifier: Apache-2.0
// A published A/B test of cp.async double buffering in an all-reduce of two GPUs found 0.0 %, at
// 3.6 GB/s: a hundredth of the link, where nothing but the time of flight can matter. Does the copy
// strategy matter at the link's limit, and against NCCL? Predicts: with all SMs within 1 % at any
// size, as 16-byte loads already keep the link full; with 2 to 8 SMs bulk copies reach twice the
// busbw of plain loads or more, and the link from 16 SMs on. 64 KiB to 16 MiB 1.4x to 2x NCCL.
// Measured on two H200: bulk<4> is 6 to 25 % slower up to 4 MiB, and carries 0.69 to 0.91 of plain
// loads on 2 to 8 SMs.
// assay-test-args: --quick --same-device 2 --epochs 12 -n 5
// assay-may-use: nccl

#include "support/all_reduce_strategies.cuh"

#include <cstdlib>
#include <iostream>

using namespace assay;

int main(int argc, char** argv) {
  // Ranks that share a device wait for each other's kernels, which must not queue behind them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  bool right = true;
  return examples::run_all_reduce(
      argc, argv,
      "All-reduce over peer access and by NCCL: nccl-tests' table, then what copy strategies "
      "change",
      [&](examples::all_reduce_parameters const& given,
          cli::options const& chosen) -> std::optional<measure::comparison> {
        if (chosen.list) {
          examples::list_strategies(given);
          return {};
        }
        if (device_count() == 0 && !chosen.asks_for_results()) {
          std::cerr << "no GPU: nothing is reduced\n";
          return {};
        }
        if (!given.job) { return examples::all_reduce_on_devices(given, chosen, right); }
        examples::all_reduce_as_rank(given, chosen, right);
        return {};
      },
      [&] { return !right; });
}
