// SPDX-License-Identifier: Apache-2.0
// Does it pay to fuse three passes over a nullable column into one, and does a mutex round the
// submission hurt, on the CPU? Runs anywhere: no GPU and no CUDA toolkit needed.
// Predicts: one pass is faster by about the ratio of bytes moved (1.9x for int32); the mutex costs
// as much as there are cores for the threads.
// assay-test-args: --quick --rows 20000 --threads 2

#include "support/null_cast.hpp"

int main(int argc, char** argv) {
  return assay::examples::run_null_cast(
      argc, argv, "CAST(COALESCE(x, 0) AS DOUBLE) on the CPU: three passes or one, submitted how?",
      assay::examples::null_cast_on_host);
}
