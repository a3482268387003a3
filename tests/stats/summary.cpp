// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five numbers of a sample, its spread, its location without outliers, its autocorrelation.
#include <assay/stats/random_source.hpp>
#include <assay/stats/summary.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace assay::stats;

TEST_CASE("quantiles lie linearly between the sorted values") {
  auto const found = summarise({4, 1, 3, 2});
  CHECK(found.min == 1);
  CHECK(found.q1 == 1.75);
  CHECK(found.median == 2.5);
  CHECK(found.q3 == 3.25);
  CHECK(found.max == 4);
  CHECK(found.count == 4);
  CHECK(quantile({1, 2, 3}, 0) == 1);
  CHECK(quantile({1, 2, 3}, 1) == 3);
  auto const inf = std::numeric_limits<double>::infinity();
  CHECK(quantile({1, 2, inf}, 1) == inf);
  CHECK(quantile({1, 2, inf, inf}, 0.9) == inf);
  CHECK(quantile({1, 2, inf}, 0.5) == 2);
}

TEST_CASE("values that are not finite are not counted, and an empty sample has no summary") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const found = summarise({nan, 7, std::numeric_limits<double>::infinity()});
  CHECK(found.count == 1);
  CHECK(found.median == 7);
  CHECK(std::isnan(summarise({nan}).median));
  CHECK(summarise({}).count == 0);
}

namespace {

double uniform(random_source& from) { return static_cast<double>(from.next() >> 11U) * 0x1p-53; }

/// Draws a number that is about normal, with standard deviation 1.
double normal(random_source& from) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) { sum += uniform(from); }
  return sum;
}

}  // namespace

TEST_CASE("a standard deviation has n - 1 in its denominator") {
  CHECK(standard_deviation(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9}) ==
        Approx(std::sqrt(32.0 / 7)));
  CHECK(standard_deviation(std::vector<double>{1, 3}) == Approx(std::sqrt(2.0)));
  CHECK(standard_deviation(std::vector<double>{7}) == 0);
  CHECK(standard_deviation(std::vector<double>{}) == 0);
  // A large mean does not swallow a small spread.
  CHECK(standard_deviation(std::vector<double>{1e8 + 1, 1e8 + 2, 1e8 + 3}) == Approx(1));
}

TEST_CASE("skewness is the third central moment over the cube of the deviation") {
  CHECK(skewness(std::vector<double>{1, 2, 3}) == Approx(0).margin(1e-12));
  // Values -1, -1, 2 about their mean: (-1 - 1 + 8) / 3 over 2^1.5.
  CHECK(skewness(std::vector<double>{4, 4, 7}) == Approx(2 / std::pow(2.0, 1.5)));
  CHECK(skewness(std::vector<double>{-4, -4, -7}) == -skewness(std::vector<double>{4, 4, 7}));
  CHECK(skewness(std::vector<double>{5, 5, 5}) == 0);
  CHECK(skewness(std::vector<double>{}) == 0);

  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  int beyond = 0;
  constexpr int rounds = 2000;
  constexpr std::size_t count = 48;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> values(count);
    for (auto& each : values) { each = normal(from); }
    beyond += std::abs(skewness(values)) > 2 * std::sqrt(6.0 / count);
  }
  CHECK(beyond < 0.07 * rounds);
}

TEST_CASE("the autocorrelation at lag 1 equals its definition") {
  CHECK(lag_one_autocorrelation(std::vector<double>{1, -1, 1, -1}) == Approx(-3.0 / 4));
  CHECK(lag_one_autocorrelation(std::vector<double>{1, 2, 3, 4}) == Approx(1.25 / 5));
  CHECK(lag_one_autocorrelation(std::vector<double>{101, 102, 103, 104}) == Approx(1.25 / 5));
  CHECK(std::isnan(lag_one_autocorrelation(std::vector<double>{1, 2, 3})));
  CHECK(std::isnan(lag_one_autocorrelation(std::vector<double>{2, 2, 2, 2})));
}

TEST_CASE("independent values have no autocorrelation, and autoregressive ones have it") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  constexpr std::size_t count = 96;
  constexpr int rounds = 2000;
  int beyond = 0;
  double kept = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> fresh(count);
    std::vector<double> half(count);
    double last = 0;
    for (std::size_t i = 0; i < count; ++i) {
      fresh[i] = normal(from);
      half[i] = last = 0.5 * last + normal(from);
    }
    beyond += std::abs(lag_one_autocorrelation(fresh)) > 2 / std::sqrt(double{count});
    kept += lag_one_autocorrelation(half) / rounds;
  }
  CHECK(beyond < 0.065 * rounds);  // 1 in 20 at most, and 3 standard errors
  CHECK(beyond > 0.02 * rounds);
  CHECK(kept == Approx(0.48).margin(0.03));  // 0.5 less the bias of 2 / count
}
