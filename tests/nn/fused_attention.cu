// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention on bf16 on a device against float64, under bounds from rounding alone.
///
/// Inputs are bf16 and exact, so products of two are exact in float32. A sum of n of them is off by
/// n `step`s of the sum of their magnitudes at most; tensor cores may cut off where others round,
/// so a step is two roundings. Three arrays pass through bf16, each with a relative error of 2^-8
/// at most: the probabilities, the gradient of the scores, and what is stored.
#include "catch.hpp"
#include "device_array.hpp"
#include "nn/expect_within.hpp"
#include "small_sizes.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/core/stream.hpp>
#include <assay/nn/fused_attention.cuh>
#include <assay/nn/fused_attention_backward.cuh>
#include <assay/verify.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

using namespace assay;
using test::contains;
using test::expect_within;
using test::message_of;
using test::span_of;
using test::wide;

namespace {

using numbers = std::vector<double>;

constexpr double step = 2 * test::rounding;
/// For products of errors, all of which are far below 1 %.
constexpr double second_order = 1.01;
/// The smallest numbers count as zero.
constexpr double flushed = 1e-36;

/// Queries, keys and values beside each other, as one product makes them, and the gradient of
/// outputs. Outputs have a gap of eight elements behind each position, which nobody may write.
struct problem {
  nn::attention_shape shape;
  numbers qkv, d_o;
  std::size_t packed = 3 * shape.width();
  std::size_t gapped = shape.width() + 8;

  std::size_t positions() const { return shape.batch * shape.context; }
  template <class T>
  nn::head_rows<T> part(T* of, std::size_t i) const {
    return {of + i * shape.width(), packed};
  }
};

/// What is wanted of one array, and the error that is allowed.
struct bounded {
  numbers wanted, allowed;
  explicit bounded(std::size_t count) : wanted(count), allowed(count, flushed) {}
};

/// Sums over a head's elements of a product's terms, and of their magnitudes.
struct term_sums {
  double sum = 0, magnitude = 0;
  term_sums(std::span<double const> a, std::span<double const> b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += a[i] * b[i];
      magnitude += std::abs(a[i] * b[i]);
    }
  }
};

/// Outputs and logarithms in float64, with the bounds of the forward kernel.
struct forward_reference {
  bounded o, logarithms;
  /// Of each row: the largest sum of magnitudes of a score.
  numbers largest;

  explicit forward_reference(problem const& of)
      : o(of.positions() * of.gapped), logarithms(of.shape.rows()), largest(of.shape.rows()) {
    auto const& shape = of.shape;
    auto const q = of.part(of.qkv.data(), 0), k = of.part(of.qkv.data(), 1);
    auto const v = of.part(of.qkv.data(), 2);
    nn::head_rows<double> const out{o.wanted.data(), of.gapped};
    nn::fused_attention{shape}(q, k, v, out, std::span{logarithms.wanted});
    shape.for_each_row([&](std::size_t row, std::size_t b, std::size_t t, std::size_t h) {
      numbers weighted(shape.head_size), p(t + 1);
      for (std::size_t j = 0; j <= t; ++j) {
        term_sums const score{shape.at(q, b, t, h), shape.at(k, b, j, h)};
        largest[row] = std::max(largest[row], score.magnitude * shape.scale());
        p[j] = std::exp(score.sum * shape.scale() - logarithms.wanted[row]);
      }
      for (std::size_t j = 0; j <= t; ++j) {
        auto const value = shape.at(v, b, j, h);
        for (std::size_t d = 0; d < value.size(); ++d) { weighted[d] += p[j] * std::abs(value[d]); }
      }
      auto const relative = share(shape, row, t);
      logarithms.allowed[row] = relative + 4 * step * (largest[row] + 1);
      auto const wanted = shape.at(out, b, t, h);
      auto const allowed = shape.at(nn::head_rows<double>{o.allowed.data(), of.gapped}, b, t, h);
      for (std::size_t d = 0; d < wanted.size(); ++d) {
        allowed[d] += second_order * (weighted[d] * (bfloat16_unit + 2 * relative) +
                                      std::abs(wanted[d]) * bfloat16_unit);
      }
    });
  }

