// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
/// @file
/// The operations on a device against the float64 references, under bounds from rounding alone.
/// A sum of n terms in any order is off by at most n roundings of the sum of their magnitudes.
#include "catch.hpp"
#include "nn/on_device.cuh"

#include <assay/nn/adamw.cuh>
#include <assay/nn/cross_entropy.cuh>
#include <assay/nn/cublas_products.hpp>
#include <assay/nn/embedding.cuh>
#include <assay/nn/masked_softmax.cuh>
#include <assay/nn/rms_norm.cuh>
#include <assay/nn/rope.cuh>
#include <assay/nn/swiglu.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

using namespace assay;
using test::beyond;
using test::magnitudes;
using test::on_device;
using test::random_floats;
using test::rounding;
using test::wide;

namespace {

using numbers = std::vector<double>;
using view = std::span<double>;

/// Under a sanitizer without the last one.
std::span<std::size_t const> sizes() {
  static constexpr std::size_t all[] = {1, 17, 129};
  return std::span{all}.first(test::small() ? 2 : 3);
}
constexpr std::size_t head_sizes[] = {64, 80};

}  // namespace

TEST_CASE("a result beyond its bound is seen, and so is NaN", "[nn]") {
  CHECK(beyond({1, 2}, {1, 2.5}, {0, 0.5}).empty());
  CHECK(beyond({1, 2}, {1, 2.5}, {0, 0.49}).starts_with("element 1 is 2.0"));
  CHECK(beyond({1, NAN}, {1, 2}, {1, 1}).starts_with("element 1 is nan"));
}

TEST_CASE("embedding on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const rows : sizes()) {
    std::size_t const width = 80, vocabulary = 33;
    std::vector<nn::token> tokens(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      tokens[i] = static_cast<nn::token>(random_bits(seed, i) % vocabulary);
    }
    auto const table = random_floats(vocabulary * width, seed + 1);
    auto const gradient = random_floats(rows * width, seed + 2);
    auto const at = gpu.copy(tokens);
    auto const from = gpu.copy(table), back = gpu.copy(gradient);
    auto out = gpu.poisoned(rows * width), sums = gpu.poisoned(vocabulary * width);
    nn::embedding const op{rows, width, vocabulary};
    nn::embedding_gradient const gradient_op{rows, width, vocabulary};
    enqueue(gpu.stream(), op, at.span(), from.span(), out.span());
    enqueue(gpu.stream(), gradient_op, at.span(), back.span(), sums.span());
    numbers wanted(rows * width), sum(vocabulary * width), magnitude(vocabulary * width);
    op(tokens, wide(table), view{wanted});
    CHECK(beyond(gpu.found(out), wanted, numbers(rows * width, 0)) == "");
    gradient_op(tokens, wide(gradient), view{sum});
    gradient_op(tokens, magnitudes(wide(gradient)), view{magnitude});
    CHECK(beyond(gpu.found(sums), sum, magnitude, static_cast<double>(rows) * rounding) == "");
  }
}

