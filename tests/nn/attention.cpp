// SPDX-License-Identifier: Apache-2.0
/// @file
/// The reference of attention: against the products and the softmax that it consists of, and its
/// gradient against central differences.
#include "catch.hpp"
#include "nn/gradients.hpp"

#include <assay/nn/attention.hpp>
#include <assay/nn/masked_softmax.hpp>
#include <assay/nn/product.hpp>
#include <assay/nn/rope.hpp>

#include <cmath>
#include <span>
#include <vector>

using namespace assay;
using test::contains;
using test::derivative_error;
using test::dot;
using test::message_of;
using test::poisoned_numbers;
using test::random_numbers;

namespace {

using numbers = std::vector<double>;
using rows = nn::head_rows<double>;

/// Many times the error of numbers below 10 that are sums of 17 terms.
constexpr double rounding = 1e-13;

}  // namespace

TEST_CASE("attention is its products and softmax", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const context : {1U, 17U}) {
    nn::attention_shape const shape{.batch = 2, .context = context, .heads = 3, .head_size = 6};
    auto const n = shape.elements(), width = shape.width();
    auto q = random_numbers(n, seed), k = random_numbers(n, seed + 1);
    auto v = random_numbers(n, seed + 2);
    auto out = poisoned_numbers(n), logarithms = poisoned_numbers(shape.rows());
    nn::fused_attention{shape}(rows{q.data(), width}, rows{k.data(), width}, rows{v.data(), width},
                               rows{out.data(), width}, std::span{logarithms});
    nn::attention_products const products{2, context, 3, 6};
    auto p = poisoned_numbers(products.score_count()), wanted = poisoned_numbers(n);
    products.scores()(q, k, std::span{p});
    auto const scores = p;
    nn::masked_softmax{6, context}(std::span{p});
    products.outputs()(p, v, std::span{wanted});
    for (std::size_t i = 0; i < n; ++i) { CHECK(std::abs(out[i] - wanted[i]) <= rounding); }
    for (std::size_t r = 0; r < shape.rows(); ++r) {
      // The first probability of a row is exp(its score - the logarithm).
      auto const first = r * context;
      CHECK(std::abs(scores[first] - std::log(p[first]) - logarithms[r]) <= rounding);
    }
  }
}

TEST_CASE("the gradients of attention, with queries, keys and values beside each other", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const context : {1U, 17U}) {
    nn::attention_shape const shape{.batch = 2, .context = context, .heads = 3, .head_size = 6};
    auto const width = shape.width(), stride = 3 * width + 2;
    auto packed = random_numbers(2 * context * stride, seed);
    auto const weight = random_numbers(shape.elements(), seed + 1);
    auto out = poisoned_numbers(shape.elements()), logarithms = poisoned_numbers(shape.rows());
    auto const part = [&](numbers& of, std::size_t i) { return rows{&of[i * width], stride}; };
    rows const o{out.data(), width};
    auto const value = [&] {
      nn::fused_attention{shape}(part(packed, 0), part(packed, 1), part(packed, 2), o,
                                 std::span{logarithms});
      return dot(weight, out);
    };
    value();
    auto gradient = poisoned_numbers(packed.size());
    nn::head_rows<double const> const d_o{weight.data(), width};
    nn::fused_attention_gradient{shape}(part(packed, 0), part(packed, 1), part(packed, 2), o,
                                        logarithms, d_o, part(gradient, 0), part(gradient, 1),
                                        part(gradient, 2));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      bool const outside = i % stride >= 3 * width;
      CHECK(std::isnan(gradient[i]) == outside);
      if (outside) { gradient[i] = 0; }
    }
    CHECK(derivative_error(value, packed, gradient, seed + 2) <= 1e-6);
    // Of each input alone: those of the values are larger than the others.
    for (std::size_t i = 0; i < 3 && context > 1; ++i) {
      auto one = gradient;
      for (std::size_t j = 0; j < one.size(); ++j) {
        if (j % stride / width != i) { one[j] = 0; }
      }
      auto const length = std::sqrt(dot(one, one));
      auto const before = packed;
      auto const moved = [&](double by) {
        for (std::size_t j = 0; j < packed.size(); ++j) {
          packed[j] = before[j] + by * one[j] / length;
        }
        return value();
      };
      auto const found = (moved(1e-5) - moved(-1e-5)) / 2e-5;
      packed = before;
      CHECK(found == Approx(length).epsilon(1e-6));
    }
  }
}

TEST_CASE("the gradient of attention on queries and keys that were turned", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::attention_shape const shape{.batch = 2, .context = 5, .heads = 3, .head_size = 6};
  auto const n = shape.elements(), width = shape.width(), stride = 3 * width;
  auto packed = random_numbers(3 * n, seed);
  auto const weight = random_numbers(n, seed + 1);
  auto const turns = nn::rope_table<double>(shape.context, shape.head_size);
  nn::rope const turn{2, 5, 2 * 3, 6, false, stride};  // of queries and keys
  auto turned = packed;
  numbers out(n), logarithms(shape.rows());
  auto const part = [&](numbers& of, std::size_t i) { return rows{&of[i * width], stride}; };
  rows const o{out.data(), width};
  auto const value = [&] {
    turned = packed;
    turn(turns, std::span{turned}.first(turn.extent()));
    nn::fused_attention{shape}(part(turned, 0), part(turned, 1), part(turned, 2), o,
                               std::span{logarithms});
    return dot(weight, out);
  };
  value();
  auto gradient = poisoned_numbers(packed.size());
  nn::head_rows<double const> const d_o{weight.data(), width};
  nn::turned_attention_gradient{shape}(part(turned, 0), part(turned, 1), part(turned, 2), o,
                                       logarithms, d_o, part(gradient, 0), part(gradient, 1),
                                       part(gradient, 2), turns);
  CHECK(derivative_error(value, packed, gradient, seed + 2) <= 1e-6);
}

TEST_CASE("costs of attention, counted by hand for 3 positions of 2 heads of 4", "[nn]") {
  nn::attention_shape const shape{.batch = 5, .context = 3, .heads = 2, .head_size = 4};
  CHECK(shape.kept() == 60);
  auto const forward = nn::fused_attention{shape}.cost();
  CHECK(forward.bytes_read == 3 * 2 * 120);
  CHECK(forward.bytes_written == 2 * 120 + 4 * 30);
  CHECK(forward.flops == 60 * (16 + 5));
  auto const backward = nn::fused_attention_gradient{shape}.cost();
  CHECK(backward.bytes_read == 5 * 2 * 120 + 4 * 30);
  CHECK(backward.bytes_written == 3 * 2 * 120);
  CHECK(backward.flops == 60 * (40 + 6));
  auto const turned = nn::turned_attention_gradient{shape}.cost();
  CHECK(turned.bytes_read == backward.bytes_read + 4 * 3 * 4);
  CHECK(turned.bytes_written == backward.bytes_written);
  CHECK(turned.flops == backward.flops + 2 * 3 * 120);
  numbers x(120), logarithms(29);
  CHECK_THAT(message_of([&] {
               nn::fused_attention{shape}(rows{x.data(), 8}, rows{x.data(), 8}, rows{x.data(), 8},
                                          rows{x.data(), 8}, std::span{logarithms});
             }),
             contains("logarithms has 29 elements, its shape has 30"));
}
