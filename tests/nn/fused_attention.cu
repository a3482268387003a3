// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention on bf16 on a device against float64, under bounds from rounding alone.
///
/// Inputs are bf16 and exact, so products of two are exact in float32. A sum of n of them is off by
/// n `step`s of the sum of their magnitudes at most; tensor cores may cut off where others round,
/// so a step is two roundings. Three arrays pass through bf16, each with a relative error of 2^-8
/// at most: the probabilities, the gradient of the scores, and what is stored.
#include "catch.hpp"
#include "nn/on_device.cuh"

#include <assay/core/bfloat16.hpp>
#include <assay/nn/fused_attention.cuh>
#include <assay/nn/fused_attention_backward.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using namespace assay;
using test::beyond;
using test::contains;
using test::message_of;
using test::on_device;

namespace {

using numbers = std::vector<double>;
using halves = std::vector<bfloat16>;

constexpr double step = 2 * test::rounding;
/// For products of errors, all of which are far below 1 %.
constexpr double second_order = 1.01;
/// The smallest numbers count as zero.
constexpr double flushed = 1e-36;

halves random_halves(std::size_t count, std::uint64_t seed, float scale) {
  halves made(count);
  auto const from = test::random_floats(count, seed, scale);
  std::ranges::transform(from, made.begin(), [](float each) { return bfloat16{each}; });
  return made;
}

template <class To>
std::vector<To> as(halves const& from) {
  std::vector<To> to;
  for (auto const each : from) { to.push_back(static_cast<To>(each)); }
  return to;
}

/// Full of NaN.
halves poisoned(std::size_t count) {
  halves made(count);
  for (auto& each : made) { each.bits = 0xFFFF; }
  return made;
}

/// One problem on the host: queries, keys and values beside each other, as one product makes them.
/// Outputs have a gap of eight elements behind each position, which nobody may write.
struct problem {
  nn::attention_shape shape;
  halves qkv, d_o;
  std::size_t packed = 3 * shape.width();
  std::size_t gapped = shape.width() + 8;

  problem(nn::attention_shape const& of, std::uint64_t seed)
      : shape(of),
        qkv(random_halves(of.batch * of.context * 3 * of.width(), seed, 2)),
        d_o(random_halves(of.elements(), seed + 1, 1)) {}

  std::size_t gapped_size() const { return shape.batch * shape.context * gapped; }
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
      : o(of.shape.elements()), logarithms(of.shape.rows()), largest(of.shape.rows()) {
    auto const& shape = of.shape;
    auto const wide = as<double>(of.qkv);
    auto const q = of.part(wide.data(), 0), k = of.part(wide.data(), 1);
    auto const v = of.part(wide.data(), 2);
    nn::head_rows<double> const out{o.wanted.data(), shape.width()};
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
      auto const allowed =
          shape.at(nn::head_rows<double>{o.allowed.data(), shape.width()}, b, t, h);
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
    auto const wide = as<double>(of.qkv), wide_d_o = as<double>(of.d_o);
    auto const q = of.part(wide.data(), 0), k = of.part(wide.data(), 1);
    auto const v = of.part(wide.data(), 2);
    nn::head_rows<double const> const o{forward.o.wanted.data(), shape.width()};
    nn::head_rows<double const> const o_error{forward.o.allowed.data(), shape.width()};
    nn::head_rows<double const> const d_o{wide_d_o.data(), shape.width()};
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

struct forward_result {
  halves o;
  std::vector<float> logarithms;
};

forward_result run_forward(on_device& gpu, problem const& of) {
  auto qkv = gpu.copy(of.qkv);
  auto o = gpu.copy(poisoned(of.gapped_size()));
  auto logarithms = gpu.poisoned(of.shape.rows());
  bfloat16 const* const from = qkv.data();
  enqueue(gpu.stream(), nn::fused_attention{of.shape}, of.part(from, 0), of.part(from, 1),
          of.part(from, 2), {o.data(), of.gapped}, logarithms.span());
  return {gpu.found(o), gpu.found(logarithms)};
}

/// The gradients of queries, keys and values, beside each other, from what the forward kernel gave.
halves run_backward(on_device& gpu, problem const& of, forward_result const& forward) {
  auto qkv = gpu.copy(of.qkv), o = gpu.copy(forward.o), d_o = gpu.copy(of.d_o);
  auto logarithms = gpu.copy(forward.logarithms);
  auto d_qkv = gpu.copy(poisoned(of.qkv.size()));
  auto scratch = gpu.poisoned(nn::fused_attention_scratch_bytes(of.shape) / sizeof(float));
  bfloat16 const* const from = qkv.data();
  enqueue(gpu.stream(), nn::fused_attention_gradient{of.shape}, of.part(from, 0), of.part(from, 1),
          of.part(from, 2), nn::head_rows<bfloat16>{o.data(), of.gapped}, logarithms.span(),
          nn::head_rows<bfloat16>{d_o.data(), of.shape.width()}, of.part(d_qkv.data(), 0),
          of.part(d_qkv.data(), 1), of.part(d_qkv.data(), 2), scratch.span());
  return gpu.found(d_qkv);
}

/// The elements of an array with gaps, and NaN instead if anything was written to one.
std::vector<float> without_gaps(problem const& of, halves const& found) {
  std::vector<float> kept;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i % of.gapped < of.shape.width()) {
      kept.push_back(static_cast<float>(found[i]));
    } else if (found[i].bits != 0xFFFF) {
      return std::vector<float>(of.shape.elements(), NAN);
    }
  }
  return kept;
}

bool same_bits(halves const& a, halves const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 2 * a.size()) == 0;
}

