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

TEST_CASE("a spike does not move the mean without outliers, and its side does not matter") {
  std::vector<double> const calm{-2, -1, 0, 1, 2, -2, -1, 0, 1, 2, 0, 0};
  CHECK(mean_without_outliers(calm) == 0);
  for (double const spike : {1e3, -1e3, 1e300}) {
    auto spiked = calm;
    spiked[4] = spike;  // instead of a 2: the others' mean is -2/11
    CHECK(mean_without_outliers(spiked) == Approx(-2.0 / 11));
    spiked[9] = spike;  // both
    CHECK(mean_without_outliers(spiked) == Approx(-4.0 / 10));
  }
  // A quarter of the values may be spikes.
  std::vector<double> const quarter{1, 2, 3, 4, 5, 6, 100, 200};
  CHECK(mean_without_outliers(quarter) == Approx(3.5));
  // Nothing is left out of values without outliers: it is the mean and not the median.
  CHECK(mean_without_outliers({0, 0, 0, 1, 1, 1, 1, 3}) == Approx(7.0 / 8));
  CHECK(mean_without_outliers({5}) == 5);
  CHECK(mean_without_outliers({4, 8}) == 6);
  CHECK(std::isnan(mean_without_outliers({})));
}

TEST_CASE("ticks of a coarse clock within `always` are no outliers") {
  // 13 values on one tick and 3 on the next: all distances but a few are 0.
  std::vector<double> ticks(13, 1.0);
  for (int i = 0; i < 3; ++i) { ticks.push_back(1.001); }
  CHECK(mean_without_outliers(ticks) == 1.0);
  CHECK(mean_without_outliers(ticks, 2e-3) == Approx(1 + 3e-3 / 16).epsilon(1e-12));
  ticks.push_back(1.1);  // and a spike still does not count
  CHECK(mean_without_outliers(ticks, 2e-3) == Approx(1 + 3e-3 / 16).epsilon(1e-12));
}

TEST_CASE("negated values have the negated mean without outliers, bit for bit") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> values(1 + from.below(40));
    std::vector<double> negated;
    for (auto& each : values) {
      each = from.below(8) == 0 ? 100 * normal(from) : normal(from);
      if (round % 3 == 0) { each = std::round(4 * each) / 4; }  // ties
      negated.push_back(-each);
    }
    for (double const always : {0.0, 0.3}) {
      CHECK(mean_without_outliers(negated, always) == -mean_without_outliers(values, always));
    }
    from.shuffle(values);  // nor does the order matter
    CHECK(mean_without_outliers(negated) == -mean_without_outliers(values));
  }
}

TEST_CASE("the mean without outliers keeps nearly all normal values") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  double mine = 0;
  double plain = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> values(16);
    double sum = 0;
    for (auto& each : values) { sum += each = normal(from); }
    plain += sum * sum / 256 / rounds;
    double const robust = mean_without_outliers(values);
    mine += robust * robust / rounds;
  }
  // The variance is within 5 % of the mean's. A median has 57 % more.
  CHECK(mine < 1.05 * plain);
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
