// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
/// @file
/// The operations on a device against the float64 references, under bounds from rounding alone.
/// A sum of n terms in any order is off by at most n roundings of the sum of their magnitudes.
#include "catch.hpp"
#include "device_array.hpp"
#include "nn/expect_within.hpp"
#include "nn/stored_weights.hpp"
#include "small_sizes.hpp"

#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/host/parallel_for.hpp>
#include <assay/nn/adamw.cuh>
#include <assay/nn/cross_entropy.cuh>
#include <assay/nn/cublas_products.hpp>
#include <assay/nn/embedding.cuh>
#include <assay/nn/masked_softmax.cuh>
#include <assay/nn/rms_norm.cuh>
#include <assay/nn/rope.cuh>
#include <assay/nn/swiglu.cuh>
#include <assay/verify.cuh>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace assay;
using test::expect_within;
using test::magnitudes;
using test::rounding;
using test::span_of;
using test::wide;

namespace {

using numbers = std::vector<double>;
using view = std::span<double>;

/// The last ones are long, and not for a sanitizer. Rows of 24 and 264 are aligned, others are not.
assay::sizes few_rows() { return test::small_sizes({1, 17, 24, 129, 264}, 24); }
constexpr std::size_t head_sizes[] = {6, 64, 80, 128};

/// Verifies a factory at sizes of its own.
template <class Factory>
void require_right(Factory const& factory, assay::sizes const& only) {
  auto const seen = verify(factory, {.seed = test::fresh_seed(), .only = only});
  REQUIRE(seen);
}

/// Numbers of a type that stay as long as their array.
template <class T>
struct kept_numbers {
  std::shared_ptr<std::vector<T>> data = std::make_shared<std::vector<T>>();
  array_view<T> view;

