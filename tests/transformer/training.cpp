// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
/// @file
/// Training on the host: tokens to train on, and losses that reach what they can.
#include "catch.hpp"
#include "folder.hpp"

#include <assay/transformer/host_trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::message_of;

namespace {

nn::problem const tiny{
    {.width = 16, .inner = 32, .layers = 1, .heads = 2, .vocabulary = 16}, 8, 16};
nn::adamw const quick{.learning_rate = 1e-2};

}  // namespace

TEST_CASE("a Markov source emits what its entropy says", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::markov_source const source{16, seed};
  auto const entropy = source.entropy();
  CHECK(entropy > 0.5);
  CHECK(entropy < std::log(16.0));
  // The mean of -log p over n tokens has a deviation of about 1 / sqrt(n).
  auto const batch = source.batch(3, 64, 256);
  CHECK(std::abs(source.loss(batch) - entropy) < 5 / std::sqrt(64.0 * 256.0));
  // Without sharpness all successors would be alike; with a uniform source the entropy is known.
  CHECK(nn::markov_source{16, seed, 0}.entropy() == Approx(std::log(16.0)));
}

TEST_CASE("batches: equal numbers are equal, targets follow their inputs", "[nn]") {
  nn::markov_source const source{8, 5};
  nn::byte_text const text{"To be, or not to be, that is the question"};
  CHECK(source.batch(2, 3, 7) == nn::markov_source{8, 5}.batch(2, 3, 7));
  CHECK(source.batch(2, 3, 7) != source.batch(3, 3, 7));
  CHECK(source.batch(2, 3, 7) != nn::markov_source{8, 6}.batch(2, 3, 7));
  for (auto const& batch : {source.batch(2, 3, 7), text.batch(2, 3, 7)}) {
    REQUIRE(batch.inputs.size() == 21);
    for (std::size_t i = 0; i + 1 < 21; ++i) {
      if (i % 7 != 6) { CHECK(batch.targets[i] == batch.inputs[i + 1]); }
    }
  }
}

TEST_CASE("words by the law of Zipf are as frequent as their places say", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::problem const of{
      {.width = 2, .inner = 2, .layers = 1, .heads = 1, .vocabulary = 1000}, 64, 1024};
  auto const batch = nn::zipf_batch(of, seed);
  CHECK(batch == nn::zipf_batch(of, seed));
  CHECK(batch != nn::zipf_batch(of, seed + 1));
  nn::require_batch(of, batch);
  double sum = 0;
  for (int word = 1; word <= 1000; ++word) { sum += 1.0 / word; }
  for (auto const* tokens : {&batch.inputs, &batch.targets}) {
    for (nn::token const word : {0, 1, 9, 99}) {
      INFO("word " << word);
      auto const wanted = 64.0 * 1024 / (word + 1) / sum;
      auto const found = static_cast<double>(std::count(tokens->begin(), tokens->end(), word));
      CHECK(std::abs(found - wanted) <= 7 * std::sqrt(wanted));  // seven deviations
    }
  }
}

TEST_CASE("a text: all of it is used, and one that is too short is refused", "[nn]") {
  nn::byte_text const text{"abcd"};
  auto const whole = text.batch(0, 1, 3);
  CHECK(whole.inputs == std::vector<nn::token>{'a', 'b', 'c'});
  CHECK(whole.targets == std::vector<nn::token>{'b', 'c', 'd'});
  auto const parts = text.batch(0, 64, 2);
  CHECK(std::count(parts.targets.begin(), parts.targets.end(), 'd') > 0);
  CHECK(std::count(parts.inputs.begin(), parts.inputs.end(), 'a') > 0);
  CHECK_THAT(message_of([&] { text.batch(0, 1, 4); }),
             contains("the text has 4 bytes, a context of 4 needs 5 or more"));
  CHECK_THAT(message_of([&] { text.batch(0, 1, 0); }), contains("the context is 0"));
  CHECK_THAT(message_of([&] { text.batch(0, 0, 2); }), contains("the batch is 0"));
  // After a comes b or c, equally often; b and c tell what follows.
  CHECK(nn::byte_text{"abacabaca"}.bigram_entropy() == Approx(0.5 * std::log(2.0)));
  CHECK(nn::byte_text{"\xff\xff"}.batch(0, 1, 1).inputs[0] == 255);
}

