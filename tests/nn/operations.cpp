// SPDX-License-Identifier: Apache-2.0
/// @file
/// The references of the operations: values by hand, gradients by central differences.
#include "catch.hpp"
#include "nn/gradients.hpp"

#include <assay/nn/adamw.hpp>
#include <assay/nn/cross_entropy.hpp>
#include <assay/nn/embedding.hpp>
#include <assay/nn/masked_softmax.hpp>
#include <assay/nn/product.hpp>
#include <assay/nn/rms_norm.hpp>
#include <assay/nn/rope.hpp>
#include <assay/nn/swiglu.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace assay;
using test::contains;
using test::derivative_error;
using test::dot;
using test::message_of;
using test::poisoned_numbers;
using test::random_numbers;

namespace {

constexpr double allowed = 1e-6;
using numbers = std::vector<double>;
using view = std::span<double>;

}  // namespace

TEST_CASE("the gradient of an embedding sums over equal tokens", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  nn::embedding const op{.rows = 5, .width = 3, .vocabulary = 4};
  std::vector<nn::token> const tokens{2, 0, 2, 3, 2};
  auto table = random_numbers(12, seed);
  auto const weight = random_numbers(15, seed + 1);
  auto out = poisoned_numbers(15), gradient = poisoned_numbers(12);
  auto const value = [&] {
    op(tokens, table, view{out});
    return dot(weight, out);
  };
  value();
  CHECK(out[3] == table[0]);
  CHECK(out[14] == table[8]);
  std::vector<nn::token> order(5), begins(5);
  nn::sort_positions(tokens, order, begins);
  CHECK(order == std::vector<nn::token>{1, 0, 2, 4, 3});
  CHECK(begins == std::vector<nn::token>{0, 1, 1, 4, 5});
  nn::embedding_gradient{5, 3, 4}({order, begins}, weight, view{gradient});
  CHECK(derivative_error(value, table, gradient, seed + 2) <= allowed);
  CHECK(gradient[3] == 0);  // token 1 does not occur
  std::vector<nn::token> const beyond{2, 0, 4, 3, 2};
  CHECK_THAT(message_of([&] { op(beyond, table, view{out}); }),
             contains("token 4 is not in the vocabulary, which has tokens 0 to 3"));
  CHECK_THAT(message_of([&] { nn::sort_positions(beyond, order, begins); }),
             contains("token 4 is not in the vocabulary, which has tokens 0 to 3"));
  CHECK_THAT(message_of([&] { op(tokens, numbers(11), view{out}); }),
             contains("table has 11 elements, its shape has 12"));
}

TEST_CASE("rms_norm", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const rows : {1U, 17U}) {
    for (bool const has_branch : {false, true}) {
      std::size_t const width = 7, n = rows * width;
      INFO("rows " << rows << " branch " << has_branch);
      nn::rms_norm const op{rows, width, has_branch};
      auto residual = random_numbers(n, seed), branch = random_numbers(n, seed + 1);
      auto gain = random_numbers(width, seed + 2);
      if (!has_branch) { branch.clear(); }
      auto const of_out = random_numbers(n, seed + 3), of_sum = random_numbers(n, seed + 4);
      auto sum = poisoned_numbers(n), inverse = poisoned_numbers(rows), out = poisoned_numbers(n);
      auto const value = [&] {
        op(residual, branch, gain, view{sum}, view{inverse}, view{out});
        return dot(of_out, out) + dot(of_sum, sum);
      };
      value();
      auto dsum = of_sum;  // the gradient that later layers give
      auto dgain = poisoned_numbers(width);
      nn::rms_norm_gradient{rows, width}(of_out, sum, gain, inverse, view{dsum}, view{dgain});
      CHECK(derivative_error(value, residual, dsum, seed + 5) <= allowed);
      CHECK(derivative_error(value, gain, dgain, seed + 6) <= allowed);
      if (has_branch) { CHECK(derivative_error(value, branch, dsum, seed + 7) <= allowed); }
      auto alone = poisoned_numbers(n);
      nn::rms_norm_gradient{rows, width, false}(of_out, sum, gain, inverse, view{alone},
                                                view{dgain});
      for (std::size_t i = 0; i < n; ++i) { CHECK(alone[i] + of_sum[i] == Approx(dsum[i])); }
    }
  }
}

