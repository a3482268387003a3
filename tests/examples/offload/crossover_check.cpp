// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "dispatch/synthetic_machine.hpp"

#include "offload/crossover_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

using namespace assay;
using examples::check_crossover;
using examples::crossover;

namespace {

dispatch::size_range const range{1, 1 << 20};

/// A prediction of crossings at these sizes.
crossover predicted(std::vector<double> const& sizes, bool second_wins_first = false) {
  crossover made{on::host{1}, on::host{4}, true, second_wins_first};
  for (double const each : sizes) { made.crossings.push_back({each, each / 1.1, each * 1.1}); }
  return made;
}

/// log2 of n ns over a time that does not depend on n: they cross at `size`.
auto crossing_at(double size) {
  return [size](std::size_t n) { return std::log2(static_cast<double>(n) / size); };
}

}  // namespace

TEST_CASE("bisection finds a crossing near a prediction and far from one", "[dispatch]") {
  for (double const truth : {2.0, 7.0, 997.5, 12'345.0, 900'000.0}) {
    for (double const off : {1.0, 1.03, 0.7, 1.6, 0.1, 9.0}) {
      double const said = std::clamp(std::round(truth * off), 1.0, double{1 << 20});
      auto const found = check_crossover(predicted({said}), range, 1, crossing_at(truth));
      INFO("true " << truth << ", predicted " << said);
      REQUIRE(found.crossings.size() == 1);
      auto const& each = found.crossings[0];
      CHECK(each.measured == Approx(truth).epsilon(truth < 100 ? 0.1 : 0.005));
      CHECK(each.low <= truth);
      CHECK(each.high >= truth);
      CHECK(each.error() == Approx(std::abs(said / each.measured - 1)));
      CHECK(found.right);
      CHECK(found.sizes <= (off == 1.03 ? 8 : 20));
    }
  }
}

TEST_CASE("a crossing is refined by a line through sizes around it", "[dispatch]") {
  auto const refined = [](double bisected, double truth, double noise) {
    examples::crossover_check made{.predicted = predicted({5'000})};
    made.crossings.push_back(
        {.predicted = {.size = 5'000}, .measured = bisected, .low = bisected, .high = bisected});
    refine(made, range, [&](std::vector<std::size_t> const& sizes) {
      std::vector<double> seen;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        double const off = i % 2 == 0 ? noise : -noise;
        seen.push_back(0.7 * std::log2(static_cast<double>(sizes[i]) / truth) + off);
      }
      return seen;
    });
    auto const& found = made.crossings[0];
    CHECK((found.low <= found.measured && found.measured <= found.high));
    return found.measured;
  };
  CHECK(refined(5'500, 5'000, 0) == Approx(5'000).epsilon(0.001));
  CHECK(refined(5'500, 5'000, 0.05) == Approx(5'000).epsilon(0.02));
  CHECK(refined(9'000, 5'000, 0) == 9'000);  // beyond the sizes around it
  CHECK(refined(1, 1, 0) == 1);              // one size makes no line
  CHECK(refined(0, 5'000, 0) == 0);          // none was found
}

TEST_CASE("a crossing that is not there is told", "[dispatch]") {
  int timed = 0;
  auto const always_first = [&](std::size_t) { return ++timed, -1.0; };
  auto const found = check_crossover(predicted({5'000}), range, 1, always_first);
  CHECK_FALSE(found.right);
  CHECK(found.crossings[0].measured == 0);
  CHECK(std::isinf(found.crossings[0].error()));
  CHECK(found.sizes == timed);
  CHECK(timed < 30);
  auto const always_second = [](std::size_t) { return 0.0; };  // log2(1): no endless search
  CHECK_FALSE(check_crossover(predicted({5'000}), range, 1, always_second).right);
}

TEST_CASE("several crossings are each looked for in their part of the range", "[dispatch]") {
  // The second path wins below 100, the first up to 10000, and the second above.
  auto const ratio = [](std::size_t size) {
    auto const n = static_cast<double>(size);
    return n < 1'000 ? std::log2(100 / n) : std::log2(n / 10'000);
  };
  auto const found = check_crossover(predicted({120, 9'000}, true), range, 1, ratio);
  REQUIRE(found.crossings.size() == 2);
  CHECK(found.crossings[0].measured == Approx(100).epsilon(0.01));
  CHECK(found.crossings[1].measured == Approx(10'000).epsilon(0.01));
  CHECK(found.right);
}

TEST_CASE("never and always are checked at the ends and where the paths are nearest",
          "[dispatch]") {
  auto const never = predicted({});
  auto const always = predicted({}, true);
  std::vector<std::size_t> timed;
  auto const first_wins = [&](std::size_t size) {
    timed.push_back(size);
    return -1.0;
  };
  CHECK(check_crossover(never, range, 300, first_wins).right);
  CHECK(timed == std::vector<std::size_t>{1, 300, 1 << 20});
  CHECK_FALSE(check_crossover(always, range, 300, first_wins).right);
  for (std::size_t const wrong_at : timed) {
    auto const ratio = [&](std::size_t size) { return size == wrong_at ? 0.5 : -0.5; };
    CHECK_FALSE(check_crossover(never, range, 300, ratio).right);
    auto const tied = [&](std::size_t size) { return size == wrong_at ? 0.03 : -0.5; };
    CHECK(check_crossover(never, range, 300, tied).right);
  }
  crossover unknown = predicted({});
  unknown.known = false;
  CHECK(check_crossover(unknown, range, 300, first_wins).right);
  CHECK(check_crossover(unknown, range, 300, first_wins).sizes == 0);
}

TEST_CASE("the nearest size is where the predicted times differ least", "[dispatch]") {
  dispatch::costs const of{test::saxpy_measurements()};  // they cross at 8000
  auto const found = examples::nearest_size(of, 0, 1, dispatch::facts_of_size);
  CHECK(found >= 4096);
  CHECK(found <= 16384);
}

TEST_CASE("predicted crossovers of simulated machines are close to bisected ones", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  std::vector<double> off_truth, off_prediction;
  for (std::uint64_t m = 0; m < 60; ++m) {
    test::synthetic_machine machine{stats::derive_seed(seed, m)};
    auto const costs = machine.calibrated(seed + m + 1);
    auto const said = examples::find_crossover(costs, on::host{1}, on::host{16});
    if (said.crossings.size() != 1 || said.doubtful || !(said.crossings[0].low > 0)) { continue; }
    stats::random_source random{seed + m};
    auto const found = check_crossover(said, {16, 1 << 24}, 1, [&](std::size_t size) {
      return examples::timed_ratios(machine, 0, 2, {size}, 15, 0, random).front();
    });
    REQUIRE(found.crossings.size() == 1);
    if (found.crossings[0].measured == 0) { continue; }
    // The truth, by halving.
    double low = 16, high = 1 << 24;
    while (high / low > 1.0001) {
      double const middle = std::sqrt(low * high);
      (machine.truth[0](middle) < machine.truth[2](middle) ? low : high) = middle;
    }
    off_truth.push_back(std::abs(found.crossings[0].measured / low - 1));
    off_prediction.push_back(found.crossings[0].error());
  }
  REQUIRE(off_truth.size() > 20);
  auto const median = [](std::vector<double> of) { return stats::summarise(std::move(of)).median; };
  std::cout << off_truth.size() << " machines: bisection is off by " << 100 * median(off_truth)
            << " %, predictions by " << 100 * median(off_prediction) << " % of bisection\n";
  CHECK(median(off_truth) < 0.03);
  CHECK(median(off_prediction) < 0.12);  // curves of twelve knots bend between them
}