TEST_CASE("rms_norm on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const rows : sizes()) {
    for (std::size_t const width : {std::size_t{1}, std::size_t{80}, std::size_t{771}}) {
      INFO("rows " << rows << " width " << width);
      auto const n = rows * width;
      auto const x = random_floats(n, seed), y = random_floats(n, seed + 1);
      auto const g = random_floats(width, seed + 2);
      auto const residual = gpu.copy(x), branch = gpu.copy(y), gain = gpu.copy(g);
      auto sum = gpu.poisoned(n), inverse = gpu.poisoned(rows), out = gpu.poisoned(n);
      nn::rms_norm const op{rows, width};
      enqueue(gpu.stream(), op, residual.span(), branch.span(), gain.span(), sum.span(),
              inverse.span(), out.span());
      numbers s(n), i(rows), o(n);
      op(wide(x), wide(y), wide(g), view{s}, view{i}, view{o});
      CHECK(beyond(gpu.found(sum), s, s, rounding) == "");
      // Half the error of the sum of squares, whose terms have three roundings, and six more.
      auto const share = (static_cast<double>(width) / 2 + 10) * rounding;
      CHECK(beyond(gpu.found(inverse), i, i, share) == "");
      CHECK(beyond(gpu.found(out), o, o, share + 3 * rounding) == "");

      // The gradient of what the device found, with and without a gradient to add to.
      auto const found_sum = gpu.found(sum), found_inverse = gpu.found(inverse);
      auto const dy = random_floats(n, seed + 3), before = random_floats(n, seed + 4);
      auto const out_gradient = gpu.copy(dy);
      for (bool const accumulate : {false, true}) {
        auto dx = accumulate ? gpu.copy(before) : gpu.poisoned(n);
        auto dgain = gpu.poisoned(width);
        nn::rms_norm_gradient const gradient{rows, width, accumulate};
        enqueue(gpu.stream(), gradient, out_gradient.span(), sum.span(), gain.span(),
                inverse.span(), dx.span(), dgain.span());
        auto wanted = wide(before);
        numbers wanted_gain(width), gain_magnitude(width, 0), allowed(n);
        gradient(wide(dy), wide(found_sum), wide(g), wide(found_inverse), view{wanted},
                 view{wanted_gain});
        for (std::size_t r = 0; r < rows; ++r) {
          double const inv = found_inverse[r];
          double dot = 0;
          for (std::size_t c = 0; c < width; ++c) {
            auto const at = r * width + c;
            dot += std::abs(1.0 * dy[at] * g[c] * found_sum[at]);
            gain_magnitude[c] += std::abs(1.0 * dy[at] * found_sum[at] * inv);
          }
          for (std::size_t c = 0; c < width; ++c) {
            auto const at = r * width + c;
            auto const along = dot * inv * inv / static_cast<double>(width);
            auto const size = std::abs(1.0 * dy[at] * g[c]) + std::abs(found_sum[at]) * along;
            allowed[at] =
                (inv * size * (static_cast<double>(width) + 12) + std::abs(wanted[at])) * rounding;
          }
        }
        CHECK(beyond(gpu.found(dx), wanted, allowed) == "");
        CHECK(beyond(gpu.found(dgain), wanted_gain, gain_magnitude,
                     (static_cast<double>(rows) + 3) * rounding) == "");
      }
    }
  }
}

TEST_CASE("rms_norm without a branch may write its sum in place", "[nn]") {
  on_device gpu;
  auto const x = random_floats(160, 1), g = random_floats(80, 2);
  auto stream = gpu.copy(x);
  auto const gain = gpu.copy(g);
  auto inverse = gpu.poisoned(2), out = gpu.poisoned(160);
  enqueue(gpu.stream(), nn::rms_norm{2, 80, false}, stream.span(), {}, gain.span(), stream.span(),
          inverse.span(), out.span());
  CHECK(gpu.found(stream) == x);
}

TEST_CASE("rope on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const context : sizes()) {
    for (std::size_t const size : head_sizes) {
      for (bool const back : {false, true}) {
        INFO("context " << context << " head size " << size << " back " << back);
        nn::rope const op{2, context, 3, size, back};
        auto const x = random_floats(op.elements(), seed);
        auto const turns = nn::rope_table<float>(context, size);
        auto const table = gpu.copy(turns);
        auto turned = gpu.copy(x);
        enqueue(gpu.stream(), op, table.span(), turned.span());
        auto wanted = wide(x);
        op(wide(turns), view{wanted});
        numbers allowed(op.elements());
        for (std::size_t i = 0; i < allowed.size(); ++i) {
          allowed[i] = 3 * rounding * (std::abs(x[i & ~std::size_t{1}]) + std::abs(x[i | 1]));
        }
        CHECK(beyond(gpu.found(turned), wanted, allowed) == "");
      }
    }
  }
}

namespace {

/// Runs one product on random arrays and compares it with the reference.
void check_product(on_device& gpu, nn::product const& op, std::size_t a_size, std::size_t b_size,
                   std::size_t c_size, std::uint64_t seed) {
  auto const a = random_floats(a_size, seed), b = random_floats(b_size, seed + 1);
  auto const c = random_floats(c_size, seed + 2);
  auto workspace = gpu.copy(std::vector<std::byte>(8 << 20));
  auto pointers = gpu.copy(std::vector<float*>(3 * op.batch()));
  nn::cublas_products products{gpu.stream(), workspace.span(), pointers.span()};
  auto const left = gpu.copy(a), right = gpu.copy(b);
  auto out = op.accumulate ? gpu.copy(c) : gpu.poisoned(c_size);
  products.enqueue(op, left.span(), right.span(), out.span());
  auto wanted = wide(c), magnitude = magnitudes(wide(c));
  op(wide(a), wide(b), view{wanted});
  op(magnitudes(wide(a)), magnitudes(wide(b)), view{magnitude});
  // Of tf32 the error would be some ten times as large as this bound.
  CHECK(beyond(gpu.found(out), wanted, magnitude, (static_cast<double>(op.depth) + 4) * rounding) ==
        "");
}

}  // namespace

