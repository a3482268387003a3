// SPDX-License-Identifier: Apache-2.0
// Where did the time go? Prints an export of nsys, or a trace of assay, as the tables of
// `nsys stats` and as tables that nsys does not have. Needs no profiler, GPU or CUDA toolkit.
// assay-uses: trace_stats
// assay-test-args: --help

#include <assay/cli/trace_stats.hpp>
#include <assay/host/keep_freed_memory.hpp>

#include <iostream>

int main(int argc, char** argv) {
  (void)assay::host::keep_freed_memory();  // each table of a large trace takes memory and frees it
  return assay::cli::trace_stats(argc, argv, std::cout, std::cerr);
}
