// SPDX-License-Identifier: Apache-2.0
/// @file
/// Intervals to verdicts, and when to stop.
#include <assay/stats/classify.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

using namespace assay::measure;

namespace {
interval between(double low, double high) { return {low, 0.5 * (low + high), high}; }
constexpr double infinite = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("an interval says what it excludes") {
  struct expected {
    double low, high;
    verdict outcome;
    bool material;
  };
  // With a margin of 1 %, which is 0.00995 on the log scale.
  std::vector<expected> const table{
      {0.011, 0.020, verdict::slower, true},
      {-0.020, -0.011, verdict::faster, true},
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
  }
}

TEST_CASE("the margin is a ratio, the same up and down") {
  double const hair = 1e-9;
  double const bound = std::log(1.01);
  CHECK(classify(between(-bound + hair, bound - hair), 0.01).outcome == verdict::equivalent);
  CHECK(classify(between(-bound, bound - hair), 0.01).outcome == verdict::inconclusive);
  CHECK(classify(between(-bound + hair, bound), 0.01).outcome == verdict::inconclusive);
}

TEST_CASE("epoch effects are judged at the look's own level") {
  std::vector<double> const up{.02, .021, .019, .02, .022, .018, .02, .02};
  auto const found = judge(up, {8, 0.01, 0}, 0.01);
  CHECK(found.outcome == verdict::slower);
  CHECK(found.effect.low == 0.018);
  CHECK(found.effect.high == 0.022);
  auto one_down = up;
  one_down[3] = -0.02;
  CHECK(judge(one_down, {8, 0.01, 0}, 0.01).outcome == verdict::inconclusive);
}

TEST_CASE("a comparison stops at a sign, and at equivalence unless a sign is wanted") {
  for (bool const resolve : {false, true}) {
    CHECK(settled(classify(between(0.01, 0.02), 0.01), resolve));
    CHECK(settled(classify(between(-0.02, -0.01), 0.01), resolve));
    CHECK(settled(classify(between(-0.001, 0.002), 0.01), resolve) == !resolve);
    CHECK_FALSE(settled(classify(between(-0.1, 0.2), 0.01), resolve));
  }
}

TEST_CASE("the epochs still needed follow from the root law, towards whichever end is nearer") {
  // Half-width 0.02 at 24 epochs, effect 0.008: zero is excluded at 0.008, so (20/8)^2 * 24 = 150.
  judgement const wide{verdict::inconclusive, true, {-0.012, 0.008, 0.028}};
  CHECK(epochs_to_settle(wide, 24, 0.01, true) == 150);
  CHECK(epochs_to_settle(wide, 24, 0.01, false) == 150);
  // Effect 0: only the margin can be reached, (20 / 9.95)^2 * 24 = 96.97; a sign never.
  judgement const null{verdict::inconclusive, true, {-0.02, 0, 0.02}};
  CHECK(epochs_to_settle(null, 24, 0.01, false) == 97);
  CHECK(epochs_to_settle(null, 24, 0.01, true) == 0);
  // Nothing is known from no bounds, and never fewer than one more.
  CHECK(epochs_to_settle({verdict::inconclusive, true, {-infinite, 0.01, infinite}}, 6, .01,
                         false) == 0);
  CHECK(epochs_to_settle({verdict::inconclusive, true, {-0.001, 0.009, 0.011}}, 24, .01, false) ==
        25);
}

TEST_CASE("ratios are exponentials of the log interval, and no bound stays no bound") {
  auto const ratio = to_estimate({std::log(0.9), 0, std::log(1.2)}, 0.95);
  CHECK(ratio.low == Approx(0.9));
  CHECK(ratio.ratio == 1);
  CHECK(ratio.high == Approx(1.2));
  CHECK(ratio.confidence == 0.95);
  auto const open = to_estimate({-infinite, 0, infinite}, 0.95);
  CHECK(open.low == 0);
  CHECK(std::isinf(open.high));
}
