// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Intervals to verdicts, and when to stop.
#include <assay/stats/classify.hpp>
#include <assay/stats/random_source.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace assay::stats;

namespace {
interval between(double low, double high) { return {low, 0.5 * (low + high), high}; }
constexpr double infinite = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("an interval says what it excludes") {
  struct expected {
    double low, high;
    verdict outcome;
    bool exceeds_margin, beyond = false;
  };
  // With a margin of 1 %, which is 0.00995 on the log scale.
  std::vector<expected> const table{
      {0.011, 0.020, verdict::slower, true, true},
      {-0.020, -0.011, verdict::faster, true, true},
      {0.002, 0.004, verdict::slower, false},
      {-0.004, -0.002, verdict::faster, false},
      {0.005, 0.015, verdict::slower, true},
      {-0.004, 0.004, verdict::equivalent, true},
      {-0.004, 0.00996, verdict::inconclusive, true},
      {-0.00996, 0.004, verdict::inconclusive, true},
      {0, 0.004, verdict::equivalent, true},
      {0, 0.02, verdict::inconclusive, true},
      {-infinite, infinite, verdict::inconclusive, true},
      {0, 0, verdict::equivalent, true},
  };
  for (auto const& row : table) {
    INFO(row.low << " " << row.high);
    auto const found = classify(between(row.low, row.high), 0.01);
    CHECK(found.outcome == row.outcome);
    CHECK(found.exceeds_margin == row.exceeds_margin);
    CHECK(found.beyond_margin == row.beyond);
  }
}

TEST_CASE("the margin is a ratio, the same up and down") {
  double const hair = 1e-9;
  double const bound = std::log(1.01);
  CHECK(classify(between(-bound + hair, bound - hair), 0.01).outcome == verdict::equivalent);
  CHECK(classify(between(-bound, bound - hair), 0.01).outcome == verdict::inconclusive);
  CHECK(classify(between(-bound + hair, bound), 0.01).outcome == verdict::inconclusive);
}

TEST_CASE("epoch effects are classified at the level of the analysis") {
  std::vector<double> const up{.02, .021, .019, .02, .022, .018, .02, .02};
  auto const found = classify(up, {8, 0.01, 0}, 0.01);
  CHECK(found.outcome == verdict::slower);
  CHECK(found.effect.low == 0.018);
  CHECK(found.effect.high == 0.022);
  auto one_down = up;
  one_down[3] = -0.02;
  CHECK(classify(one_down, {8, 0.01, 0}, 0.01).outcome == verdict::inconclusive);
}

TEST_CASE("a comparison stops at a sign, and at equivalence unless a sign is wanted") {
  for (bool const run_until_sign : {false, true}) {
    CHECK(settled(classify(between(0.01, 0.02), 0.01), run_until_sign));
    CHECK(settled(classify(between(-0.02, -0.01), 0.01), run_until_sign));
    CHECK(settled(classify(between(-0.001, 0.002), 0.01), run_until_sign) == !run_until_sign);
    CHECK_FALSE(settled(classify(between(-0.1, 0.2), 0.01), run_until_sign));
  }
}

TEST_CASE("a comparison may run on until its interval lies in the margin or beyond it") {
  for (bool const run_until_sign : {false, true}) {
    auto const done = [&](double low, double high) {
      return settled(classify(between(low, high), 0.01), run_until_sign, true);
    };
    CHECK(done(0.011, 0.02));
    CHECK(done(-0.02, -0.011));
    CHECK(done(0.001, 0.009));
    CHECK_FALSE(done(0.009, 0.011));
    CHECK_FALSE(done(-0.011, -0.001));
    CHECK_FALSE(done(-0.1, 0.2));
    CHECK(done(-0.001, 0.002) == !run_until_sign);
  }
}

TEST_CASE("epochs_to_settle follows from the root law and the nearer end") {
  // Half-width 0.02 at 24 epochs, effect 0.008: 0 is 0.008 away, and four chances in five need
  // 1.317 half-widths: (1.317 * 20 / 8)^2 * 24 = 260.2.
  classification const wide{verdict::inconclusive, true, {-0.012, 0.008, 0.028}};
  CHECK(epochs_to_settle(wide, 24, 0.01, true) == 261);
  CHECK(epochs_to_settle(wide, 24, 0.01, false) == 261);
  // Effect 0: only the margin can be reached, (1.484 * 20 / 9.95)^2 * 24 = 213.5, as both ends
  // have to fit; a sign never.
  classification const null{verdict::inconclusive, true, {-0.02, 0, 0.02}};
  CHECK(epochs_to_settle(null, 24, 0.01, false) == 214);
  CHECK(epochs_to_settle(null, 24, 0.01, true) == 0);
  // Nothing is known from no bounds, nor of a number beyond a million; and never fewer than one
  // more.
  CHECK(epochs_to_settle({verdict::inconclusive, true, {-infinite, 0.01, infinite}}, 6, .01,
                         false) == 0);
  CHECK(epochs_to_settle({verdict::inconclusive, true, {-0.1, 1e-5, 0.1}}, 24, .01, true) == 0);
  CHECK(epochs_to_settle({verdict::inconclusive, true, {-0.001, 0.009, 0.011}}, 24, .01, false) ==
        25);
}

TEST_CASE("epochs_to_settle is enough in four cases of five") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  random_source from{seed};
  auto const normal = [&] {  // a sum of 12 uniforms, less 6
    double sum = -6;
    for (int i = 0; i < 12; ++i) { sum += static_cast<double>(from.next() >> 11U) * 0x1p-53; }
    return sum;
  };
  constexpr double spread = 0.02;
  constexpr double level = 0.008;  // one analysis among several
  constexpr int runs = 2000;
  struct expected {
    double truth;
    bool run_until_sign;
  };
  for (auto const& row : {expected{0.009, true}, expected{-0.007, true}, expected{0, false},
                          expected{0.001, false}, expected{-0.002, false}}) {
    // The interval that 48 such epochs give on average.
    double half = 0;
    auto const critical = signed_rank_critical_value(48, level);
    for (int i = 0; i < 200; ++i) {
      std::vector<double> effects(48);
      for (auto& each : effects) { each = spread * normal(); }
      half += signed_rank_interval(effects, critical).half_width() / 200;
    }
    classification const now{
        verdict::inconclusive, true, {row.truth - half, row.truth, row.truth + half}};
    int const needed = epochs_to_settle(now, 48, 0.01, row.run_until_sign);
    REQUIRE(needed > 48);
    REQUIRE(needed < most_epochs);
    interim_analysis const at{needed, level,
                              static_cast<int>(signed_rank_critical_value(needed, level))};
    int done = 0;
    for (int i = 0; i < runs; ++i) {
      std::vector<double> effects(static_cast<std::size_t>(needed));
      for (auto& each : effects) { each = row.truth + spread * normal(); }
      done += settled(classify(effects, at, 0.01), row.run_until_sign);
    }
    INFO("truth " << row.truth << ", epochs " << needed << ", settled " << done);
    // Standard error 0.9 %; the signed rank is wider for fewer epochs, and where both a sign and
    // the margin are near, either settles it.
    CHECK(done > 0.75 * runs);
    CHECK(done < 0.90 * runs);
  }
}