  /// The relative error of the exponentials of a row and of their sum in float32: that of the
  /// score, which is a difference to the largest one, two more roundings for each tile of 64 keys
  /// that may raise the largest, and a rounding for each term of a sum.
  double share(nn::attention_shape const& shape, std::size_t row, std::size_t t) const {
    auto const size = static_cast<double>(shape.head_size);
    auto const tiles = static_cast<double>(t / 64 + 2);
    return step * ((size + 2) * largest[row] + tiles * (4 * largest[row] + 4) +
                   static_cast<double>(t + 1));
  }
};

/// Gradients in float64, with the bounds of the backward kernels on outputs of the forward kernel.
struct backward_reference {
  bounded d_qkv;

  backward_reference(problem const& of, forward_reference const& forward) : d_qkv(of.qkv.size()) {
    auto const& shape = of.shape;
    auto const q = of.part(of.qkv.data(), 0), k = of.part(of.qkv.data(), 1);
    auto const v = of.part(of.qkv.data(), 2);
    nn::head_rows<double const> const o{forward.o.wanted.data(), of.gapped};
    nn::head_rows<double const> const o_error{forward.o.allowed.data(), of.gapped};
    nn::head_rows<double const> const d_o{of.d_o.data(), shape.width()};
    auto const part = [&](numbers& to, std::size_t i) { return of.part(to.data(), i); };
    nn::fused_attention_gradient{shape}(q, k, v, o, forward.logarithms.wanted, d_o,
                                        part(d_qkv.wanted, 0), part(d_qkv.wanted, 1),
                                        part(d_qkv.wanted, 2));
    auto const size = static_cast<double>(shape.head_size);
    auto const terms = static_cast<double>(shape.context + 2);
    shape.for_each_row([&](std::size_t row, std::size_t b, std::size_t t, std::size_t h) {
      auto const query = shape.at(q, b, t, h), from = shape.at(d_o, b, t, h);
      auto const logarithm = forward.logarithms.wanted[row];
      // The exponent is off by the errors of the score and of the logarithm, and by the rounding of
      // both.
      auto const of_p = step * ((size + 6) * forward.largest[row] + 4 * std::abs(logarithm) + 4) +
                        forward.logarithms.allowed[row];
      term_sums const mean{from, shape.at(o, b, t, h)};
      auto const of_mean = second_order * term_sums{from, shape.at(o_error, b, t, h)}.magnitude +
                           size * step * mean.magnitude;
      for (std::size_t j = 0; j <= t; ++j) {
        auto const key = shape.at(k, b, j, h);
        auto const p = std::exp(term_sums{query, key}.sum * shape.scale() - logarithm);
        term_sums const of_value{from, shape.at(v, b, j, h)};
        auto const ds = std::abs(p * (of_value.sum - mean.sum));
        auto const of_ds = ds * (of_p + bfloat16_unit + terms * step) +
                           p * (size * step * of_value.magnitude + of_mean);
        add(part(d_qkv.allowed, 0), shape, b, t, h, of_ds * shape.scale(), key);
        add(part(d_qkv.allowed, 1), shape, b, j, h, of_ds * shape.scale(), query);
        add(part(d_qkv.allowed, 2), shape, b, j, h, p * (of_p + bfloat16_unit + terms * step),
            from);
      }
    });
    for (std::size_t i = 0; i < d_qkv.wanted.size(); ++i) {
      d_qkv.allowed[i] =
          second_order * (d_qkv.allowed[i] + bfloat16_unit * std::abs(d_qkv.wanted[i]));
    }
  }

  static void add(nn::head_rows<double> to, nn::attention_shape const& shape, std::size_t b,
                  std::size_t t, std::size_t h, double error, std::span<double const> by) {
    auto const sum = shape.at(to, b, t, h);
    for (std::size_t d = 0; d < by.size(); ++d) {
      sum[d] += second_order * error * std::abs(by[d]);
    }
  }
};

}  // namespace