TEST_CASE("a text of a file", "[nn]") {
  test::folder const folder;
  auto const path = (folder / "text").string();
  std::ofstream{path} << "line\nline";
  CHECK(nn::byte_text::read(path).size() == 9);
  CHECK_THAT(message_of([&] { nn::byte_text::read(path + "2"); }), contains("cannot read"));
}

TEST_CASE("the loss comes within 5 % of the entropy of the source and not below", "[nn]") {
  nn::markov_source const source{16, 7};
  nn::host_trainer<float> run{tiny, quick};
  for (std::uint64_t i = 0; i < 800; ++i) { run.step(source.batch(i, 8, 16)); }
  double loss = 0, least = 0;
  constexpr std::uint64_t fresh = 64;
  for (std::uint64_t i = 0; i < fresh; ++i) {
    auto const batch = source.batch(1'000'000 + i, 8, 16);
    loss += static_cast<double>(run.loss(batch)) / fresh;
    least += source.loss(batch) / fresh;
  }
  INFO("loss " << loss << ", source " << least << ", entropy " << source.entropy());
  CHECK(loss <= 1.05 * least);
  CHECK(loss >= least);
  CHECK(std::abs(least / source.entropy() - 1) < 0.03);
}

TEST_CASE("equal seeds give equal bits, other seeds do not", "[nn]") {
  nn::markov_source const source{16, 7};
  nn::host_trainer<float> one{tiny, quick, 3}, same{tiny, quick, 3}, other{tiny, quick, 4};
  for (std::uint64_t i = 0; i < 5; ++i) {
    auto const batch = source.batch(i, 8, 16);
    CHECK(one.step(batch) == same.step(batch));
    other.step(batch);
  }
  CHECK(std::ranges::equal(one.weights(), same.weights()));
  CHECK(!std::ranges::equal(one.weights(), other.weights()));
  CHECK(one.steps() == 5);
}

TEST_CASE("optimisers differ in their launches, not in the weights", "[nn]") {
  nn::markov_source const source{16, 7};
  auto const with = [](auto const& optimiser) { return nn::choices{}.with(optimiser); };
  using per_tensor_choices = decltype(with(nn::optimiser::per_tensor{}));
  nn::host_trainer<float> fused{tiny, quick};
  nn::host_trainer<float, per_tensor_choices> per_tensor{tiny, quick};
  using in_products_choices = decltype(with(nn::optimiser::in_products{}));
  nn::host_trainer<float, in_products_choices> in_products{tiny, quick};
  for (std::uint64_t i = 0; i < 5; ++i) {
    auto const batch = source.batch(i, 8, 16);
    auto const loss = fused.step(batch);
    CHECK(per_tensor.step(batch) == loss);
    CHECK(in_products.step(batch) == loss);
  }
  CHECK(std::ranges::equal(fused.weights(), per_tensor.weights()));
  CHECK(std::ranges::equal(fused.weights(), in_products.weights()));
}

TEST_CASE("a text that is learned by heart is below its bigram entropy", "[nn]") {
  std::string text;
  for (int i = 0; i < 50; ++i) { text += "the cat sat on the mat, then the bat sat on the hat; "; }
  nn::byte_text const source{text};
  nn::problem const of{
      {.width = 32, .inner = 64, .layers = 2, .heads = 2, .vocabulary = 256}, 4, 32};
  nn::host_trainer<float> run{of, quick};
  float last = 0;
  for (std::uint64_t i = 0; i < 120; ++i) { last = run.step(source.batch(i, 4, 32)); }
  INFO("loss " << last << ", bigram entropy " << source.bigram_entropy());
  CHECK(last < source.bigram_entropy());
}