  kept_numbers(setup& make, std::vector<double> const& from) {
    for (auto const each : from) { data->push_back(static_cast<T>(static_cast<float>(each))); }
    view = make.from(*data);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("embedding on a device", "[nn]", float, bfloat16) {
  for (std::size_t const width : {7, 80, 1032}) {
    INFO("width " << width);
    auto const factory = [width](setup& make, std::size_t rows) {
      constexpr nn::token words = 33;
      nn::embedding const op{rows, width, words};
      nn::embedding_gradient const gradient_op{rows, width, words};
      auto const tokens = make.finite().random<nn::token>(rows, {0, words - 1});
      auto const table = make.random<float>(words * width), out = make.output<float>(rows * width);
      auto const back = make.random<float>(rows * width), sums = make.output<float>(words * width);
      auto const places = std::make_shared<std::array<std::vector<nn::token>, 3>>();
      auto& [all, order, begins] = *places;
      for (std::size_t i = 0; i < rows; ++i) { all.push_back(tokens.seeded(i)); }
      order.resize(rows);
      begins.resize(words + 1);
      nn::sort_positions(all, order, begins);
      auto const in_order = make.from(order), from_place = make.from(begins);
      make.expect(
          out,
          [=](std::size_t i) {
            return table.seeded(static_cast<std::size_t>(tokens.seeded(i / width)) * width +
                                i % width);
          },
          tolerance{});
      numbers sum(words * width), magnitude(words * width);
      gradient_op({order, begins}, wide(back), view{sum});
      gradient_op({order, begins}, magnitudes(wide(back)), view{magnitude});
      expect_within(make, sums, sum, magnitude, static_cast<double>(rows) * rounding);
      auto const stored = test::stored_like<TestType>(make, table);
      return [=, lives = places](cudaStream_t on) {
        enqueue(on, op, span_of(tokens), stored, span_of(out));
        nn::token_positions const of{span_of(in_order), span_of(from_place)};
        enqueue(on, gradient_op, of, span_of(back), span_of(sums));
      };
    };
    require_right(factory, few_rows());
  }
}

TEMPLATE_TEST_CASE("rms_norm on a device", "[nn]", float, bfloat16) {
  for (std::size_t const width : {1, 80, 771, 1032}) {
    INFO("width " << width);
    auto const factory = [width](setup& make, std::size_t rows) {
      auto const n = rows * width;
      auto const x = make.finite().random<float>(n), gain = make.random<float>(width);
      auto const y = make.random<TestType>(n), out = make.output<TestType>(n);
      auto const sum = make.output<float>(n), inverse = make.output<float>(rows);
      nn::rms_norm const op{rows, width};
      numbers s(n), i(rows), o(n);
      op(wide(x), wide(y), wide(gain), view{s}, view{i}, view{o});
      // Half the error of the sum of squares, whose terms have three roundings, and six more.
      auto const share = (static_cast<double>(width) / 2 + 10) * rounding;
      expect_within(make, sum, s, s, rounding);
      expect_within(make, inverse, i, i, share);
      expect_within(make, out, o, o, share + 3 * rounding);
      auto const stored = test::stored_like<TestType>(make, gain);
      return [=](cudaStream_t on) {
        enqueue(on, op, span_of(x), span_of(y), stored, span_of(sum), span_of(inverse),
                span_of(out));
      };
    };
    require_right(factory, few_rows());
  }
}

TEMPLATE_TEST_CASE("the gradient of rms_norm on a device", "[nn]", float, bfloat16) {
  for (std::size_t const width : {1, 80, 771, 1032}) {
    INFO("width " << width);
    auto const factory = [width](setup& make, std::size_t rows) {
      auto const n = rows * width;
      nn::rms_norm_gradient const op{rows, width, make.scalar("accumulate", {0, 1}) == 1};
      auto const x = make.finite().random<float>(n), gain = make.random<float>(width);
      auto const dy = make.random<TestType>(n), copy = make.output<TestType>(n);
      auto const dx = make.inout<float>(n), dgain = make.output<float>(width);
      auto const scratch = make.scratch<float>(8 * width);
      numbers s(n), inverses(rows), o(n), wanted_gain(width), gain_magnitude(width, 0), allowed(n);
      nn::rms_norm{rows, width, false}(wide(x), {}, wide(gain), view{s}, view{inverses}, view{o});
      kept_numbers<float> const inverse{make, inverses};
      auto wanted = wide(dx);
      op(wide(dy), s, wide(gain), wide(inverse.view), view{wanted}, view{wanted_gain});
      for (std::size_t r = 0; r < rows; ++r) {
        double const inv = inverse.view.seeded(r);
        double dot = 0;
        for (std::size_t c = 0; c < width; ++c) {
          auto const at = r * width + c;
          double const d = dy.seeded(at);
          dot += std::abs(d * gain.seeded(c) * s[at]);
          gain_magnitude[c] += std::abs(d * s[at] * inv);
        }
        for (std::size_t c = 0; c < width; ++c) {
          auto const at = r * width + c;
          auto const along = dot * inv * inv / static_cast<double>(width);
          auto const size =
              std::abs(double{dy.seeded(at)} * gain.seeded(c)) + std::abs(s[at]) * along;
          allowed[at] =
              (inv * size * (static_cast<double>(width) + 12) + std::abs(wanted[at])) * rounding;
        }
      }
      expect_within(make, dx, wanted, allowed);
      expect_within(make, copy, wanted, allowed);
      expect_within(make, dgain, wanted_gain, gain_magnitude,
                    (static_cast<double>(rows) + 3) * rounding);
      auto const stored = test::stored_like<TestType>(make, gain);
      return [=](cudaStream_t on) {
        enqueue(on, op, span_of(dy), span_of(x), stored, span_of(inverse.view), span_of(dx),
                span_of(dgain), span_of(copy), span_of(scratch));
      };
    };
    require_right(factory, few_rows());
  }
}

TEMPLATE_TEST_CASE("gradients of many gains in one launch have the bits of one after another",
                   "[nn]", float, bfloat16) {
  for (std::size_t const width : {1, 80, 771, 1032}) {
    INFO("width " << width);
    auto const factory = [width](setup& make, std::size_t rows) {
      constexpr std::size_t gains = 5;
      auto const n = rows * width, stride = 3 * width + 5, second = width + 2;
      nn::rms_norm_gradient const in_parts{rows, width, false, true}, whole{rows, width, false};
      auto const parts = in_parts.gain_parts(), of_gain = parts * width;
      nn::gain_sums const sums{parts, width, gains, second, stride};
      auto const x = make.finite().random<float>(n), gain = make.random<float>(width);
      auto const dy = make.random<TestType>(gains * n);
      auto const inverse = make.random<float>(rows);
      auto const dx = make.scratch<float>(n), scratch = make.scratch<float>(of_gain);
      auto const all_parts = make.scratch<float>(gains * of_gain);
      auto const found = make.output<float>(sums.place(gains - 1) + width);
      auto const alone = make.output<float>(found.size());
      numbers wanted(found.size(), 0), magnitude(found.size(), 0), nothing(n), one(width);
      for (std::size_t g = 0; g < gains; ++g) {
        auto const d = wide(dy);
        auto const part = std::span{d}.subspan(g * n, n);
        whole(part, wide(x), wide(gain), wide(inverse), view{nothing},
              view{wanted}.subspan(sums.place(g), width));
        auto const sizes = magnitudes({part.begin(), part.end()});
        whole(sizes, magnitudes(wide(x)), wide(gain), magnitudes(wide(inverse)), view{nothing},
              view{magnitude}.subspan(sums.place(g), width));
      }
      expect_within(make, found, wanted, magnitude, (static_cast<double>(rows) + 3) * rounding);
      make.expect_that(alone, [=](std::span<float const> got) -> std::optional<std::string> {
        std::vector<float> together(got.size());
        check(cudaMemcpy(together.data(), found.data(), together.size() * sizeof(float),
                         cudaMemcpyDefault));
        for (std::size_t i = 0; i < got.size(); ++i) {
          if (got[i] != together[i]) { return "element " + std::to_string(i) + " differs"; }
        }
        return {};
      });
      return [=](cudaStream_t on) {
        for (auto const each : {found, alone}) {  // what lies between gains
          check(cudaMemsetAsync(each.data(), 0, each.size() * sizeof(float), on));
        }
        for (std::size_t g = 0; g < gains; ++g) {
          auto const d = span_of(dy).subspan(g * n, n);
          enqueue(on, in_parts, d, span_of(x), span_of(gain), span_of(inverse), span_of(dx),
                  span_of(all_parts).subspan(g * of_gain, of_gain), std::span<TestType>{},
                  std::span<float>{});
          enqueue(on, whole, d, span_of(x), span_of(gain), span_of(inverse), span_of(dx),
                  span_of(alone).subspan(sums.place(g), width), std::span<TestType>{},
                  span_of(scratch));
        }
        enqueue(on, sums, span_of(all_parts), span_of(found));
      };
    };
    require_right(factory, few_rows());
  }
}

TEST_CASE("rms_norm without a branch may write its sum in place", "[nn]") {
  auto const factory = [](setup& make, std::size_t rows, std::size_t width) {
    auto const sum = make.inout<float>(rows * width), gain = make.random<float>(width);
    auto const inverse = make.scratch<float>(rows), out = make.scratch<float>(rows * width);
    make.expect(sum, [sum](std::size_t i) { return sum.seeded(i); }, tolerance{});
    return [=](cudaStream_t on) {
      enqueue(on, nn::rms_norm{rows, width, false}, span_of(sum), {}, span_of(gain), span_of(sum),
              span_of(inverse), span_of(out));
    };
  };
  require_right(factory, {{2, 80}});
}

TEMPLATE_TEST_CASE("rope on a device", "[nn]", float, bfloat16) {
  for (std::size_t const size : head_sizes) {
    for (std::size_t const stride : {3 * size, 5 * size}) {
      INFO("head size " << size << " stride " << stride);
      auto const factory = [=](setup& make, std::size_t context) {
        nn::rope const op{2, context, 3, size, make.scalar("back", {0, 1}) == 1, stride};
        kept_numbers<float> const table{make, nn::rope_table<double>(context, size)};
        auto const x = make.finite().inout<TestType>(op.extent());
        auto wanted = wide(x);
        op(wide(table.view), view{wanted});
        numbers allowed(op.extent());
        for (std::size_t i = 0; i < allowed.size(); ++i) {
          allowed[i] = std::abs(x.seeded(i & ~std::size_t{1})) + std::abs(x.seeded(i | 1));
        }
        expect_within(make, x, wanted, allowed, 3 * rounding);
        return [=](cudaStream_t on) { enqueue(on, op, span_of(table.view), span_of(x)); };
      };
      require_right(factory, few_rows());
    }
  }
}

namespace {

/// Runs a reference, a matrix of the batch at a time on each thread.
void run_reference(nn::product const& op, numbers const& a, numbers const& b, numbers& c) {
  auto one = op;
  one.outer_batch = one.inner_batch = 1;
  auto const matrices = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      auto const at = [&](nn::matrices const& of) {
        return i / op.inner_batch * of.outer + i % op.inner_batch * of.inner;
      };
      one(std::span{a}.subspan(at(op.a)), std::span{b}.subspan(at(op.b)),
          view{c}.subspan(at(op.c)));
    }
  };
  host::parallel_for(host::all_threads(), static_cast<std::int64_t>(op.batch()), 1, matrices);
}

/// Products of one setup, by one handle of cuBLAS.
struct product_list {
  setup& make;
  nn::cublas_products& by;
  bool tf32 = false;
  std::vector<std::function<void(cudaStream_t)>> calls{};