TEST_CASE("gradients of gains in parts, and the sums of many at their places", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::size_t const width = 3, gains = 5;
  for (std::size_t const rows : {1U, 8U, 9U, 17U}) {
    INFO("rows " << rows);
    nn::rms_norm_gradient const whole{rows, width, false}, in_parts{rows, width, false, true};
    auto const parts = in_parts.gain_parts(), n = rows * width;
    CHECK(parts == (rows + 7) / 8);
    auto const gain = random_numbers(width, seed), inverse = random_numbers(rows, seed + 1);
    // Pairs of gains are 20 elements apart, and the second one of a pair is 7 behind the first.
    nn::gain_sums const sums{parts, width, gains, 7, 20};
    numbers all_parts, wanted(2 * 20 + width, -1), dsum(n), alone(n);
    for (std::size_t g = 0; g < gains; ++g) {
      auto const d = random_numbers(n, seed + 2 + g), sum = random_numbers(n, seed + 20 + g);
      auto part = poisoned_numbers(parts * width), right = poisoned_numbers(width);
      in_parts(d, sum, gain, inverse, view{dsum}, view{part});
      whole(d, sum, gain, inverse, view{alone}, view{right});
      CHECK(dsum == alone);
      all_parts.insert(all_parts.end(), part.begin(), part.end());
      std::ranges::copy(right, wanted.begin() + std::array{0, 7, 20, 27, 40}.at(g));
      // The last part has the rows behind the last multiple of eight.
      auto const first = (rows - 1) / 8 * 8;
      double last = 0;
      for (std::size_t r = first; r < rows; ++r) { last += d[r * 3] * sum[r * 3] * inverse[r]; }
      CHECK(part[(parts - 1) * width] == Approx(last));
    }
    numbers found(wanted.size(), -1);  // what lies between gains stays
    sums(all_parts, view{found});
    CHECK(found == wanted);
    CHECK_THAT(message_of([&] { sums(all_parts, view{found}.first(42)); }),
               contains("gradients has 42 elements, its shape has 43"));
  }
}

TEST_CASE("rms_norm by hand", "[nn]") {
  numbers const x{3, -4}, gain{2, 1};
  auto sum = poisoned_numbers(2), inverse = poisoned_numbers(1), out = poisoned_numbers(2);
  nn::rms_norm{1, 2, false}(x, {}, gain, view{sum}, view{inverse}, view{out});
  CHECK(inverse[0] == Approx(1 / std::sqrt(12.5 + 1e-5)).epsilon(1e-14));
  CHECK(out[0] == Approx(6 / std::sqrt(12.5 + 1e-5)).epsilon(1e-14));
  CHECK(out[1] == Approx(-4 / std::sqrt(12.5 + 1e-5)).epsilon(1e-14));
}

TEST_CASE("rope turns neighbours by position, and its gradient turns back", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const context : {1U, 17U}) {
    nn::rope const op{.batch = 2, .context = context, .heads = 3, .head_size = 6};
    auto const table = nn::rope_table<double>(context, 6);
    auto x = random_numbers(op.elements(), seed);
    auto const weight = random_numbers(op.elements(), seed + 1);
    auto turned = x;
    auto const value = [&] {
      turned = x;
      op(table, view{turned});
      return dot(weight, turned);
    };
    value();
    auto gradient = weight;
    nn::rope{2, context, 3, 6, true}(table, view{gradient});
    CHECK(derivative_error(value, x, gradient, seed + 2) <= allowed);
    // Sequence 1, last position, head 2, pair 1: the angle is t / 10^4^(2/6).
    auto const at = ((context + context - 1) * 3 + 2) * 6 + 2;
    auto const angle = static_cast<double>(context - 1) / std::cbrt(1e4);
    CHECK(turned[at] == Approx(x[at] * std::cos(angle) - x[at + 1] * std::sin(angle)));
    CHECK(turned[at + 1] == Approx(x[at] * std::sin(angle) + x[at + 1] * std::cos(angle)));
  }
}

