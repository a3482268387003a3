// SPDX-License-Identifier: Apache-2.0
/// @file
/// A check of gradients sees what is wrong in one tensor, however small its gradients are.
#include "catch.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/transformer/gradient_check.hpp>
#include <assay/transformer/host_trainer.hpp>
#include <assay/transformer/tokens.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace assay;
using test::contains;

namespace {

constexpr nn::problem of{
    {.width = 128, .inner = 96, .layers = 2, .heads = 2, .vocabulary = 600}, 2, 17};
constexpr double allowed = 5e-2;  // of activations in bfloat16

/// The compared elements of all gradients of a batch.
std::vector<float> some_gradients(std::uint64_t seed) {
  nn::host_trainer<float> run{of, {}, seed};
  run.loss_and_gradients(nn::random_batch(of, seed));
  std::vector<float> made;
  for (auto const& tensor : nn::weight_tensors(of.model)) {
    auto const part = run.gradients().subspan(tensor.offset, nn::compared_elements(tensor));
    made.insert(made.end(), part.begin(), part.end());
  }
  return made;
}

std::string judged(std::vector<float> const& found, std::vector<float> const& wanted) {
  return nn::wrong_gradients(of.model, found, wanted, allowed).value_or("right");
}

}  // namespace

TEST_CASE("gradients that were rounded to bfloat16 are right", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const wanted = some_gradients(seed);
  CHECK(judged(wanted, wanted) == "right");
  auto rounded = wanted;
  for (float& each : rounded) { each = static_cast<float>(bfloat16{each}); }
  CHECK(judged(rounded, wanted) == "right");
  std::vector<float> const zero(wanted.size());
  CHECK(judged(zero, zero) == "right");
}

TEST_CASE("gradients that are wrong in one tensor are seen by its name", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const wanted = some_gradients(seed);
  std::size_t at = 0, hidden = 0;
  for (auto const& tensor : nn::weight_tensors(of.model)) {
    auto const count = nn::compared_elements(tensor);
    auto found = wanted;
    for (float& each : std::span{found}.subspan(at, count)) { each *= 0.6F; }
    INFO(tensor.name);
    if (nn::wrong_by_norm("all", found, wanted, allowed)) {
      CHECK_THAT(judged(found, wanted), contains("gradients differ by"));
    } else {
      ++hidden;
      CHECK_THAT(judged(found, wanted), contains("gradients of " + tensor.name + " differ by 0.4"));
    }
    found = wanted;
    found[at + count - 1] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THAT(judged(found, wanted), contains("gradients differ by"));
    at += count;
  }
  CHECK(at == wanted.size());
  CHECK(hidden > 5);  // the embedding and the gains are
}
