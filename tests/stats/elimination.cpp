// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sign bets of a race: they are fair, they may be looked at after each epoch, and they need no
/// equal variances.

#include "catch.hpp"

#include <assay/stats/elimination.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace assay;
using stats::elimination;
using stats::log_sign_evidence;

namespace {

double uniform(stats::random_source& from) {
  return (static_cast<double>(from.next() >> 11U) + 0.5) * 0x1p-53;
}

/// A symmetric law with heavy tails, and no mean.
double cauchy(stats::random_source& from) { return std::tan(3.14159265 * (uniform(from) - 0.5)); }

std::vector<double> zeros(std::size_t count) { return std::vector<double>(count, 0.0); }

}  // namespace

TEST_CASE("a bet is fair: the mean wealth after a fair sign is the wealth before it") {
  for (int above = 0; above < 40; ++above) {
    for (int below = 0; below < 40; ++below) {
      double const before = std::exp(log_sign_evidence(above, below));
      double const up = std::exp(log_sign_evidence(above + 1, below));
      double const down = std::exp(log_sign_evidence(above, below + 1));
      INFO(above << " above, " << below << " below");
      CHECK((up + down) / 2 == Approx(before).epsilon(1e-9));
    }
  }
  CHECK(log_sign_evidence(0, 0) == Approx(0).margin(1e-12));
}

TEST_CASE("the evidence is the integral over all bets from 1/2 to 1") {
  for (auto const& [above, below] : {std::pair{7, 2}, {2, 7}, {30, 12}}) {
    double sum = 0;
    constexpr int steps = 200'000;
    for (int i = 0; i < steps; ++i) {
      double const q = 0.5 + 0.5 * (i + 0.5) / steps;
      sum += std::pow(2 * q, above) * std::pow(2 * (1 - q), below) / steps;
    }
    CHECK(std::exp(log_sign_evidence(above, below)) == Approx(0.5 * sum).epsilon(1e-6));
  }
}

TEST_CASE("fair signs give evidence of 40 in at most one sequence of 40, looked at every time") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source coins{seed};
  constexpr int runs = 20'000;
  int reached = 0;
  for (int run = 0; run < runs; ++run) {
    int above = 0;
    for (int n = 1; n <= 100; ++n) {
      above += coins.flip() ? 1 : 0;
      if (log_sign_evidence(above, n - above) < std::log(40)) { continue; }
      ++reached;
      break;
    }
  }
  CHECK(reached <= runs / 40.0 + 4.5 * std::sqrt(runs / 40.0));
  CHECK(reached > runs / 200.0);  // the test has teeth: the bound is used
}

TEST_CASE("48 candidates need six epochs, as two do") {
  std::vector<double> times;
  for (int i = 0; i < 48; ++i) { times.push_back(0.03 * i); }
  elimination race{times, 0.05, 0.01};
  for (int epoch = 0; epoch < 5; ++epoch) { race.add_epoch(times); }
  CHECK(race.left() == 48);
  CHECK_FALSE(race.decided());
  race.add_epoch(times);
  CHECK(race.left() == 1);
  CHECK(race.leader() == 0);
  CHECK(race.decided());
  CHECK(race.slower(47) == 6);
}

TEST_CASE("each epoch adds one sign against the leader of the epochs before, and a tie adds none") {
  elimination race{{0, 1, 2}, 0.05, 0.01};
  race.add_epoch({0, -1, 2});  // the second is faster than the first, which led
  CHECK(race.slower(0) == 1);
  CHECK(race.faster(1) == 1);
  CHECK(race.slower(2) == 1);
  CHECK(race.leader() == 1);
  race.add_epoch({5, 0, 0});  // the second leads now
  CHECK(race.slower(0) == 2);
  CHECK(race.faster(1) == 2);
  CHECK(race.slower(2) == 1);
  CHECK(race.faster(2) == 0);
  CHECK(race.log_evidence(0) == Approx(log_sign_evidence(2, 0)));
}

TEST_CASE("the leader is faster in most epochs, however slow it is in the others") {
  elimination race{zeros(2), 0.05, 0.01};
  for (int epoch = 0; epoch < 10; ++epoch) { race.add_epoch({0, epoch < 3 ? 1.0 : -0.01}); }
  CHECK(race.leader() == 1);
}

TEST_CASE("candidates within the margin are bounded and stay") {
  std::vector<double> const times{0, 0.004, 0.2};
  elimination race{times, 0.05, 0.01};
  // The second is slower in every other epoch only.
  for (int epoch = 0; epoch < 8 && !race.decided(); ++epoch) {
    race.add_epoch({0, epoch % 2 == 0 ? 0.004 : -0.004, 0.2});
  }
  CHECK(race.decided());
  CHECK(race.left() == 2);
  CHECK(race.bounded(0) == race.bounded(1));
}

TEST_CASE("a best candidate is seldom dropped, whatever the laws of the others are") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source coins{seed};
  constexpr int runs = 2000;
  int dropped = 0;
  for (int run = 0; run < runs; ++run) {
    // All have the same median. The first one's noise is 30 times that of the others.
    elimination race{zeros(12), 0.05, 0.01};
    for (int epoch = 0; epoch < 60; ++epoch) {
      std::vector<double> times;
      for (int i = 0; i < 12; ++i) { times.push_back((i == 0 ? 0.03 : 0.001) * cauchy(coins)); }
      race.add_epoch(times);
    }
    dropped += race.racing(0) ? 0 : 1;
  }
  CHECK(dropped <= 0.025 * runs + 4.5 * std::sqrt(0.025 * runs));
}

TEST_CASE("equal times say nothing, and the last one is never dropped") {
  elimination race{zeros(3), 0.05, 0.01};
  for (int epoch = 0; epoch < 30; ++epoch) { race.add_epoch(zeros(3)); }
  CHECK(race.left() == 3);
  CHECK(race.decided());
}

TEST_CASE("a candidate that others were held against cannot leave without its epochs") {
  elimination race{{0, 1, 2, std::numeric_limits<double>::quiet_NaN()}, 0.05, 0.01};
  CHECK(race.left() == 3);
  race.add_epoch({0, 1, 2, 0});
  CHECK(race.has_led(0));
  CHECK_FALSE(race.has_led(2));
  race.remove(2);
  CHECK(race.left() == 2);
  CHECK_THROWS_AS(race.remove(0), std::logic_error);
}

TEST_CASE("levels and margins out of range are named") {
  CHECK_THROWS_WITH((elimination{zeros(2), 1.5, 0.01}), "alpha lies between 0 and 1, not 1.5");
  CHECK_THROWS_WITH((elimination{zeros(2), 0.05, -1}), "a margin is positive, not -1");
}