TEST_CASE("a linear layer and its gradients", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const rows : {1U, 17U}) {
    nn::linear const op{.rows = rows, .in = 5, .out = 3};
    auto x = random_numbers(rows * 5, seed), w = random_numbers(15, seed + 1);
    auto const weight = random_numbers(rows * 3, seed + 2);
    auto y = poisoned_numbers(rows * 3), dx = poisoned_numbers(rows * 5), dw = poisoned_numbers(15);
    auto const value = [&] {
      op.forward()(x, w, view{y});
      return dot(weight, y);
    };
    value();
    CHECK(y[2] == Approx(x[0] * w[10] + x[1] * w[11] + x[2] * w[12] + x[3] * w[13] + x[4] * w[14]));
    op.input_gradient()(weight, w, view{dx});
    op.weight_gradient()(weight, x, view{dw});
    CHECK(derivative_error(value, x, dx, seed + 3) <= allowed);
    CHECK(derivative_error(value, w, dw, seed + 4) <= allowed);
    auto twice = dx;
    op.input_gradient(true)(weight, w, view{twice});
    for (std::size_t i = 0; i < dx.size(); ++i) { CHECK(twice[i] == Approx(2 * dx[i])); }
  }
  auto const cost = nn::linear{2, 5, 3}.forward().cost();
  CHECK(cost.flops == 2 * 2 * 5 * 3);
  CHECK(cost.bytes_read == 4 * (2 * 5 + 5 * 3));
  CHECK(cost.bytes_written == 4 * 2 * 3);
}

TEST_CASE("causal attention: products, softmax and gradients", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const context : {1U, 2U, 17U}) {
    INFO("context " << context);
    std::size_t const batch = 2, heads = 3, size = 4, n = batch * context * heads * size;
    nn::attention_products const op{batch, context, heads, size};
    nn::masked_softmax const softmax{batch * heads, context};
    auto q = random_numbers(n, seed), k = random_numbers(n, seed + 1);
    auto v = random_numbers(n, seed + 2);
    auto const weight = random_numbers(n, seed + 3);
    auto p = poisoned_numbers(op.score_count()), out = poisoned_numbers(n);
    auto const value = [&] {
      op.scores()(q, k, view{p});
      softmax(view{p});
      op.outputs()(p, v, view{out});
      return dot(weight, out);
    };
    value();
    auto ds = poisoned_numbers(op.score_count()), dq = poisoned_numbers(n),
         dk = poisoned_numbers(n), dv = poisoned_numbers(n);
    op.probability_gradient()(weight, v, view{ds});
    op.value_gradient()(p, weight, view{dv});
    nn::masked_softmax_gradient{softmax.count, context}(p, view{ds});
    op.query_gradient()(ds, k, view{dq});
    op.key_gradient()(ds, q, view{dk});
    CHECK(derivative_error(value, v, dv, seed + 4) <= allowed);
    CHECK(derivative_error(value, q, dq, seed + 5) <= allowed);
    CHECK(derivative_error(value, k, dk, seed + 6) <= allowed);

    // The output of sequence 1, last position, head 2, element 3, written out.
    auto const at = [&](std::size_t t) { return ((context + t) * heads + 2) * size; };
    double sum = 0, mean = 0;
    for (std::size_t t = 0; t < context; ++t) {
      double score = 0;
      for (std::size_t i = 0; i < size; ++i) { score += q[at(context - 1) + i] * k[at(t) + i]; }
      sum += std::exp(score / 2);
      mean += std::exp(score / 2) * v[at(t) + 3];
    }
    CHECK(out[at(context - 1) + 3] == Approx(mean / sum));
    // The first position sees itself alone.
    CHECK(out[at(0)] == Approx(v[at(0)]));
  }
}

TEST_CASE("masked_softmax: large scores do not overflow, masked ones are zero", "[nn]") {
  numbers scores{1e4, 7, 1e4, 1e4 + 1};
  nn::masked_softmax{1, 2}(view{scores});
  CHECK(scores[0] == 1);
  CHECK(scores[1] == 0);
  CHECK(scores[2] == Approx(1 / (1 + std::exp(1.0))));
  CHECK(scores[2] + scores[3] == Approx(1));
}

