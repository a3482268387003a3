// SPDX-License-Identifier: Apache-2.0
/// @file
/// The rules of other tools decide as published, and what drift does to them.
#include "../../benchmarks/support/rules.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"
#include "measure/simulator.hpp"

using namespace assay::benchmark;
using rules::answer;
using rules::sample;

namespace {

sample scaled(sample times, double by) {
  for (auto& time : times) { time *= by; }
  return times;
}

/// Share of comparisons of equal arms, each timed in one go, in which a rule claims a difference.
std::map<std::string, double> false_claims(assay::test::noise const& what, std::uint64_t seed) {
  int const runs = 200;
  std::map<std::string, double> claims;
  for (std::uint64_t i = 0; i < runs; ++i) {
    assay::test::world machine{what, assay::measure::derive_seed(seed, i)};
    sample arms[2];
    for (auto& arm : arms) {
      machine.begin_epoch();  // a process of its own
      for (int n = 0; n < 900; ++n) { arm.push_back(std::exp(machine.launch(0, 0))); }
    }
    for (auto const& [name, judge] : rules::all) {
      auto const said = judge(arms[0], arms[1]);
      claims[std::string{name}] +=
          (said == answer::faster || said == answer::slower) / double{runs};
    }
  }
  return claims;
}

}  // namespace

TEST_CASE("nvbench's old rule weighs the difference of means by the smaller deviation") {
  sample const narrow{0.99, 1.0, 1.01};  // relative deviation 1 %
  sample const wide{0.9, 1.0, 1.1};
  CHECK(rules::nvbench_legacy(narrow, scaled(narrow, 1.0099)) == answer::same);
  CHECK(rules::nvbench_legacy(narrow, scaled(narrow, 1.0101)) == answer::slower);
  CHECK(rules::nvbench_legacy(narrow, scaled(narrow, 0.98)) == answer::faster);
  CHECK(rules::nvbench_legacy(wide, scaled(narrow, 1.02)) == answer::slower);  // the smaller one
}

TEST_CASE("nvbench's robust rule wants intervals apart, or samples that cover each other") {
  sample const times{1.000, 1.001, 1.002, 1.003, 1.004};  // third quartile 1.003
  CHECK(rules::nvbench_robust(times, times) == answer::same);
  CHECK(rules::nvbench_robust(times, scaled(times, 1.0081)) == answer::slower);
  CHECK(rules::nvbench_robust(scaled(times, 1.0081), times) == answer::faster);
  CHECK(rules::nvbench_robust(times, scaled(times, 1.0079)) == answer::undecided);
  CHECK(rules::nvbench_robust(times, scaled(times, 1.0004)) == answer::same);
  sample stray = times;
  stray.push_back(1.2);  // one in six is not covered
  CHECK(rules::nvbench_robust(times, stray) == answer::undecided);
}

TEST_CASE("coverage counts values with a neighbour, above or below") {
  sample const others{1.0, 2.0};
  CHECK(rules::coverage({1.004, 0.996, 1.5, 2.1}, others, 0.005) == 0.5);
  CHECK(rules::coverage({3.0}, others, 0.5) == 1);
}

TEST_CASE("Welch's test has the textbook's critical values") {
  // Equal variances, 2 x 6 values: 10 degrees of freedom, critical 2.228 (2.225 by the expansion).
  sample const base{-2, -1, 0, 0, 1, 2};  // variance 2
  double const error = std::sqrt(2 * 2.0 / 6);
  auto const shifted = [&](double by) {
    sample moved = base;
    for (auto& value : moved) { value += by; }
    return moved;
  };
  CHECK(rules::welch(base, shifted(2.20 * error)) == answer::same);
  CHECK(rules::welch(base, shifted(2.24 * error)) == answer::slower);
  CHECK(rules::welch(base, shifted(-2.24 * error)) == answer::faster);
  CHECK(rules::welch({1, 1}, {1, 1}) == answer::same);
  CHECK(rules::welch({1, 1}, {2, 2}) == answer::slower);
}

TEST_CASE("the U test has the textbook's critical value for nine against nine") {
  // U = 17 is significant at 5 % and U = 18 is not (by the normal law, z = 2.03 and 1.94).
  auto const with_u = [](int wins) {  // the candidate's values beat the reference's `wins` times
    sample reference;
    sample candidate;
    for (int i = 0; i < 9; ++i) { reference.push_back(2.0 * i); }
    for (int i = 0; i < 9; ++i) {
      int const beaten = std::min(9, wins);
      wins -= beaten;
      candidate.push_back(2.0 * beaten - 1 + 0.01 * i);
    }
    return rules::mann_whitney(reference, candidate);
  };
  CHECK(with_u(17) == answer::faster);
  CHECK(with_u(18) == answer::same);
  CHECK(with_u(63) == answer::same);
  CHECK(with_u(64) == answer::slower);
  CHECK(rules::mann_whitney({1, 1, 1}, {1, 1, 1}) == answer::same);
}

TEST_CASE("repetitions are ninths in the order of measurement") {
  sample rising;
  sample later;
  for (int i = 0; i < 90; ++i) {
    rising.push_back(1 + 0.001 * i);
    later.push_back(1 + 0.001 * (i + 90));
  }
  CHECK(rules::google_benchmark(rising, later) == answer::slower);
  CHECK(rules::google_benchmark(rising, rising) == answer::same);
  CHECK_THROWS_WITH(rules::google_benchmark({1, 2}, rising), assay::test::contains("nine"));
  CHECK_THROWS_WITH(rules::welch({1}, rising), assay::test::contains("2 times"));
}

TEST_CASE("timed one after the other, equal arms are told apart by drift; white noise does not") {
  auto const seed = assay::test::fresh_seed();
  INFO("seed " << seed);
  auto const white = false_claims({.name = "white"}, seed);
  CHECK(white.at("Welch t") < 0.05 + 1.5 * assay::test::slack(0.05, 200));
  CHECK(white.at("Mann-Whitney") < 0.05 + 1.5 * assay::test::slack(0.05, 200));
  CHECK(white.at("Google Benchmark, 9 repetitions") < 0.05 + 1.5 * assay::test::slack(0.05, 200));
  CHECK(white.at("nvbench legacy") == 0);

  auto const offset = false_claims({.name = "offset", .offset = 0.004}, seed);
  CHECK(offset.at("Welch t") > 0.8);
  CHECK(offset.at("Mann-Whitney") > 0.8);
  CHECK(offset.at("Google Benchmark, 9 repetitions") > 0.8);
  CHECK(offset.at("nvbench legacy") > 0.3);

  auto const wander = false_claims({.name = "wander", .wander = 0.003}, seed);
  CHECK(wander.at("Welch t") > 0.3);
  CHECK(wander.at("Mann-Whitney") > 0.3);
}
