// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Right sums, products, exponentials and normalisations are within their rules, and computations
/// in fewer bits are not.
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <assay/arrays/array_store.hpp>
#include <assay/arrays/setup.hpp>
#include <assay/core/random.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

using namespace assay;
using test::contains;
using test::on_host;

namespace {

using floats = std::span<float const>;
constexpr auto advice =
    "within the bound of a sum of many terms: where the array holds such sums, "
    "pass assay::sum_of(TERMS) to expect, or the rule of what it holds, such as softmax_of";

float in_sequence(floats x) { return std::accumulate(x.begin(), x.end(), 0.0F); }
float in_blocks(floats x) {
  std::vector<float> lanes(256);
  for (std::size_t i = 0; i < x.size(); ++i) { lanes[i % lanes.size()] += x[i]; }
  return in_sequence(lanes);
}
float in_pairs(floats x) {
  if (x.size() <= 8) { return in_sequence(x); }
  return in_pairs(x.first(x.size() / 2)) + in_pairs(x.subspan(x.size() / 2));
}

/// The number with so many bits less, rounded to nearest.
float shortened(float value, unsigned bits) {
  auto const half = 1U << (bits - 1);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + half) & ~(2 * half - 1));
}
float tf32(float value) { return shortened(value, 13); }
float sum_in_half(floats x) {
  float sum = 0;
  for (float const each : x) { sum = shortened(sum + each, 13); }
  return sum;
}

std::vector<float> numbers(std::uint64_t seed, std::size_t n, uniform<float> range) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i) { all[i] = random_value(range, seed, i); }
  return all;
}
double exact(floats x) { return std::accumulate(x.begin(), x.end(), 0.0); }

/// The error of a result as a share of what a rule permits.
double share(float got, double wanted, rounding_rule rule) {
  auto const allowed = tolerance_for<float>(rule);
  return std::abs(got - wanted) / (allowed.absolute + allowed.relative * std::abs(wanted));
}

/// Rows of numbers, each of which a kernel turns into as many.
using row_kernel = std::function<void(floats, std::span<float>)>;
using row_reference = std::function<void(floats, std::span<double>)>;

/// What `verify` says of a kernel over 50 rows of `k` numbers.
template <class... Rule>
std::string said(std::size_t k, uniform<float> range, row_kernel const& kernel,
                 row_reference const& right, Rule... rule) {
  constexpr std::size_t rows = 50;
  auto make = on_host(test::fresh_seed());
  auto const x = make.random<float>(rows * k, range);
  auto const y = make.output<float>(rows * k);
  auto const row = [k](auto* data, std::size_t i) { return std::span{data + i * k, k}; };
  make.expect(
      y,
      [&](std::span<double> wanted) {
        for (std::size_t i = 0; i < rows; ++i) { right(row(x.data(), i), row(wanted.data(), i)); }
      },
      rule...);
  for (std::size_t i = 0; i < rows; ++i) { kernel(row(x.data(), i), row(y.data(), i)); }
  return make.verify().value_or("right");
}

/// As `__expf` computes it: a power of two of a rounded product.
float fast_exp(float x) { return std::exp2(x * 1.442695041F); }

template <class T>
void softmax(floats x, std::span<T> y, T (*exponential)(T)) {
  T const most = *std::max_element(x.begin(), x.end());
  T sum = 0;
  for (float const each : x) { sum += exponential(each - most); }
  for (std::size_t i = 0; i < x.size(); ++i) { y[i] = exponential(x[i] - most) / sum; }
}

template <class T>
void normalise(floats x, std::span<T> y, bool in_one_pass) {
  T sum = 0;
  T squares = 0;
  auto const n = static_cast<T>(x.size());
  for (T const each : x) { sum += each; }
  T const mean = sum / n;
  for (T const each : x) { squares += in_one_pass ? each * each : (each - mean) * (each - mean); }
  T const variance = squares / n - (in_one_pass ? mean * mean : 0);
  T const scale = 1 / std::sqrt(variance + T(1e-5));
  for (std::size_t i = 0; i < x.size(); ++i) { y[i] = (x[i] - mean) * scale; }
}

}  // namespace