TEST_CASE("products of a linear layer on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const rows : sizes()) {
    std::size_t const in = 80, out = 67;
    INFO("rows " << rows);
    nn::linear const op{rows, in, out};
    check_product(gpu, op.forward(), rows * in, in * out, rows * out, seed);
    check_product(gpu, op.input_gradient(), rows * out, in * out, rows * in, seed + 3);
    check_product(gpu, op.input_gradient(true), rows * out, in * out, rows * in, seed + 6);
    check_product(gpu, op.weight_gradient(), rows * out, rows * in, in * out, seed + 9);
  }
}

TEST_CASE("products of attention on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const context : sizes()) {
    for (std::size_t const size : head_sizes) {
      INFO("context " << context << " head size " << size);
      nn::attention_products const op{2, context, 3, size};
      auto const n = 2 * context * 3 * size, scores = op.score_count();
      check_product(gpu, op.scores(), n, n, scores, seed);
      check_product(gpu, op.outputs(), scores, n, n, seed + 3);
      check_product(gpu, op.probability_gradient(), n, n, scores, seed + 6);
      check_product(gpu, op.value_gradient(), scores, n, n, seed + 9);
      check_product(gpu, op.query_gradient(), scores, n, n, seed + 12);
      check_product(gpu, op.key_gradient(), scores, n, n, seed + 15);
    }
  }
}

TEST_CASE("masked_softmax on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const context : sizes()) {
    INFO("context " << context);
    nn::masked_softmax const op{6, context};
    nn::masked_softmax_gradient const gradient{6, context};
    auto const n = op.elements();
    auto const x = random_floats(n, seed, 4), d = random_floats(n, seed + 1);
    auto p = gpu.copy(x), ds = gpu.copy(d);
    enqueue(gpu.stream(), op, p.span());
    auto wanted = wide(x);
    op(view{wanted});
    // The difference to the maximum is at most 8, so its rounding moves an exponential by 8
    // roundings at most; expf itself has two, the sum one for each term.
    auto const terms = static_cast<double>(context);
    CHECK(beyond(gpu.found(p), wanted, wanted, (terms + 2 * (8 + 2) + 4) * rounding) == "");

    auto const found = gpu.found(p);
    enqueue(gpu.stream(), gradient, p.span(), ds.span());
    auto wanted_gradient = wide(d);
    gradient(wide(found), view{wanted_gradient});
    numbers allowed(n);
    for (std::size_t i = 0; i < n; ++i) {
      auto const first = i / context * context;
      double dot = 0;
      for (std::size_t c = first; c < first + context; ++c) {
        dot += std::abs(static_cast<double>(found[c]) * d[c]);
      }
      allowed[i] = found[i] * (std::abs(d[i]) + dot) * (terms + 4) * rounding;
    }
    CHECK(beyond(gpu.found(ds), wanted_gradient, allowed) == "");
  }
}

TEST_CASE("swiglu on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const n : {std::size_t{1}, std::size_t{17}, std::size_t{100'003}}) {
    auto const a = random_floats(n, seed, 6), b = random_floats(n, seed + 1);
    auto const d = random_floats(n, seed + 2);
    auto const x = gpu.copy(a), y = gpu.copy(b), dout = gpu.copy(d);
    auto out = gpu.poisoned(n), dx = gpu.poisoned(n), dy = gpu.poisoned(n);
    enqueue(gpu.stream(), nn::swiglu{n}, x.span(), y.span(), out.span());
    enqueue(gpu.stream(), nn::swiglu_gradient{n}, x.span(), y.span(), dout.span(), dx.span(),
            dy.span());
    numbers wanted(n), wanted_x(n), wanted_y(n), allowed(n);
    nn::swiglu{n}(wide(a), wide(b), view{wanted});
    nn::swiglu_gradient{n}(wide(a), wide(b), wide(d), view{wanted_x}, view{wanted_y});
    // expf: two roundings; the sum, the quotient and two products one each.
    CHECK(beyond(gpu.found(out), wanted, wanted, 8 * rounding) == "");
    CHECK(beyond(gpu.found(dy), wanted_y, wanted_y, 8 * rounding) == "");
    for (std::size_t i = 0; i < n; ++i) {
      auto const s = 1 / (1 + std::exp(-static_cast<double>(a[i])));
      auto const outer = std::abs(d[i] * s * b[i]);
      allowed[i] = 8 * rounding * (std::abs(wanted_x[i]) + outer * (1 + std::abs(a[i])));
    }
    CHECK(beyond(gpu.found(dx), wanted_x, allowed) == "");
  }
}

