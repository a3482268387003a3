// SPDX-License-Identifier: Apache-2.0
// When does the way a kernel brings in its tiles matter: plain loads, cp.async, or bulk copies?
// Sum, gather, scaled sum and transpose on some SMs with one block each, and on all of them full,
// beside what Little's law says of the bytes in flight. Without a GPU, the sum by CPU threads.
// Predicts: one block of 256 threads has 16 KiB in flight by plain loads, 32 by cp.async<2>, 64 by
// bulk<4>, and an H200 asks for some 25 to 50 an SM: async copies win up to 2x under the cap, bulk
// ones most, short rows least; with all SMs full, nothing differs by more than a few percent.
// What that missed, on one H200: by the latency of an idle memory 11.7 KiB an SM are enough. Under
// the cap bulk<4> is 1 to 20 % ahead of cp_async<2>, with twice its bytes in flight, but 7 % behind
// for rows of 256 bytes; it transposes at 0.74 of the rate of plain loads, with all SMs at 0.94.
// With as many bytes in flight as bulk<4>, cp_async<4> sums 1.6 times as fast on 4 to 32 SMs.
// assay-test-args: --quick --bytes 1MiB --sms 4

#include "support/copy_device.cuh"

#include <assay/core/device.hpp>

#include <iostream>

using namespace assay;

int main(int argc, char** argv) {
  examples::copy_parameters given;
  cli::explaining explain{false};  // 35 cells with two variants each would fill a book
  return cli::run(
      argc, argv,
      "When does it matter how a kernel brings in its tiles? On a GPU; without one, or with "
      "--host, "
      "a sum by CPU threads.",
      [&](cli::command_line& line) {
        given.add_to(line);
        explain.add_to(line);
      },
      [&](cli::options const& chosen) {
        explain.check();
        bool const host = chosen.host || (!chosen.device_named && device_count() == 0);
        if (!host) { return examples::copy_on_device(given, chosen, explain); }
        explain.check_host();
        if (!chosen.host) { std::cerr << "no GPU: the host half is run\n"; }
        return examples::copy_on_host(given, chosen);
      });
}