TEST_CASE("fused attention and its gradients on a device", "[nn]") {
  for (std::size_t const size : {64, 80, 128}) {
    INFO("head size " << size);
    auto const factory = [size](setup& make, std::size_t context) {
      nn::attention_shape const shape{
          .batch = 2, .context = context, .heads = 3, .head_size = size};
      make.finite().align(16);
      auto const qkv = make.random<bfloat16>(3 * shape.elements(), {-2, 2});
      auto const d_o = make.random<bfloat16>(shape.elements());
      problem const of{shape, wide(qkv), wide(d_o)};
      auto const o = make.output<bfloat16>(matrix{of.positions(), shape.width(), of.gapped});
      auto const logarithms = make.output<float>(shape.rows());
      auto const d_qkv = make.output<bfloat16>(qkv.size());
      auto const scratch =
          make.scratch<float>(nn::fused_attention_scratch_bytes(shape) / sizeof(float));
      forward_reference const forward{of};
      backward_reference const backward{of, forward};
      expect_within(make, o, forward.o.wanted, forward.o.allowed);
      expect_within(make, logarithms, forward.logarithms.wanted, forward.logarithms.allowed);
      expect_within(make, d_qkv, backward.d_qkv.wanted, backward.d_qkv.allowed);
      return [=, packed = of.packed](cudaStream_t on) {
        using rows = nn::head_rows<bfloat16>;
        auto const part = [&](auto in, std::size_t i) {
          return rows{in.data() + i * shape.width(), packed};
        };
        rows const out{o.data(), o.leading_dimension()};
        enqueue(on, nn::fused_attention{shape}, part(qkv, 0), part(qkv, 1), part(qkv, 2), out,
                span_of(logarithms));
        enqueue(on, nn::fused_attention_gradient{shape}, part(qkv, 0), part(qkv, 1), part(qkv, 2),
                out, span_of(logarithms), rows{d_o.data(), shape.width()}, part(d_qkv, 0),
                part(d_qkv, 1), part(d_qkv, 2), span_of(scratch));
      };
    };
    auto const seen = verify(factory, {.seed = test::fresh_seed(),
                                       .only = test::small_sizes({1, 17, 64, 129, 257}, 129)});
    REQUIRE(seen);
  }
}

namespace {

/// Gradients of queries and keys before a turn, from those behind it: `bounds` become theirs. The
/// two of a pair are sums of two products, rounded three times.
void turn_back(problem const& of, numbers const& turns, bounded& bounds) {
  auto const& shape = of.shape;
  auto& [wanted, allowed] = bounds;
  for (std::size_t i = 0; i < wanted.size(); i += 2) {
    auto const column = i % of.packed;
    if (column >= 2 * shape.width()) { continue; }
    auto const position = i / of.packed % shape.context;
    auto const* const turn = &turns[position * shape.head_size + column % shape.head_size];
    // The sums are in float32: they are not rounded to bf16 before the turn.
    auto const error = [&](std::size_t at) {
      return allowed[at] / second_order - bfloat16_unit * std::abs(wanted[at]);
    };
    auto const c = turn[0], s = turn[1], x = wanted[i], y = wanted[i + 1];
    auto const both = [&](double by, double and_by) {
      return second_order * (std::abs(by) * (error(i) + 3 * step * std::abs(x)) +
                             std::abs(and_by) * (error(i + 1) + 3 * step * std::abs(y)));
    };
    auto const of_x = both(c, s), of_y = both(s, c);
    wanted[i] = c * x + s * y;
    wanted[i + 1] = c * y - s * x;
    allowed[i] = of_x;
    allowed[i + 1] = of_y;
  }
}

}  // namespace