TEST_CASE("right sums are within their rule, and sums of half precision are not", "[arrays]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (auto const range : {uniform<float>{-1, 1}, uniform<float>{0, 1}}) {
    for (std::size_t const k : {1U, 7U, 100U, 4096U, 100'000U, 1U << 20U}) {
      std::size_t found = 0;
      auto const trials = std::max<std::size_t>(3, std::min<std::size_t>(200, 200'000 / k));
      for (std::size_t i = 0; i < trials; ++i) {
        auto const x = numbers(seed + i, k, range);
        for (auto const sum : {in_sequence, in_blocks, in_pairs}) {
          REQUIRE(share(sum(x), exact(x), sum_of(k)) < 0.8);
        }
        found += share(sum_in_half(x), exact(x), sum_of(k)) > 1 ? 1U : 0U;
      }
      CHECK((found > trials / 2 || k == 1));
    }
  }
}

TEST_CASE("a float sum of 16 million terms is right with its rule", "[arrays]") {
  constexpr std::size_t n = std::size_t{1} << 24;
  for (auto const low : {-1.0F, 0.0F}) {
    auto make = on_host(1);  // both sums are beyond the default tolerance
    auto const x = make.random<float>(n, {low, 1});
    auto const y = make.output<float>(1);
    auto const all = floats{x.data(), n};
    double const wanted = exact(all);
    auto const right = [wanted](std::size_t) { return wanted; };
    y.data()[0] = low < 0 ? in_blocks(all) : in_sequence(all);
    make.expect(y, right);
    CHECK_THAT(make.verify().value_or("right"), contains(advice));
    make.expect(y, right, sum_of(n));
    CHECK(make.verify() == std::nullopt);
    y.data()[0] = sum_in_half(all);
    CHECK(make.verify() != std::nullopt);
  }
}

TEST_CASE("a product of matrices is right with its rule, and wrong in tf32", "[arrays]") {
  constexpr std::size_t k = 1024, n = 48;
  auto make = on_host(test::fresh_seed());
  auto const a = make.random<float>(n * k);
  auto const b = make.random<float>(n * k);
  auto const c = make.output<float>(n * n);
  auto const product = [&]<class T>(T, std::size_t at, auto&& as) {
    T sum = 0;
    for (std::size_t i = 0; i < k; ++i) {
      sum += T{as(a.data()[at / n * k + i])} * T{as(b.data()[at % n * k + i])};
    }
    return sum;
  };
  auto const same = [](float each) { return each; };
  auto const right = [&](std::size_t i) { return product(double{}, i, same); };
  for (std::size_t i = 0; i < n * n; ++i) { c.data()[i] = product(float{}, i, same); }
  make.expect(c, right);
  CHECK_THAT(make.verify().value_or("right"), contains(advice));
  make.expect(c, right, dot_of(k));
  CHECK(make.verify() == std::nullopt);
  make.expect(c, right, dot_of(int{k}, 0.5));
  CHECK(make.verify() == std::nullopt);
  for (std::size_t i = 0; i < n * n; ++i) { c.data()[i] = product(float{}, i, tf32); }
  CHECK_THAT(make.verify().value_or("right"), !contains(advice));
  make.expect(c, right);
  CHECK_THAT(make.verify().value_or("right"), contains("are wrong") && !contains(advice));
}

TEST_CASE("a stencil is right with its rule", "[arrays]") {
  auto const stencil = [](floats x, auto y) {
    using T = typename decltype(y)::value_type;
    for (std::size_t i = 0; i < x.size(); ++i) {
      T sum = -6 * T{x[i]};
      for (std::size_t const by : {1U, 2U, 30U, 40U, 900U, 1000U}) {
        sum += x[(i + by) % x.size()];
      }
      y[i] = sum;
    }
  };
  constexpr uniform<float> range{};
  CHECK_THAT(said(10'000, range, stencil, stencil), contains(advice));
  CHECK(said(10'000, range, stencil, stencil, sum_of(7, 6)) == "right");
  CHECK_THAT(said(10'000, range, stencil, stencil, sum_of(1, 1e-3)), !contains(advice));
  auto const wrong = [&](floats x, std::span<float> y) {
    stencil(x, y);
    y[77] += 0.01F;
  };
  CHECK_THAT(said(10'000, range, wrong, stencil), contains("by 0.01)") || !contains(advice));
}

TEST_CASE("exponentials and softmax are right with their rules", "[arrays]") {
  auto const exponential = [](floats x, std::span<double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) { y[i] = std::exp(double{x[i]}); }
  };
  auto const fast = [](floats x, std::span<float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) { y[i] = fast_exp(x[i]); }
  };
  auto const in_tf32 = [](floats x, std::span<float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) { y[i] = std::exp(tf32(x[i])); }
  };
  auto const right_softmax = [](floats x, std::span<double> y) {
    softmax<double>(x, y, [](double each) { return std::exp(each); });
  };
  auto const fast_softmax = [](floats x, std::span<float> y) { softmax<float>(x, y, fast_exp); };
  auto const softmax_in_tf32 = [](floats x, std::span<float> y) {
    softmax<float>(x, y, [](float each) { return std::exp(tf32(each)); });
  };
  for (float const most : {1.0F, 5.0F, 40.0F}) {
    uniform<float> const range{-most, most};
    CHECK(said(1000, range, fast, exponential, exp_of(most)) == "right");
    CHECK_THAT(said(1000, range, in_tf32, exponential, exp_of(most)), contains("are wrong"));
    for (std::size_t const k : {3U, 1000U, 20'000U}) {
      CHECK(said(k, range, fast_softmax, right_softmax, softmax_of(k, most)) == "right");
      if (k > 3) {
        CHECK_THAT(said(k, range, softmax_in_tf32, right_softmax, softmax_of(k, most)),
                   contains("are wrong"));
      }
    }
  }
  CHECK_THAT(said(1000, {-40, 40}, fast, exponential), contains("are wrong"));
  CHECK_THAT(said(1000, {-40, 40}, fast_softmax, right_softmax), contains("are wrong"));
}

TEST_CASE("normalisations are right with their rule", "[arrays]") {
  auto const in_passes = [](bool one) { return [one](floats x, auto y) { normalise(x, y, one); }; };
  auto const shortened_input = [](floats x, std::span<float> y) {
    std::vector<float> of(x.begin(), x.end());
    for (auto& each : of) { each = tf32(each); }
    normalise<float>(of, y, false);
  };
  for (auto const range :
       {uniform<float>{-1, 1}, uniform<float>{0, 1}, uniform<float>{-300, 300}}) {
    for (std::size_t const k : {50U, 1000U, 30'000U}) {
      for (bool const one : {true, false}) {
        CHECK(said(k, range, in_passes(one), in_passes(false), normalised_of(k)) == "right");
      }
      CHECK_THAT(said(k, range, shortened_input, in_passes(false), normalised_of(k)),
                 contains("wrong"));
    }
  }
  CHECK_THAT(said(1000, {}, in_passes(true), in_passes(false)), contains("wrong"));
}

TEST_CASE("a rule serves the type of its array", "[arrays]") {
  CHECK(tolerance_for<int>(sum_of(1e6)) == tolerance{});
  auto const of_float = tolerance_for<float>(sum_of(100, 3));
  auto const of_double = tolerance_for<double>(sum_of(100, 3));
  CHECK(of_float.relative == default_tolerance<float>.relative + 20 * 0x1p-24);
  CHECK(of_double.relative == default_tolerance<double>.relative + 20 * 0x1p-53);
  CHECK(of_float.absolute == default_tolerance<float>.absolute + 600 * 0x1p-24);
  auto make = on_host(1);
  auto const y = make.output<float>(3);
  auto const right = [](std::size_t) { return 1.0; };
  CHECK_THROWS_AS(make.expect(y, right, sum_of(-1)), std::invalid_argument);
  make.expect(y, right, {});  // no rule is made of braces
}
