// SPDX-License-Identifier: Apache-2.0
// Trains a transformer on a GPU in float32 on a random source of known entropy. Links cuBLAS.
// assay-links: cublas
#include <assay/memory/async.hpp>
#include <assay/transformer/device_trainer.cuh>

#include <cstdio>
#include <exception>
#include <iostream>

namespace nn = assay::nn;

int main() try {
  // docs: train
  nn::problem const of{
      {.width = 128, .inner = 256, .layers = 2, .heads = 2, .vocabulary = 64}, 8, 128};
  nn::markov_source const source{of.model.vocabulary, 1};
  assay::on::device const gpu{0};
  assay::stream const stream{gpu};
  nn::device_trainer run{of, stream, assay::mr::async{}.open(gpu),
                         nn::adamw{.learning_rate = 3e-3}};
  for (int i = 0; i <= 200; ++i) {
    auto const loss = run.step(source.batch(i, of.batch, of.context));
    if (i % 50 == 0) {
      std::printf("step %3d  loss %.3f  entropy %.3f\n", i, loss, source.entropy());
    }
  }
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