TEST_CASE("cross_entropy on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  for (std::size_t const rows : sizes()) {
    for (std::size_t const vocabulary : {std::size_t{1}, std::size_t{37}, std::size_t{10'000}}) {
      INFO("rows " << rows << " vocabulary " << vocabulary);
      std::vector<nn::token> targets(rows);
      for (std::size_t i = 0; i < rows; ++i) {
        targets[i] = static_cast<nn::token>(random_bits(seed, i) % vocabulary);
      }
      auto const x = random_floats(rows * vocabulary, seed + 1, 4);
      auto const wanted_of = gpu.copy(targets);
      auto logits = gpu.copy(x);
      auto losses = gpu.poisoned(rows), mean = gpu.poisoned(1);
      enqueue(gpu.stream(), nn::cross_entropy{rows, vocabulary}, wanted_of.span(), logits.span(),
              losses.span());
      enqueue(gpu.stream(), nn::mean{rows}, losses.span(), mean.span());
      auto gradient = wide(x);
      numbers loss(rows), wanted_mean(1), allowed(rows * vocabulary);
      nn::cross_entropy{rows, vocabulary}(targets, view{gradient}, view{loss});
      // As for the softmax; the logarithm has values up to 10 and two roundings, the maximum and
      // the target are at most 4.
      auto const share = (static_cast<double>(vocabulary) + 2 * (8 + 2) + 4) * rounding;
      auto const allowed_loss = share + 40 * rounding;
      CHECK(beyond(gpu.found(losses), loss, numbers(rows, allowed_loss)) == "");
      auto const n = static_cast<double>(rows);
      for (std::size_t i = 0; i < allowed.size(); ++i) {
        auto const is_target = static_cast<std::size_t>(targets[i / vocabulary]) == i % vocabulary;
        auto const probability = gradient[i] * n + (is_target ? 1 : 0);
        allowed[i] = (probability * share + 3 * rounding) / n;
      }
      CHECK(beyond(gpu.found(logits), gradient, allowed) == "");
      nn::mean{rows}(loss, view{wanted_mean});
      CHECK(beyond(gpu.found(mean), wanted_mean,
                   {allowed_loss + (n + 1) * rounding * wanted_mean[0]}) == "");
    }
  }
}

TEST_CASE("adamw on a device", "[nn]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  on_device gpu;
  std::size_t const n = 100'003;
  auto const w = random_floats(n, seed), g = random_floats(n, seed + 1);
  auto const m = random_floats(n, seed + 2);
  auto v = random_floats(n, seed + 3);
  for (auto& each : v) { each = std::abs(each); }
  nn::adamw_update const op{{.learning_rate = 1e-2, .weight_decay = 0.1}, n, 7};
  auto const gradient = gpu.copy(g);
  auto weights = gpu.copy(w), first = gpu.copy(m), second = gpu.copy(v);
  enqueue(gpu.stream(), op, gradient.span(), weights.span(), first.span(), second.span());
  auto wanted = wide(w), wanted_first = wide(m), wanted_second = wide(v);
  op(wide(g), view{wanted}, view{wanted_first}, view{wanted_second});
  auto const [keep, rate, root_factor] = op.of_step();
  numbers allowed(n), allowed_first(n);
  for (std::size_t i = 0; i < n; ++i) {
    // The parts of the first moment can cancel; all other factors keep their relative errors.
    auto const size = 0.9 * std::abs(m[i]) + 0.1 * std::abs(g[i]);
    auto const root = std::sqrt(wanted_second[i]) * root_factor + 1e-8;
    allowed_first[i] = 3 * rounding * size;
    allowed[i] = 3 * rounding * std::abs(w[i] * keep) + 14 * rounding * rate * size / root;
  }
  CHECK(beyond(gpu.found(first), wanted_first, allowed_first) == "");
  CHECK(beyond(gpu.found(second), wanted_second, wanted_second, 5 * rounding) == "");
  CHECK(beyond(gpu.found(weights), wanted, allowed) == "");
}