/// Calls `body(problem)` for all sizes of heads and odd contexts; under a sanitizer for the small
/// ones.
template <class Body>
void for_each_problem(Body const& body) {
  auto const seed = test::fresh_seed();
  for (std::size_t const size : {64, 80, 128}) {
    for (std::size_t const context : {1, 17, 64, 129, 257}) {
      if (test::small() && context > 129) { continue; }
      INFO("seed " << seed << " head size " << size << " context " << context);
      body(problem{{.batch = 2, .context = context, .heads = 3, .head_size = size}, seed});
    }
  }
}

}  // namespace

TEST_CASE("fused attention on a device", "[nn]") {
  on_device gpu;
  for_each_problem([&](problem const& of) {
    forward_reference const wanted{of};
    auto const found = run_forward(gpu, of);
    CHECK(beyond(found.logarithms, wanted.logarithms.wanted, wanted.logarithms.allowed) == "");
    CHECK(beyond(without_gaps(of, found.o), wanted.o.wanted, wanted.o.allowed) == "");
    auto const again = run_forward(gpu, of);
    CHECK(same_bits(again.o, found.o));
    CHECK(again.logarithms == found.logarithms);
  });
}

TEST_CASE("the gradients of fused attention on a device", "[nn]") {
  on_device gpu;
  for_each_problem([&](problem const& of) {
    forward_reference const forward{of};
    backward_reference const wanted{of, forward};
    auto const outputs = run_forward(gpu, of);
    auto const found = run_backward(gpu, of, outputs);
    CHECK(beyond(as<float>(found), wanted.d_qkv.wanted, wanted.d_qkv.allowed) == "");
    CHECK(same_bits(run_backward(gpu, of, outputs), found));
  });
}

TEST_CASE("fused attention refuses shapes and strides", "[nn]") {
  on_device gpu;
  nn::attention_shape const shape{.batch = 1, .context = 4, .heads = 2, .head_size = 64};
  auto array = gpu.copy(poisoned(4 * 128));
  auto logarithms = gpu.poisoned(8);
  auto const message = [&](nn::attention_shape const& of, nn::head_rows<bfloat16> k) {
    nn::head_rows<bfloat16> const good{array.data(), 128};
    return message_of([&] {
      enqueue(gpu.stream(), nn::fused_attention{of}, good, k, good, good, logarithms.span());
    });
  };
  auto wrong = shape;
  wrong.head_size = 96;
  CHECK_THAT(message(wrong, {array.data(), 192}), contains("the head size is 96"));
  wrong = shape;
  wrong.context = 0;
  CHECK_THAT(message(wrong, {array.data(), 128}), contains("context 0, heads 2"));
  wrong.context = (1U << 20U) + 1;
  CHECK_THAT(message(wrong, {array.data(), 128}), contains("a context at most 1048576"));
  CHECK_THAT(message(shape, {array.data(), 120}), contains("k has a stride of 120 elements"));
  CHECK_THAT(message(shape, {array.data(), 132}), contains("k has a stride of 132 elements"));
  CHECK_THAT(message(shape, {array.data() + 1, 128}), contains("aligned to 16 bytes"));
}