TEST_CASE("the gradient of fused attention on queries and keys that were turned", "[nn]") {
  for (std::size_t const size : {64, 80, 128}) {
    INFO("head size " << size);
    auto const factory = [size](setup& make, std::size_t context) {
      nn::attention_shape const shape{
          .batch = 2, .context = context, .heads = 3, .head_size = size};
      make.finite().align(16);
      auto const qkv = make.random<bfloat16>(3 * shape.elements(), {-2, 2});
      auto const d_o = make.random<bfloat16>(shape.elements());
      auto const turns = make.random<float>(context * size);  // no turns, but as linear
      problem const of{shape, wide(qkv), wide(d_o)};
      auto const o = make.scratch<bfloat16>(of.positions() * of.gapped);
      auto const logarithms = make.scratch<float>(shape.rows());
      auto const d_qkv = make.output<bfloat16>(qkv.size());
      auto const scratch =
          make.scratch<float>(nn::fused_attention_scratch_bytes(shape) / sizeof(float));
      backward_reference backward{of, forward_reference{of}};
      turn_back(of, wide(turns), backward.d_qkv);
      expect_within(make, d_qkv, backward.d_qkv.wanted, backward.d_qkv.allowed);
      return [=, packed = of.packed, gapped = of.gapped](cudaStream_t on) {
        using rows = nn::head_rows<bfloat16>;
        auto const part = [&](auto in, std::size_t i) {
          return rows{in.data() + i * shape.width(), packed};
        };
        rows const out{o.data(), gapped};
        enqueue(on, nn::fused_attention{shape}, part(qkv, 0), part(qkv, 1), part(qkv, 2), out,
                span_of(logarithms));
        enqueue(on, nn::turned_attention_gradient{shape}, part(qkv, 0), part(qkv, 1), part(qkv, 2),
                out, span_of(logarithms), rows{d_o.data(), shape.width()}, part(d_qkv, 0),
                part(d_qkv, 1), part(d_qkv, 2), span_of(turns), span_of(scratch));
      };
    };
    auto const seen =
        verify(factory, {.seed = test::fresh_seed(), .only = test::small_sizes({1, 17, 129}, 129)});
    REQUIRE(seen);
  }
}

TEST_CASE("fused attention refuses shapes and strides", "[nn]") {
  stream const on{on::device{0}};
  nn::attention_shape const shape{.batch = 1, .context = 4, .heads = 2, .head_size = 64};
  examples::device_array<bfloat16> const array{4 * 128};
  examples::device_array<float> const logarithms{8};
  auto const message = [&](nn::attention_shape const& of, nn::head_rows<bfloat16> k) {
    nn::head_rows<bfloat16> const good{array.get(), 128};
    return message_of(
        [&] { enqueue(on, nn::fused_attention{of}, good, k, good, good, {logarithms.get(), 8}); });
  };
  auto wrong = shape;
  wrong.head_size = 96;
  CHECK_THAT(message(wrong, {array.get(), 192}), contains("the head size is 96"));
  wrong = shape;
  wrong.context = 0;
  CHECK_THAT(message(wrong, {array.get(), 128}), contains("context 0, heads 2"));
  wrong.context = (1U << 20U) + 1;
  CHECK_THAT(message(wrong, {array.get(), 128}), contains("a context at most 1048576"));
  CHECK_THAT(message(shape, {array.get(), 120}), contains("k has a stride of 120 elements"));
  CHECK_THAT(message(shape, {array.get(), 132}), contains("k has a stride of 132 elements"));
  CHECK_THAT(message(shape, {array.get() + 1, 128}), contains("aligned to 16 bytes"));
}

TEST_CASE("the gradient of fused attention refuses a scratch that is too small", "[nn]") {
  stream const on{on::device{0}};
  nn::attention_shape const shape{.batch = 1, .context = 4, .heads = 2, .head_size = 64};
  examples::device_array<bfloat16> const array{4 * 128};
  nn::head_rows<bfloat16> const rows{array.get(), 128};
  examples::device_array<float> const numbers{8};
  std::span const some{numbers.get(), 8};
  CHECK_THAT(message_of([&] {
               enqueue(on, nn::fused_attention_gradient{shape}, rows, rows, rows, rows, some, rows,
                       rows, rows, rows, some);
             }),
             contains("2048 bytes of scratch are needed, and there are 32: lower the batch"));
  on.synchronize();
}
