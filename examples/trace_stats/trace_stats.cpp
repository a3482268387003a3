// SPDX-License-Identifier: Apache-2.0
// Where did the time go? Any export of nsys, and any trace of assay, as the tables of `nsys stats`
// and those that it has not; no profiler, no GPU and no CUDA toolkit needed.
// assay-uses: sqlite cli
// assay-test-args: --help

#include "trace_stats.hpp"

#include <iostream>

int main(int argc, char** argv) {
  return assay::examples::trace_stats(argc, argv, std::cout, std::cerr);
}