TEST_CASE("swiglu", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const n : {1U, 17U}) {
    auto a = random_numbers(n, seed), b = random_numbers(n, seed + 1);
    for (auto& each : a) { each *= 4; }
    auto const weight = random_numbers(n, seed + 2);
    auto out = poisoned_numbers(n), da = poisoned_numbers(n), db = poisoned_numbers(n);
    auto const value = [&] {
      nn::swiglu{1, n}(a, b, view{out});
      return dot(weight, out);
    };
    value();
    CHECK(out[0] == Approx(a[0] * b[0] / (1 + std::exp(-a[0]))));
    nn::swiglu_gradient{1, n}(a, b, weight, view{da}, view{db});
    CHECK(derivative_error(value, a, da, seed + 3) <= allowed);
    CHECK(derivative_error(value, b, db, seed + 4) <= allowed);
  }
}

TEST_CASE("cross_entropy: loss and gradient of one pass", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (std::size_t const rows : {1U, 17U}) {
    nn::cross_entropy const op{rows, 11};
    auto logits = random_numbers(rows * 11, seed);
    std::vector<nn::token> targets(rows);
    for (std::size_t r = 0; r < rows; ++r) { targets[r] = static_cast<nn::token>(r * 7 % 11); }
    auto gradient = logits;
    auto losses = poisoned_numbers(rows), mean = poisoned_numbers(1);
    auto const value = [&] {
      gradient = logits;
      op(targets, view{gradient}, view{losses});
      nn::mean{rows}(losses, view{mean});
      return mean[0];
    };
    value();
    double sum = 0;
    for (std::size_t i = 0; i < 11; ++i) { sum += std::exp(logits[i]); }
    CHECK(losses[0] == Approx(std::log(sum) - logits[0]));
    CHECK(mean[0] == Approx(dot(losses, numbers(rows, 1)) / static_cast<double>(rows)));
    auto const found = gradient;
    CHECK(derivative_error(value, logits, found, seed + 1) <= allowed);
  }
  numbers large{1e4, 0}, losses{0};
  nn::cross_entropy{1, 2}(std::vector<nn::token>{1}, view{large}, view{losses});
  CHECK(losses[0] == 1e4);
  CHECK_THAT(message_of([&] {
               nn::cross_entropy{1, 2}(std::vector<nn::token>{-1}, view{large}, view{losses});
             }),
             contains("token -1 is not in the vocabulary, which has tokens 0 to 1"));
}

TEST_CASE("a product refuses arrays that are shorter than its matrices", "[nn]") {
  auto const op = nn::linear{2, 3, 4}.forward();
  numbers x(6), w(12), y(8);
  CHECK_NOTHROW(op(x, w, view{y}));
  auto const text = [&](std::size_t left, std::size_t right, std::size_t out) {
    return message_of([&] { op(numbers(left), numbers(right), view{y}.first(out)); });
  };
  CHECK_THAT(text(5, 12, 8), contains("the left factor has 5 elements, its shape has 6"));
  CHECK_THAT(text(6, 11, 8), contains("the right factor has 11 elements, its shape has 12"));
  CHECK_THAT(text(6, 12, 7), contains("the result has 7 elements, its shape has 8"));
  // Scores of two heads: a key lies a head's width behind the one of the other head.
  auto const scores = nn::attention_products{1, 3, 2, 4}.scores();
  numbers q(24), s(18);
  CHECK_NOTHROW(scores(q, q, view{s}));
  CHECK_THAT(message_of([&] { scores(q, numbers(23), view{s}); }),
             contains("has 23 elements, its shape has 24"));
}

