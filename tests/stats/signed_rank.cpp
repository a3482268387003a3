// SPDX-License-Identifier: Apache-2.0
/// @file
/// The exact law against published tables and brute force; the interval against the test it
/// inverts.
#include <assay/stats/random_source.hpp>
#include <assay/stats/signed_rank.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "catch.hpp"

using namespace assay::stats;

namespace {

double uniform(random_source& from) { return static_cast<double>(from.next() >> 11U) * 0x1p-53; }

/// The two-sided test by its definition, with mean ranks of |x - shift| for ties. Returns
/// min(T+, T-) <= c.
bool rejects(std::vector<double> values, double shift, std::int64_t critical) {
  for (auto& value : values) { value -= shift; }
  double positive = 0;
  double negative = 0;
  for (auto const value : values) {
    double rank = 0.5;
    for (auto const other : values) {
      rank += std::abs(other) < std::abs(value) ? 1 : std::abs(other) == std::abs(value) ? 0.5 : 0;
    }
    (value > 0 ? positive : negative) += rank;
  }
  return std::min(positive, negative) <= static_cast<double>(critical);
}

}  // namespace

TEST_CASE("critical values are those of the published tables") {
  // Two-sided 5 % and 1 %, as the tables at the end of statistics textbooks have them.
  std::vector<int> const five{0,  2,  3,  5,  8,  10, 13, 17, 21, 25,
                              29, 34, 40, 46, 52, 58, 65, 73, 81, 89};
  for (int n = 6; n <= 25; ++n) {
    INFO("n = " << n);
    CHECK(signed_rank_critical_value(n, 0.05) == five[static_cast<std::size_t>(n - 6)]);
  }
  std::vector<int> const one{0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37, 42, 48, 54, 61, 68};
  for (int n = 8; n <= 25; ++n) {
    INFO("n = " << n);
    CHECK(signed_rank_critical_value(n, 0.01) == one[static_cast<std::size_t>(n - 8)]);
  }
  CHECK(signed_rank_critical_value(50, 0.05) == 434);
  CHECK(signed_rank_critical_value(5, 0.05) == -1);
  CHECK(signed_rank_critical_value(7, 0.01) == -1);
}

TEST_CASE("the law equals the count over all sign patterns") {
  for (int n = 0; n <= 12; ++n) {
    auto const law = signed_rank_distribution(n);
    std::vector<double> counted(law.size(), 0);
    for (unsigned signs = 0; signs < (1U << static_cast<unsigned>(n)); ++signs) {
      std::size_t sum = 0;
      for (int i = 0; i < n; ++i) {
        if ((signs >> static_cast<unsigned>(i) & 1U) != 0) {
          sum += static_cast<std::size_t>(i) + 1;
        }
      }
      counted[sum] += std::ldexp(1.0, -n);
    }
    std::partial_sum(counted.begin(), counted.end(), counted.begin());
    CHECK(law == counted);
  }
}

TEST_CASE("the law is monotone and ends at 1 for 64 values and more") {
  for (int const n : {64, 200}) {
    auto const law = signed_rank_distribution(n);
    CHECK(std::is_sorted(law.begin(), law.end()));
    CHECK(law.back() == Approx(1).epsilon(1e-12));
    // Symmetry: P(T <= t) = 1 - P(T <= top - t - 1).
    auto const top = law.size() - 1;
    for (std::size_t t = 0; t < top; t += 37) {
      CHECK(law[t] == Approx(1 - law[top - t - 1]).margin(1e-12));
    }
  }
}

TEST_CASE("an attained level is never above the one asked for, and the next would be") {
  for (int n = 6; n <= 40; ++n) {
    for (double const alpha : {0.2, 0.05, 0.01, 0.002}) {
      auto const law = signed_rank_distribution(n);
      auto const c = signed_rank_critical_value(n, alpha);
      if (c >= 0) { CHECK(law[static_cast<std::size_t>(c)] <= alpha / 2); }
      CHECK(law[static_cast<std::size_t>(c + 1)] > alpha / 2);
    }
  }
}

TEST_CASE("the interval holds exactly the shifts that the test accepts") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (int round = 0; round < 200; ++round) {
    auto const n = static_cast<std::size_t>(6 + from.below(20));
    std::vector<double> values(n);
    for (auto& value : values) { value = std::tan(3.0 * (uniform(from) - 0.5)); }
    double const alpha = 0.002 + 0.2 * uniform(from);
    auto const critical = signed_rank_critical_value(static_cast<int>(n), alpha);
    auto const found = signed_rank_interval(values, critical);
    for (int probe = 0; probe < 20; ++probe) {
      double const shift = found.estimate + 4 * (uniform(from) - 0.5);
      bool const inside = shift >= found.low && shift <= found.high;
      CHECK(rejects(values, shift, critical) == !inside);
    }
    if (critical >= 0) {  // and right beside its ends
      double const hair = 1e-9;
      CHECK(rejects(values, found.low - hair, critical));
      CHECK_FALSE(rejects(values, found.low + hair, critical));
      CHECK(rejects(values, found.high + hair, critical));
      CHECK_FALSE(rejects(values, found.high - hair, critical));
    }
  }
}

TEST_CASE(
    "zeros and ties stay in, and the interval is closed: identical variants are never different") {
  std::vector<double> const zeros(24, 0.0);
  auto const all_zero = signed_rank_interval(zeros, signed_rank_critical_value(24, 0.05));
  CHECK(all_zero.low == 0);
  CHECK(all_zero.high == 0);
  CHECK_FALSE(all_zero.excludes(0));

  // Seven positive ticks and one zero: the zero could be either sign, so 8 epochs prove nothing.
  std::vector<double> const ticks{0, 1, 1, 1, 1, 1, 1, 1};
  CHECK_FALSE(signed_rank_interval(ticks, 0).excludes(0));
  std::vector<double> const all_up{1, 1, 1, 1, 1, 1, 1, 1};
  CHECK(signed_rank_interval(all_up, 0).excludes(0));
}

