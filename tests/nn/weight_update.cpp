// SPDX-License-Identifier: Apache-2.0
/// @file
/// The update of a weight on the host, and the work that it declares.
#include "catch.hpp"
#include "nn/gradients.hpp"

#include <assay/nn/weight_update.hpp>

#include <cstddef>
#include <span>
#include <vector>

using namespace assay;
using test::random_numbers;
using view = std::span<double>;

TEST_CASE("an update is the gradient of a weight and a step of AdamW", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::weight_update const op{{.rows = 17, .in = 5, .out = 3}, {.learning_rate = 1e-2}, 4};
  auto const dy = random_numbers(17 * 3, seed), x = random_numbers(17 * 5, seed + 1);
  auto weights = random_numbers(15, seed + 2), first = random_numbers(15, seed + 3);
  std::vector<double> second(15, 0.5), scratch(15), gradient(15);
  auto wanted = weights, wanted_first = first, wanted_second = second;
  nn::linear{17, 5, 3}.weight_gradient()(dy, x, view{gradient});
  nn::adamw_update{{.learning_rate = 1e-2}, 15, 4}(gradient, view{wanted}, view{wanted_first},
                                                   view{wanted_second});
  nn::weight_updates const group{{op}};
  std::vector<nn::weight_arrays<double>> const arrays{{dy, x, scratch, weights, first, second}};
  group(arrays);
  CHECK(weights == wanted);
  CHECK(first == wanted_first);
  CHECK(second == wanted_second);
  // The gradient of weight (2, 1), written out.
  double sum = 0;
  for (std::size_t t = 0; t < 17; ++t) { sum += dy[t * 3 + 2] * x[t * 5 + 1]; }
  CHECK(gradient[2 * 5 + 1] == Approx(sum));
}

TEST_CASE("an update moves 24 bytes for a weight", "[nn]") {
  nn::weight_update const op{{.rows = 3, .in = 5, .out = 7}};
  auto const cost = op.cost(0.5);
  CHECK(cost.bytes_read == 2 * 3 * (5 + 7) + 12 * 35);
  CHECK(cost.bytes_written == 12 * 35);
  CHECK(cost.flops == 2 * 3 * 35 + 14 * 35);
  nn::weight_updates const twice{{op, op}};
  CHECK(twice.cost(0.5).bytes() == 2 * cost.bytes());
  CHECK(twice.cost().flops == 2 * cost.flops);
}

TEST_CASE("AdamW of pieces leaves what lies between them", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::adamw_update const op{{.learning_rate = 1e-2}, 2, 3, 3, 5};
  REQUIRE(op.extent() == 12);
  auto const gradient = random_numbers(12, seed);
  auto const before = random_numbers(12, seed + 1);
  auto weights = before;
  std::vector<double> first(12, 0.25), second(12, 0.5);
  op(gradient, view{weights}, view{first}, view{second});
  nn::adamw_update const whole{op.settings, 12, 3};
  auto wanted = before;
  std::vector<double> wanted_first(12, 0.25), wanted_second(12, 0.5);
  whole(gradient, view{wanted}, view{wanted_first}, view{wanted_second});
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(weights[i] == (i % 5 < 2 ? wanted[i] : before[i]));
    CHECK(first[i] == (i % 5 < 2 ? wanted_first[i] : 0.25));
  }
  CHECK(op.cost().bytes() == 28 * 6);
}