TEST_CASE("adamw: a constant gradient moves each weight by the rate", "[nn]") {
  // Both corrected moments are then g and g^2, so a step is rate g / (|g| + epsilon).
  nn::adamw const settings{.learning_rate = 0.01, .epsilon = 1e-3, .weight_decay = 0.1};
  numbers const gradient{0.5, -3, 0};
  numbers weights{1, 2, -3}, first(3, 0), second(3, 0);
  auto wanted = weights;
  for (int step = 1; step <= 5; ++step) {
    nn::adamw_update{settings, 3, step}(gradient, view{weights}, view{first}, view{second});
    for (std::size_t i = 0; i < 3; ++i) {
      wanted[i] -= 0.01 * 0.1 * wanted[i];
      wanted[i] -= 0.01 * gradient[i] / (std::abs(gradient[i]) + 1e-3);
      CHECK(weights[i] == Approx(wanted[i]).epsilon(1e-12));
    }
  }
  CHECK(first[0] == Approx(0.5 * (1 - std::pow(0.9, 5))).epsilon(1e-12));
  CHECK(second[1] == Approx(9 * (1 - std::pow(0.999, 5))).epsilon(1e-12));
  CHECK(nn::adamw_update{settings, 1000}.cost().bytes() == 28'000);
  CHECK_THAT(message_of([] { nn::adamw{.beta2 = 1}.validate(); }),
             contains("beta2 is 1.000000, allowed is [0, 1)"));
}

TEST_CASE("costs of operations, counted by hand for 3 rows of 5", "[nn]") {
  struct row {
    traffic cost;
    double read, written, flops;  // in elements
  };
  row const rows[] = {
      {nn::embedding{3, 5, 7}.cost(), 15 + 3, 15, 0},
      {nn::embedding_gradient{3, 5, 7}.cost(), 15 + 3 + 8, 35, 15},
      {nn::rms_norm{3, 5, false}.cost(), 15 + 5, 15 + 3, 60},
      {nn::rms_norm{3, 5}.cost(), 30 + 5, 30 + 3, 75},
      {nn::rms_norm_gradient{3, 5, false}.cost(), 30 + 5 + 3, 15 + 5, 150},
      {nn::rms_norm_gradient{3, 5}.cost(), 45 + 5 + 3, 15 + 5, 165},
      {nn::rms_norm_gradient{17, 5, true, true}.cost(), 3 * 85 + 5 + 17, 85 + 3 * 5, 935},
      {nn::gain_sums{3, 5, 7, 10, 20}.cost(), 3 * 35, 35, 3 * 35},
      {nn::rope{2, 3, 4, 6}.cost(), 144 + 18, 144, 432},
      {nn::masked_softmax{2, 3}.cost(), 18, 18, 90},
      {nn::masked_softmax_gradient{2, 3}.cost(), 36, 18, 72},
      {nn::swiglu{3, 5}.cost(), 30, 15, 75},
      {nn::swiglu_gradient{3, 5}.cost(), 45, 30, 180},
      {nn::cross_entropy{3, 5}.cost(), 15 + 3, 15 + 3, 90},
      {nn::mean{15}.cost(), 15, 1, 15},
      {nn::adamw_update{{}, 15}.cost(), 60, 45, 210},
      {nn::linear{3, 5, 7}.input_gradient(true).cost(), 21 + 35 + 15, 15, 210},
      // Activations of half the bytes.
      {nn::rms_norm{3, 5}.cost(0.5), 15 + 7.5 + 5, 15 + 7.5 + 3, 75},
      {nn::rms_norm_gradient{3, 5}.cost(0.5), 30 + 7.5 + 5 + 3, 15 + 5 + 7.5, 165},
      {nn::rope{2, 3, 4, 6}.cost(0.5), 72 + 18, 72, 432},
      {nn::masked_softmax_gradient{2, 3}.cost(0.5), 18, 9, 72},
      {nn::swiglu_gradient{3, 5}.cost(0.5), 22.5, 15, 180},
      {nn::cross_entropy{3, 5}.cost(0.5), 7.5 + 3, 7.5 + 3, 90},
      {nn::adamw_update{{}, 15}.cost(0.5), 60, 45, 210},
      {nn::linear{3, 5, 7}.weight_gradient().cost(0.5), 18, 35, 210},
  };
  for (auto const& each : rows) {
    INFO("row " << &each - rows);
    CHECK(each.cost.bytes_read == 4 * each.read);
    CHECK(each.cost.bytes_written == 4 * each.written);
    CHECK(each.cost.flops == each.flops);
  }
}

TEST_CASE("operations of CS336's small model at batch 4, context 512, counted", "[nn]") {
  nn::attention_products const attention{4, 512, 12, 64};
  nn::masked_softmax const softmax{48, 512};
  CHECK(attention.scores().cost().flops == 1'610'612'736);
  CHECK(attention.outputs().cost().flops == 1'610'612'736);
  CHECK(softmax.cost().flops == 62'914'560);
  CHECK(softmax.cost().bytes() == 2 * 50'331'648);
  CHECK((attention.scores().cost() + attention.outputs().cost()).flops / softmax.cost().flops ==
        Approx(51.2));
}