TEST_CASE("negated values give the negated interval, bit for bit, and shifted ones the shifted") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (std::size_t n = 1; n <= 30; ++n) {
    std::vector<double> values(n);
    std::vector<double> negated(n);
    std::vector<double> shifted(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<double>(from.below(1000)) - 500;  // integers shift without rounding
      negated[i] = -values[i];
      shifted[i] = values[i] + 12;
    }
    auto const critical = signed_rank_critical_value(static_cast<int>(n), 0.1);
    auto const straight = signed_rank_interval(values, critical);
    auto const mirrored = signed_rank_interval(negated, critical);
    auto const moved = signed_rank_interval(shifted, critical);
    CHECK(mirrored.low == -straight.high);
    CHECK(mirrored.estimate == -straight.estimate);
    CHECK(mirrored.high == -straight.low);
    CHECK(moved.low == straight.low + 12);
    CHECK(moved.estimate == straight.estimate + 12);
  }
}

TEST_CASE("too few values for a level give an estimate and no bounds") {
  std::vector<double> const values{1, 2, 4};
  auto const found = signed_rank_interval(values, signed_rank_critical_value(3, 0.05));
  CHECK(std::isinf(found.low));
  CHECK(std::isinf(found.high));
  CHECK_FALSE(found.excludes(0));
  CHECK_FALSE(found.inside(1e300));
  CHECK(found.estimate == Approx(2.25));  // Walsh: 1 1.5 2 2.5 3 4
}

TEST_CASE("an interval knows its half-width, and the values inside and outside") {
  interval const found{-1, 0.5, 3};
  CHECK(found.half_width() == 2);
  CHECK(found.inside(3.5));
  CHECK_FALSE(found.inside(3));  // its own end is not inside
  CHECK(found.excludes(3.5));
  CHECK_FALSE(found.excludes(3));
  CHECK_FALSE(found.excludes(-1));
}

TEST_CASE("critical values of large samples are those of the exact law, but for one rank") {
  for (int const n : {193, 250, 400, 700}) {
    auto const law = signed_rank_distribution(n);
    for (double const alpha : {0.9, 0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-8}) {
      INFO("n = " << n << ", alpha = " << alpha);
      auto const above = std::upper_bound(law.begin(), law.end(), alpha / 2);
      auto const exact = above - law.begin() - 1;
      auto const found = signed_rank_critical_value(n, alpha);
      CHECK(std::abs(found - exact) <= 1);
      CHECK(2 * law.at(static_cast<std::size_t>(found)) < 1.01 * alpha);
    }
  }
  // Farther out the test may only be more careful.
  auto const law = signed_rank_distribution(200);
  for (double const alpha : {1e-10, 1e-15, 1e-30}) {
    auto const found = signed_rank_critical_value(200, alpha);
    REQUIRE(found >= 0);
    CHECK(2 * law.at(static_cast<std::size_t>(found)) <= alpha);
  }
  CHECK(signed_rank_critical_value(200, 1e-300) == -1);  // equal signs have 2^-199
  CHECK(signed_rank_critical_value(100'000, 0.05) ==
        Approx(0.25 * 1e5 * 100'001 - 1.959964 * std::sqrt(1e5 * 100'001 * 200'001 / 24))
            .epsilon(1e-7));
}

TEST_CASE("order statistics are those of all Walsh averages, sorted") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  for (std::size_t const n : {1UL, 2UL, 7UL, 64UL, 192UL, 193UL, 300UL}) {
    for (bool const ties : {false, true}) {
      std::vector<double> values(n);
      for (auto& each : values) {
        each = ties ? static_cast<double>(from.below(5)) - 2 : std::tan(3 * (uniform(from) - 0.5));
      }
      std::vector<double> averages;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i; j < n; ++j) { averages.push_back(0.5 * (values[i] + values[j])); }
      }
      std::sort(averages.begin(), averages.end());
      auto const size = averages.size();
      auto const c = from.below((size + 1) / 2);
      auto const found = signed_rank_interval(values, static_cast<std::int64_t>(c));
      CHECK(found.low == averages[c]);
      CHECK(found.estimate == 0.5 * (averages[(size - 1) / 2] + averages[size / 2]));
      CHECK(found.high == averages[size - 1 - c]);
    }
  }
}

TEST_CASE("an attained level is twice the law at the critical value, or the level asked for") {
  CHECK(attained_level(8, 0, 0.01) == std::ldexp(2.0, -8));
  CHECK(attained_level(193, signed_rank_critical_value(193, 0.01), 0.01) == 0.01);
}

TEST_CASE("invalid arguments are refused, naming the value") {
  CHECK_THROWS_WITH(signed_rank_critical_value(-7, 0.05),
                    assay::test::contains("0 or more values, not -7"));
  CHECK_THROWS_WITH(signed_rank_distribution(-1),
                    assay::test::contains("0 or more values, not -1"));
  CHECK_THROWS_WITH(signed_rank_critical_value(8, 0.0), assay::test::contains("level"));
  CHECK_THROWS_WITH(signed_rank_critical_value(8, 1.0), assay::test::contains("not 1"));
  CHECK_THROWS_WITH(signed_rank_critical_value(8, 1.5), assay::test::contains("1.5"));
  std::vector<double> const none;
  CHECK_THROWS_WITH(signed_rank_interval(none, 0), assay::test::contains("1 value"));
  std::vector<double> const one{1};
  CHECK_THROWS_WITH(signed_rank_interval(one, 1), assay::test::contains("critical value 1"));
}
