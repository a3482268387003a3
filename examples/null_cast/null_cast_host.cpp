// SPDX-License-Identifier: Apache-2.0
// On the CPU: does it pay to fuse three passes over a nullable column into one, and does a mutex
// round the submission hurt? Runs anywhere: no GPU and no CUDA toolkit needed.
// Predicts: one pass is faster by about the ratio of bytes moved (1.9x for int32). Under
// the mutex a batch takes as many times longer as there are cores for its threads.
// assay-uses: cli
// assay-test-args: --quick --rows 20000 --threads 2

#include "options.hpp"

using namespace assay;

int main(int argc, char** argv) {
  examples::null_cast_options asked;
  return cli::run(
      argc, argv, {"Three passes or one, submitted how? On the CPU.", ASSAY_COMMIT},
      [&](CLI::App& app) { asked.add_to(app, false); },
      [&](cli::options const& chosen) { return examples::null_cast_on_host(asked, chosen); });
}
