// SPDX-License-Identifier: Apache-2.0
// assay-links: cublas
// assay-architectures: 90a
/// @file
/// Updates of weights against the float64 reference, under bounds from rounding alone: by the
/// kernel where it is compiled for the device, and by a product and AdamW.
#include "catch.hpp"
#include "device_array.hpp"
#include "nn/expect_within.hpp"
#include "nn/stored_weights.hpp"
#include "small_sizes.hpp"

#include <assay/core/random.hpp>
#include <assay/core/stream.hpp>
#include <assay/nn/cublas_products.hpp>
#include <assay/nn/weight_update.cuh>
#include <assay/verify.cuh>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using test::rounding;
using test::span_of;
using test::wide;

namespace {

using numbers = std::vector<double>;
using view = std::span<double>;

struct in_and_out {
  std::size_t in, out;
};

/// A weight before an update, and what it may be afterwards.
struct expected_update {
  numbers first, second, weights;                 ///< at first before, then behind the update
  numbers of_first{}, of_second{}, of_weights{};  ///< the errors that rounding allows

  /// A sum of n products in any order is off by n roundings of the sum of magnitudes, as in the
  /// tests of products. AdamW hands the error on, and rounds as in its own test; the root
  /// and the quotient of the kernel are off by four roundings more.
  void apply(nn::weight_update const& op, numbers const& dy, numbers const& x) {
    auto const n = op.count();
    numbers g(n), size(n);
    op.gradient()(dy, x, view{g});
    op.gradient()(test::magnitudes(dy), test::magnitudes(x), view{size});
    auto const [keep, rate, root_factor] = op.update().of_step();
    auto const& s = op.settings;
    of_first.assign(n, 0), of_second.assign(n, 0), of_weights.assign(n, 0);
    auto const share = (static_cast<double>(op.layer.rows) + 4) * rounding;
    for (std::size_t i = 0; i < n; ++i) {
      auto const off = share * size[i], largest = std::abs(g[i]) + off;
      auto const m = s.beta1 * first[i] + (1 - s.beta1) * g[i];
      auto const v = s.beta2 * second[i] + (1 - s.beta2) * g[i] * g[i];
      auto const parts = s.beta1 * std::abs(first[i]) + (1 - s.beta1) * largest;
      auto const most = s.beta2 * second[i] + (1 - s.beta2) * largest * largest;
      of_first[i] = (1 - s.beta1) * off + 3 * rounding * parts;
      of_second[i] = (1 - s.beta2) * (2 * std::abs(g[i]) + off) * off + 5 * rounding * most;
      auto const root = std::sqrt(v) * root_factor + s.epsilon;
      auto const least = std::sqrt(std::max(0.0, v - of_second[i])) * root_factor + s.epsilon;
      of_weights[i] = 3 * rounding * std::abs(weights[i] * keep) +
                      rate * (of_first[i] / least + std::abs(m) * (1 / least - 1 / root)) +
                      (18 * rounding * rate * parts + 0x1p-149) / least;
      weights[i] = weights[i] * keep - rate * m / root;
      first[i] = m;
      second[i] = v;
    }
  }
};

/// Updates of several weights in one call, verified at numbers of tokens.
template <class T>
void require_updates(std::vector<in_and_out> const& shapes, nn::adamw const& settings,
                     assay::sizes const& tokens) {
  constexpr std::size_t bytes = 8 << 20;
  examples::device_array<std::byte> const workspace{bytes};
  nn::cublas_products products{{workspace.get(), bytes}};
  auto const factory = [&](setup& make, std::size_t rows) {
    auto const ops = std::make_shared<nn::weight_updates>();
    auto const arrays = std::make_shared<std::vector<nn::weight_arrays<float, T>>>();
    auto& each = make.finite().align(256);
    constexpr int step = 3;
    for (auto const& [in, out] : shapes) {
      nn::weight_update const op{{rows, in, out}, settings, step};
      auto const n = op.count();
      auto const dy = each.template random<T>(rows * out), x = each.template random<T>(rows * in);
      test::stored_weights<T> const w{each, n};
      auto const m = each.template inout<float>(n);
      auto const v = each.template inout<float>(n, {0, 1});
      auto const scratch = each.template scratch<float>(n);
      expected_update right{wide(m), wide(v), w.before()};
      right.apply(op, wide(dy), wide(x));
      test::expect_within(make, m, right.first, right.of_first);
      test::expect_within(make, v, right.second, right.of_second);
      w.expect(make, right.weights, right.of_weights);
      ops->all.push_back(op);
      arrays->push_back(
          {span_of(dy), span_of(x), span_of(scratch), w.span(), span_of(m), span_of(v)});
    }
    auto const kept = std::make_shared<std::vector<nn::adamw_factors>>(
        1, nn::adamw_factors{nn::adamw_update{settings, 1, step}});
    auto const factors = make.from(*kept);
    return [=, &products](cudaStream_t on) {
      enqueue(::cuda::stream_ref{on}, *ops, *arrays, factors.data(), products);
    };
  };
  auto const seen =
      verify(factory, {.seed = test::fresh_seed(), .only = tokens, .concurrent = false});
  REQUIRE(seen);
}

constexpr nn::adamw fast{.learning_rate = 1e-2, .weight_decay = 0.1};

}  // namespace

