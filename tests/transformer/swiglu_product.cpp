// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products with SwiGLU on the host, and the work that they declare.
#include "catch.hpp"
#include "nn/gradients.hpp"

#include <assay/transformer/swiglu_product.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

using namespace assay;
using test::derivative_error;
using test::dot;
using test::poisoned_numbers;
using test::random_numbers;
using view = std::span<double>;

TEST_CASE("a product with SwiGLU makes both inputs side by side, and the result", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::swiglu_product const op{.rows = 3, .in = 5, .width = 7};
  auto const x = random_numbers(15, seed), weights = random_numbers(70, seed + 1);
  auto ab = poisoned_numbers(42), out = poisoned_numbers(21);
  op(x, weights, view{ab}, view{out});
  // Column 6 of row 2, written out.
  double a = 0, b = 0;
  for (std::size_t k = 0; k < 5; ++k) {
    a += x[2 * 5 + k] * weights[6 * 5 + k];
    b += x[2 * 5 + k] * weights[(7 + 6) * 5 + k];
  }
  CHECK(ab[2 * 14 + 6] == Approx(a));
  CHECK(ab[2 * 14 + 7 + 6] == Approx(b));
  CHECK(out[2 * 7 + 6] == Approx(a / (1 + std::exp(-a)) * b));
}

TEST_CASE("the gradient of a product with SwiGLU is that of what runs", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::swiglu_product_gradient const op{.rows = 3, .width = 7, .out = 5};
  auto ab = random_numbers(42, seed);
  auto const weights = random_numbers(35, seed + 1), dy = random_numbers(15, seed + 2);
  auto scratch = poisoned_numbers(21), gradient = poisoned_numbers(42);
  op(dy, weights, ab, view{scratch}, view{gradient});
  auto gated = poisoned_numbers(21), y = poisoned_numbers(15);
  auto const value = [&] {
    nn::swiglu{3, 7, 14}(view{ab}.first(35), view{ab}.subspan(7), view{gated});
    nn::linear{3, 7, 5}.forward()(gated, weights, view{y});
    return dot(y, dy);
  };
  CHECK(derivative_error(value, ab, gradient, seed + 3) <= 1e-8);
}

TEST_CASE("a product with SwiGLU moves no array twice", "[nn]") {
  auto const cost = nn::swiglu_product{.rows = 3, .in = 5, .width = 7}.cost(0.5);
  CHECK(cost.bytes_read == 2 * (3 * 5 + 5 * 14));
  CHECK(cost.bytes_written == 2 * (3 * 14 + 3 * 7));
  CHECK(cost.flops == 2 * 3 * 5 * 14 + 5 * 21);
  auto const back = nn::swiglu_product_gradient{.rows = 3, .width = 7, .out = 5}.cost(0.5);
  CHECK(back.bytes_read == 2 * (3 * 5 + 5 * 7 + 3 * 14));
  CHECK(back.bytes_written == 2 * 3 * 14);
  CHECK(back.flops == 2 * 3 * 5 * 7 + 12 * 21);
}
