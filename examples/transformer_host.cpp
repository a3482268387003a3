// SPDX-License-Identifier: Apache-2.0
// Trains a tiny transformer on the host: on the bytes of a text, or without an argument on a random
// source. No model can beat the entropy of the source; a good one beats the entropy of the pairs of
// bytes of a text. Then counts a step of a larger transformer.
// assay-test-flags: -O1
#include <assay/transformer/host_trainer.hpp>
#include <assay/transformer/ledger.hpp>

#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>

namespace nn = assay::nn;

// docs: train
void train(nn::problem const& of, std::function<nn::token_batch(int)> const& tokens,
           double entropy) {
  nn::host_trainer<float> run{of, nn::adamw{.learning_rate = 1e-2}};
  for (int i = 0; i <= 400; ++i) {
    auto const loss = run.step(tokens(i));
    if (i % 100 == 0) { std::printf("step %3d  loss %.3f  entropy %.3f\n", i, loss, entropy); }
  }
}

int main(int argc, char** argv) try {
  nn::problem of{.model = {.width = 16, .inner = 32, .layers = 2, .heads = 2, .vocabulary = 32},
                 .batch = 8,
                 .context = 16};
  if (argc > 1) {
    auto const text = nn::byte_text::read(argv[1]);
    of.model.vocabulary = nn::byte_text::vocabulary;
    train(of, [&](int i) { return text.batch(i, of.batch, of.context); }, text.bigram_entropy());
  } else {
    nn::markov_source const source{of.model.vocabulary, 1};
    train(of, [&](int i) { return source.batch(i, of.batch, of.context); }, source.entropy());
  }
  // docs: end
  // docs: ledger
  nn::ledger const step{{nn::size_small, 4, 512}};
  for (auto const phase : {nn::phase::forward, nn::phase::backward}) {
    auto const [count, all] = step.sum([&](nn::ledger_entry const& each) {
      return each.where.phase == phase && nn::is_product(each.operation);
    });
    std::printf("size_small, %s: %d products, %.4f TFLOP\n",
                phase == nn::phase::forward ? "forward" : "backward", static_cast<int>(count),
                all.flops / 1e12);
  }
  std::printf("one step in float32 holds %.2f GiB\n",
              static_cast<double>(nn::memory_plan{{nn::size_small, 4, 512}}.peak()) / 0x1p30);
  // docs: end
} catch (std::exception const& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