TEST_CASE("weights of whole and of broken tiles are updated", "[nn]") {
  for (auto const& each : {in_and_out{128, 128}, in_and_out{8, 8}, in_and_out{200, 136},
                           in_and_out{256, 64}, in_and_out{776, 264}}) {
    INFO(each.out << " x " << each.in);
    require_updates<bfloat16>({each}, fast, test::small_sizes({1, 64, 70, 320}, 70));
  }
}

TEST_CASE("weights of several shapes are updated at once", "[nn]") {
  // More than one launch takes, and two that the kernel refuses: rows that bulk copies cannot take.
  std::vector<in_and_out> all;
  for (std::size_t i = 0; i < 11; ++i) { all.push_back({8 * (40 - 3 * i), 8 * (7 * i + 1)}); }
  all.insert(all.begin() + 4, {{20, 33}, {129, 64}});
  require_updates<bfloat16>(all, fast, test::small_sizes({70, 129}, 70));
  require_updates<float>({{20, 33}, {128, 64}}, fast, test::small_sizes({17}, 17));
}

TEST_CASE("a learning rate of zero changes moments alone", "[nn]") {
  require_updates<bfloat16>({{264, 72}}, {.learning_rate = 0}, test::small_sizes({65}, 65));
}

TEST_CASE("the kernel is what runs on a device of 9.0", "[nn]") {
  auto const place = current_device();
  CHECK(nn::has_weight_update(place) == (place_traits<on::device>::capability(place) == 90));
}

namespace {

/// Arrays of one weight on the device, with a first state from a seed.
struct device_weight {
  nn::weight_update op;
  examples::device_array<bfloat16> dy{op.layer.rows * op.layer.out}, x{op.layer.rows * op.layer.in},
      high{op.count()};
  examples::device_array<std::uint16_t> low{op.count()};
  examples::device_array<float> first{op.count()}, second{op.count()};