TEST_CASE("a fixed sample is classified at one level, and refused where not finite") {
  std::vector<double> const slower{0.05, 0.06, 0.04, 0.05, 0.07, 0.05};
  CHECK(classify(slower, 0.01, 0.05).outcome == verdict::slower);
  CHECK(classify(slower, 0.01, 0.01).outcome == verdict::inconclusive);  // 6 signs prove .03
  std::vector<double> broken = slower;
  broken[2] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(classify(broken, 0.01, 0.05), assay::test::contains("effect 2 is nan"));
  CHECK_THROWS_WITH(classify(slower, -1, 0.05), assay::test::contains("a margin is positive"));
}

TEST_CASE("a hundred thousand own effects are classified, as a few are") {
  // A parabola of quantiles about 0.02: symmetric, and its Walsh averages are known to be too.
  constexpr int n = 100'000;
  std::vector<double> effects(n);
  for (int i = 0; i < n; ++i) {
    effects[static_cast<std::size_t>(i)] = 0.02 + 0.5 * ((i + 0.5) / n - 0.5);
  }
  auto const found = classify(effects, 0.01, 0.05);
  CHECK(found.outcome == verdict::slower);
  CHECK(found.effect.estimate == Approx(0.02).epsilon(1e-9));
  // The interval of a uniform law of this width has the half-width 1.96 * 0.5 / sqrt(12 n).
  CHECK(found.effect.half_width() == Approx(1.96 * 0.5 / std::sqrt(12.0 * n)).epsilon(0.01));
}
