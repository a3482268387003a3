// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Intervals for values that depend on those before them.
#include "catch.hpp"

#include <assay/stats/random_source.hpp>
#include <assay/stats/rank_sum.hpp>
#include <assay/stats/serial_dependence.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace assay::stats;

namespace {

double nearly_normal(random_source& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) { sum += static_cast<double>(random.next() >> 11U) * 0x1p-53; }
  return sum;
}

/// Values in turn, each of which keeps a part of the one before.
std::vector<double> chain(random_source& random, std::size_t count, double kept) {
  constexpr std::size_t before = 100;
  std::vector<double> made;
  double value = 0;
  for (std::size_t i = 0; i < before + count; ++i) {
    value = kept * value + nearly_normal(random);
    if (i >= before) { made.push_back(value); }
  }
  return made;
}

struct rates {
  double plain, widened;
};

/// The share of pairs of equal runs whose interval excludes zero.
rates false_alarms(double kept, std::size_t first, std::size_t second) {
  constexpr int trials = 2000;
  random_source random{static_cast<std::uint64_t>(100 * kept) +
                       first};  // fixed: the rates are measured once
  auto const critical = rank_sum_critical_value(static_cast<std::int64_t>(first),
                                                static_cast<std::int64_t>(second), 0.05);
  int plain = 0, wide = 0;
  for (int i = 0; i < trials; ++i) {
    auto const a = chain(random, first, kept);
    auto const b = chain(random, second, kept);
    auto const found = rank_sum_shift(a, b, critical);
    plain += found.excludes(0) ? 1 : 0;
    wide += widened(found, interval_widening(a, b)).excludes(0) ? 1 : 0;
  }
  return {static_cast<double>(plain) / trials, static_cast<double>(wide) / trials};
}

}  // namespace

TEST_CASE("autocorrelations are those of the definition") {
  std::vector<double> const values{1, 2, 3, 4};
  CHECK(autocorrelation(values, 0) == Approx(1));
  CHECK(autocorrelation(values, 1) == Approx(1.25 / 5));
  CHECK(autocorrelation(values, 3) == Approx(-2.25 / 5));
  CHECK(autocorrelation(std::vector<double>(5, 7.0), 1) == 0);
}

TEST_CASE("values that do not vary, and one or none, widen nothing they could") {
  CHECK(variance_inflation({}) == 1);
  CHECK(variance_inflation(std::vector<double>{3}) == 1);
  CHECK(variance_inflation(std::vector<double>(39, 0.1)) == Approx(40.0 / 38));
  auto const nothing = widened({2, 2, 2}, 5);
  CHECK(nothing.low == 2);
  CHECK(nothing.high == 2);
}

TEST_CASE("ends move away from the estimate, of a factor on the scale of logarithms") {
  auto const shift = widened({1, 2, 4}, 3);
  CHECK(shift.low == -1);
  CHECK(shift.high == 8);
  auto const factor = widened_factor({0.5, 1, 2}, 2);
  CHECK(factor.low == Approx(0.25));
  CHECK(factor.high == Approx(4));
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  CHECK(widened_factor({0, 1, infinite}, 2).low == 0);
  CHECK(widened_factor({0, 1, infinite}, 2).high == infinite);
  CHECK(std::isnan(widened_factor({0, std::nan(""), infinite}, 2).estimate));
}

TEST_CASE("equal runs of dependent values are told apart about as often as the level says") {
  auto const independent = false_alarms(0, 30, 40);
  CHECK(independent.plain < 0.06);
  CHECK(independent.widened < 0.05);
  auto const some = false_alarms(0.6, 30, 40);
  CHECK(some.plain > 0.25);
  CHECK(some.widened < 0.08);
  auto const strong = false_alarms(0.8, 100, 120);
  CHECK(strong.plain > 0.4);
  CHECK(strong.widened < 0.07);
}
