// SPDX-License-Identifier: Apache-2.0
// Where does the time of a training step go? Arguments: small, medium, large, xl or 2.7B, and a
// context; without arguments a tiny model. Prints tables by operation and by kernel, from a trace.
// assay-links: cublas
// assay-uses: cupti
#include <assay/cupti/recorder.hpp>
#include <assay/memory/async.hpp>
#include <assay/nn/answers.hpp>
#include <assay/nn/device_trainer.cuh>
#include <assay/report/trace_table.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

namespace nn = assay::nn;
namespace trace = assay::trace;

nn::problem problem_of(int argc, char** argv) {
  if (argc == 3) { return {nn::named_size(argv[1]), 4, std::atoi(argv[2])}; }
  return {{.width = 128, .inner = 256, .layers = 2, .heads = 2, .vocabulary = 64}, 4, 64};
}

int main(int argc, char** argv) try {
  auto const of = problem_of(argc, argv);
  // docs: answers
  assay::on::device const gpu{0};
  assay::stream const stream{gpu};
  nn::markov_source const source{64, 1};
  nn::device_trainer run{of, stream, assay::mr::async{}.open(gpu)};
  auto const repeat = [&](int count) {
    for (int i = 0; i < count; ++i) { run.forward(source.batch(i, of.batch, of.context)); }
    for (int i = 0; i < count; ++i) { run.step(source.batch(i, of.batch, of.context)); }
  };
  repeat(3);  // cuBLAS loads its kernels
  auto const recorded = trace::record({.driver_calls = true}, [&] { repeat(5); });
  for (char const* range : {"nn::forward", "nn::step"}) {
    nn::answers const found{trace::step_operations(recorded, range), nn::ledger{of}};
    std::cout << range << "\n\n";
    for (auto const& table :
         {nn::summary_table(found), nn::kernel_table(found), nn::part_table(found)}) {
      assay::report::text(std::cout, table);
      std::cout << '\n';
    }
  }
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