  explicit device_weight(nn::weight_update const& of, std::uint64_t seed) : op(of) {
    auto const put = [&](auto* to, std::size_t count, float least, std::uint64_t own) {
      using type = std::remove_pointer_t<decltype(to)>;
      std::vector<type> made(count);
      for (std::size_t i = 0; i < count; ++i) {
        made[i] = static_cast<type>(random_value(uniform<float>{least, 1}, seed + own, i));
      }
      check(cudaMemcpy(to, made.data(), count * sizeof(type), cudaMemcpyDefault));
    };
    put(dy.get(), op.layer.rows * op.layer.out, -1, 1);
    put(x.get(), op.layer.rows * op.layer.in, -1, 2);
    std::vector<bfloat16> upper;
    std::vector<std::uint16_t> lower;
    for (std::size_t i = 0; i < op.count(); ++i) {
      nn::float_halves const both{random_value(uniform<float>{-1, 1}, seed + 3, i)};
      upper.push_back(both.high);
      lower.push_back(both.low);
    }
    check(cudaMemcpy(high.get(), upper.data(), 2 * op.count(), cudaMemcpyDefault));
    check(cudaMemcpy(low.get(), lower.data(), 2 * op.count(), cudaMemcpyDefault));
    put(first.get(), op.count(), -1, 4);
    put(second.get(), op.count(), 0, 5);
  }
  nn::weight_arrays<float, bfloat16> arrays() const {
    auto const n = op.count(), rows = op.layer.rows;
    return {{dy.get(), rows * op.layer.out},
            {x.get(), rows * op.layer.in},
            {},
            {{high.get(), n}, {low.get(), n}},
            {first.get(), n},
            {second.get(), n}};
  }
  template <class T>
  static std::vector<T> on_host(examples::device_array<T> const& from, std::size_t count) {
    std::vector<T> to(count);
    check(cudaMemcpy(to.data(), from.get(), count * sizeof(T), cudaMemcpyDefault));
    return to;
  }
  numbers state() const {
    auto const upper = on_host(high, op.count());
    auto const lower = on_host(low, op.count());
    numbers all;
    for (std::size_t i = 0; i < op.count(); ++i) {
      all.push_back(static_cast<float>(nn::float_halves{upper[i], lower[i]}));
    }
    for (auto const* each : {&first, &second}) {
      auto const part = on_host(*each, op.count());
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

/// Steps of several weights, with so many tiles that blocks of an H200 take three or four, two for
/// each warpgroup that multiplies.
numbers after_steps(std::uint64_t seed, int steps, bool check_each) {
  stream const where{current_device()};
  std::vector<std::unique_ptr<device_weight>> all;
  std::vector<nn::weight_arrays<float, bfloat16>> arrays;
  for (in_and_out const each :
       {in_and_out{1032, 2056}, in_and_out{776, 3208}, in_and_out{4104, 136}}) {
    all.push_back(std::make_unique<device_weight>(
        nn::weight_update{{96, each.in, each.out}, fast, 1}, seed + 10 * all.size()));
    arrays.push_back(all.back()->arrays());
  }
  check(cudaDeviceSynchronize());  // a copy from pageable memory may not be done when it returns
  examples::device_array<nn::adamw_factors> const factors{1};
  for (int step = 1; step <= steps; ++step) {
    nn::adamw_factors const by{nn::adamw_update{fast, 1, step}};
    check(cudaMemcpy(factors.get(), &by, sizeof by, cudaMemcpyDefault));
    std::vector<numbers> before;
    for (auto const& each : all) { before.push_back(check_each ? each->state() : numbers{}); }
    nn::weight_update_launches<> launches{where, factors.get()};
    for (std::size_t i = 0; i < all.size(); ++i) { launches.add(all[i]->op.layer, arrays[i]); }
    launches.launch();
    where.synchronize();
    for (std::size_t i = 0; check_each && i < all.size(); ++i) {
      auto op = all[i]->op;
      op.step = step;
      auto const n = op.count();
      auto const part = [&](std::size_t at) {
        return numbers(before[i].begin() + static_cast<std::ptrdiff_t>(at * n),
                       before[i].begin() + static_cast<std::ptrdiff_t>((at + 1) * n));
      };
      auto const wide_of = [](auto const& from) {
        numbers to;
        for (auto const one : from) { to.push_back(static_cast<double>(one)); }
        return to;
      };
      expected_update right{part(1), part(2), part(0)};
      right.apply(op, wide_of(device_weight::on_host(all[i]->dy, op.layer.rows * op.layer.out)),
                  wide_of(device_weight::on_host(all[i]->x, op.layer.rows * op.layer.in)));
      auto const found = all[i]->state();
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < n; ++k) {
        wrong += !(std::abs(found[k] - right.weights[k]) <= right.of_weights[k] + 0x1p-126) ||
                 !(std::abs(found[n + k] - right.first[k]) <= right.of_first[k] + 0x1p-126) ||
                 !(std::abs(found[2 * n + k] - right.second[k]) <= right.of_second[k] + 0x1p-126);
      }
      INFO("step " << step << ", weight " << i);
      CHECK(wrong == 0);
    }
  }
  numbers found;
  for (auto const& each : all) {
    auto const part = each->state();
    found.insert(found.end(), part.begin(), part.end());
  }
  return found;
}

}  // namespace

TEST_CASE("several steps follow the reference, and equal calls give equal bits", "[nn]") {
  if (test::small() || !nn::has_weight_update(current_device())) { return; }
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  auto const once = after_steps(seed, 3, true);
  bool const equal = after_steps(seed, 3, false) == once;
  CHECK(equal);
}