  /// Adds a product with a result of so many elements. Elements between its rows keep their values.
  template <class C, class T>
  void add(nn::product const& op, array_view<T> a, array_view<T> b, std::size_t size) {
    bool const is_full = op.batch() * op.rows * op.columns == size;
    bool const keeps = op.accumulate || !is_full;
    auto const c = keeps ? make.inout<C>(size) : make.output<C>(size);
    auto wanted = keeps ? wide(c) : numbers(size, 0);
    auto magnitude = magnitudes(wanted);
    run_reference(op, wide(a), wide(b), wanted);
    run_reference(op, magnitudes(wide(a)), magnitudes(wide(b)), magnitude);
    // Of tf32 the error would be some ten times as large as the bound of float32. cuBLAS rounds
    // some sums to the type of the result before it adds the earlier values.
    auto const of_sums = (static_cast<double>(op.depth) + 4) * rounding;
    auto const share = of_sums + (tf32 ? 0x1p-9 : 0) + (op.accumulate ? test::last_rounding<C> : 0);
    expect_within(make, c, wanted, magnitude, share);
    calls.push_back([=, &handle = by](cudaStream_t on) {
      handle.enqueue(on, op, span_of(a), span_of(b), span_of(c));
    });
  }

  auto work() const {
    return [all = calls](cudaStream_t on) {
      for (auto const& each : all) { each(on); }
    };
  }
};

/// Verifies products that `list(product_list&, size)` adds. They share a handle, whose workspace
/// takes one call at a time.
template <class List>
void require_products(List const& list, bool tf32 = false) {
  constexpr std::size_t bytes = 8 << 20;
  examples::device_array<std::byte> const workspace{bytes};
  nn::cublas_products by{{workspace.get(), bytes}, tf32};
  auto const factory = [&](setup& make, std::size_t size) {
    product_list all{make.finite().align(256), by, tf32};
    list(all, size);
    return all.work();
  };
  auto const seen =
      verify(factory, {.seed = test::fresh_seed(), .only = few_rows(), .concurrent = false});
  REQUIRE(seen);
}

template <class T>
void check_linear(std::size_t out, bool tf32 = false) {
  INFO("out " << out << " tf32 " << tf32);
  auto const list = [out](product_list& all, std::size_t rows) {
    nn::linear const op{rows, 80, out};
    auto const x = all.make.random<T>(rows * op.in), w = all.make.random<T>(op.in * out);
    auto const dy = all.make.random<T>(rows * out);
    all.add<T>(op.forward(), x, w, dy.size());
    all.add<T>(op.input_gradient(), dy, w, x.size());
    all.add<T>(op.input_gradient(true), dy, w, x.size());
    all.add<float>(op.weight_gradient(), dy, x, w.size());
  };
  require_products(list, tf32);
}

/// Queries, keys and values lie in one array, each `extent` elements.
template <class T>
void add_attention(product_list& all, nn::attention_products const& op) {
  auto const width = op.heads * op.head_size;
  auto const extent = (op.batch * op.context - 1) * op.stride + width;
  auto const of_outs = op.batch * op.context * width, of_scores = op.score_count();
  auto const q = all.make.random<T>(extent), k = all.make.random<T>(extent);
  auto const p = all.make.random<T>(of_scores), d_o = all.make.random<T>(of_outs);
  all.add<T>(op.scores(), q, k, of_scores);
  all.add<T>(op.outputs(), p, k, of_outs);
  all.add<T>(op.probability_gradient(), d_o, k, of_scores);
  all.add<T>(op.value_gradient(), p, d_o, extent);
  all.add<T>(op.query_gradient(), p, k, extent);
  all.add<T>(op.key_gradient(), p, q, extent);
}

}  // namespace

TEMPLATE_TEST_CASE("products of a linear layer on a device", "[nn]", float, bfloat16) {
  for (std::size_t const out : {67, 96}) {
    check_linear<TestType>(out);
    if constexpr (std::is_same_v<TestType, float>) { check_linear<float>(out, true); }
  }
}

TEMPLATE_TEST_CASE("products of attention on a device", "[nn]", float, bfloat16) {
  for (std::size_t const size : head_sizes) {
    for (std::size_t const stride : {3 * size, 9 * size}) {
      INFO("head size " << size << " stride " << stride);
      require_products([=](product_list& all, std::size_t context) {
        add_attention<TestType>(all, {2, context, 3, size, stride});
        add_attention<TestType>(all, {4, 2, 3, size, stride});
      });
    }
  }
}

TEMPLATE_TEST_CASE("masked_softmax on a device", "[nn]", float, bfloat16) {
  auto const factory = [](setup& make, std::size_t context) {
    nn::masked_softmax const op{6, context};
    nn::masked_softmax_gradient const gradient{6, context};
    auto const n = op.elements();
    auto const scores = make.finite().inout<TestType>(n, {-4, 4}), ds = make.inout<TestType>(n);
    auto wanted = wide(scores), wanted_gradient = wide(ds);
    op(view{wanted});
    // The difference to the maximum is at most 8, so its rounding moves an exponential by 8
    // roundings at most; expf itself has two, the sum one for each term.
    auto const terms = static_cast<double>(context);
    expect_within(make, scores, wanted, wanted, (terms + 2 * (8 + 2) + 4) * rounding);

    kept_numbers<TestType> const p{make, wanted};
    numbers allowed(n);
    for (std::size_t i = 0; i < n; ++i) {
      auto const first = i / context * context;
      double dot = 0;
      for (std::size_t c = first; c < first + context; ++c) {
        dot += std::abs(double{p.view.seeded(c)} * ds.seeded(c));
      }
      allowed[i] = p.view.seeded(i) * (std::abs(ds.seeded(i)) + dot) * (terms + 4) * rounding;
    }
    gradient(wide(p.view), view{wanted_gradient});
    expect_within(make, ds, wanted_gradient, allowed);
    return [=](cudaStream_t on) {
      enqueue(on, op, span_of(scores));
      enqueue(on, gradient, span_of(p.view), span_of(ds));
    };
  };
  require_right(factory, few_rows());
}

TEMPLATE_TEST_CASE("swiglu on a device", "[nn]", float, bfloat16) {
  for (std::size_t const times : {1, 2}) {
    INFO("times " << times);
    auto const factory = [times](setup& make, std::size_t rows, std::size_t width) {
      nn::swiglu const op{rows, width, times * width};
      nn::swiglu_gradient const gradient{rows, width, times * width};
      auto const n = rows * width, extent = op.extent();
      auto const a = make.finite().random<TestType>(extent, {-6, 6}),
                 b = make.random<TestType>(extent);
      auto const d = make.random<TestType>(n), out = make.output<TestType>(n);
      auto const dx = make.inout<TestType>(extent), dy = make.inout<TestType>(extent);
      numbers wanted(n), allowed(extent, 0);
      auto wanted_x = wide(dx), wanted_y = wide(dy);
      op(wide(a), wide(b), view{wanted});
      gradient(wide(a), wide(b), wide(d), view{wanted_x}, view{wanted_y});
      for (std::size_t i = 0; i < n; ++i) {
        auto const at = i / width * op.stride + i % width;
        double const value = a.seeded(at);
        auto const outer = std::abs(d.seeded(i) / (1 + std::exp(-value)) * b.seeded(at));
        allowed[at] = 8 * rounding * (std::abs(wanted_x[at]) + outer * (1 + std::abs(value)));
      }
      // expf: two roundings; the sum, the quotient and two products one each.
      expect_within(make, out, wanted, wanted, 8 * rounding);
      expect_within(make, dy, wanted_y, wanted_y, 8 * rounding);
      expect_within(make, dx, wanted_x, allowed);
      return [=](cudaStream_t on) {
        enqueue(on, op, span_of(a), span_of(b), span_of(out));
        enqueue(on, gradient, span_of(a), span_of(b), span_of(d), span_of(dx), span_of(dy));
      };
    };
    require_right(factory, {{1, 1}, {17, 24}, {129, 1031}, {24, 2048}});
  }
}

TEMPLATE_TEST_CASE("cross_entropy on a device", "[nn]", float, bfloat16) {
  for (std::size_t const words : {1, 37, 10'000}) {
    INFO("vocabulary " << words);
    auto const factory = [words](setup& make, std::size_t rows) {
      nn::cross_entropy const op{rows, words};
      auto const targets =
          make.finite().random<nn::token>(rows, {0, static_cast<nn::token>(words) - 1});
      auto const logits = make.inout<TestType>(rows * words, {-4, 4});
      auto const losses = make.output<float>(rows), mean = make.output<float>(1);
      std::vector<nn::token> all(rows);
      for (std::size_t i = 0; i < rows; ++i) { all[i] = targets.seeded(i); }
      auto gradient = wide(logits);
      numbers loss(rows), wanted_mean(1), allowed(rows * words);
      op(all, view{gradient}, view{loss});
      nn::mean{rows}(loss, view{wanted_mean});
      // As for the softmax; the logarithm has values up to 10 and two roundings, the maximum and
      // the target are at most 4.
      auto const share = (static_cast<double>(words) + 2 * (8 + 2) + 4) * rounding;
      auto const allowed_loss = share + 40 * rounding;
      auto const n = static_cast<double>(rows);
      for (std::size_t i = 0; i < allowed.size(); ++i) {
        auto const is_target = static_cast<std::size_t>(all[i / words]) == i % words;
        auto const probability = gradient[i] * n + (is_target ? 1 : 0);
        allowed[i] = (probability * share + 3 * rounding) / n;
      }
      expect_within(make, losses, loss, numbers(rows, allowed_loss));
      expect_within(make, logits, gradient, allowed);
      expect_within(make, mean, wanted_mean, {allowed_loss + (n + 1) * rounding * wanted_mean[0]});
      return [=](cudaStream_t on) {
        enqueue(on, op, span_of(targets), span_of(logits), span_of(losses));
        enqueue(on, nn::mean{rows}, span_of(losses), span_of(mean));
      };
    };
    require_right(factory, few_rows());
  }
}

TEMPLATE_TEST_CASE("adamw on a device", "[nn]", float, bfloat16) {
  // All elements, and a part that begins behind the first one.
  for (std::size_t const first : {0, 1}) {
    INFO("from element " << first);
    auto const factory = [first](setup& make, std::size_t n) {
      auto const g = make.finite().random<float>(n);
      test::stored_weights<TestType> const w{make, n};
      auto const m = make.inout<float>(n), v = make.inout<float>(n, {0, 1});
      nn::adamw_update const op{{.learning_rate = 1e-2, .weight_decay = 0.1}, n - first, 7};
      auto const kept = std::make_shared<std::vector<nn::adamw_factors>>(1, nn::adamw_factors{op});
      auto const factors = make.from(*kept);
      auto const rest = [=](auto of) { return of.subspan(first, n - first); };
      auto const before = w.before();
      auto gradient = wide(g), weights = before, moment = wide(m), second = wide(v);
      op(view{gradient}.subspan(first), view{weights}.subspan(first), view{moment}.subspan(first),
         view{second}.subspan(first));
      auto const [keep, rate, root_factor] = op.of_step();
      numbers allowed(n, 0), of_moment(n, 0);
      for (std::size_t i = first; i < n; ++i) {
        // The parts of the first moment can cancel; all other factors keep their relative errors.
        auto const size = 0.9 * std::abs(m.seeded(i)) + 0.1 * std::abs(g.seeded(i));
        auto const root = std::sqrt(second[i]) * root_factor + 1e-8;
        of_moment[i] = 3 * rounding * size;
        // Subnormal products are off by half of the smallest number each: the rate times the
        // moment, and two of the moment, which the rate of 0.02 makes small.
        allowed[i] = 3 * rounding * std::abs(before[i] * keep) +
                     (14 * rounding * rate * size + 0x1p-149) / root;
      }
      expect_within(make, m, moment, of_moment);
      expect_within(make, v, second, second, 5 * rounding);
      w.expect(make, weights, allowed);
      return [=, lives = kept](cudaStream_t on) {
        enqueue(on, op, rest(span_of(g)), rest(w.span()), rest(span_of(m)), rest(span_of(v)),
                factors.data());
      };
    };
    require_right(factory, {5, 1025, 100'003});
  }
}

TEST_CASE("AdamW of weights in two halves has the bits of float32", "[nn]") {
  constexpr std::size_t n = 10'007;
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::vector<float> numbers(n);
  auto const filled = [&](float least, std::uint64_t own) {
    examples::device_array<float> made{n};
    for (std::size_t i = 0; i < n; ++i) {
      numbers[i] = random_value(uniform<float>{least, 1}, seed + own, i);
    }
    numbers[1] = std::numeric_limits<float>::quiet_NaN();
    check(cudaMemcpy(made.get(), numbers.data(), n * sizeof(float), cudaMemcpyDefault));
    return made;
  };
  auto const g = filled(-1, 1), w = filled(-1, 2), joined = filled(-1, 3);
  auto const m = filled(-1, 4), same_m = filled(-1, 4), v = filled(0, 5), same_v = filled(0, 5);
  examples::device_array<bfloat16> const high{n};
  examples::device_array<std::uint16_t> const low{n};
  examples::device_array<nn::adamw_factors> const factors{1};
  stream const on{on::device{0}};
  auto const whole = [](auto const& of) { return std::span{of.get(), n}; };
  nn::split_floats const halves{whole(high), whole(low)};
  nn::enqueue_copy(on, whole(w), halves);
  for (int step = 1; step <= 3; ++step) {
    nn::adamw_update const op{{.learning_rate = 1e-2, .weight_decay = 0.1}, n, step};
    nn::adamw_factors const by{op};
    check(cudaMemcpyAsync(factors.get(), &by, sizeof by, cudaMemcpyDefault, on.get()));
    enqueue(on, op, whole(g), whole(w), whole(m), whole(v), factors.get());
    enqueue(on, op, whole(g), halves, whole(same_m), whole(same_v), factors.get());
  }
  nn::enqueue_copy(on, halves, whole(joined));
  on.synchronize();
  std::vector<float> found(n);
  check(cudaMemcpy(found.data(), joined.get(), n * sizeof(float), cudaMemcpyDefault));
  check(cudaMemcpy(numbers.data(), w.get(), n * sizeof(float), cudaMemcpyDefault));
  CHECK(std::isnan(found[1]));
  found[1] = numbers[1] = 0;
  CHECK(found == numbers);
}
