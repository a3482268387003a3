// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
/// @file
/// How often a gate fires for true differences within the margin and beyond it, simulated.
/// `ASSAY_FULL=1` prints the table of benchmarks/results/gate_rates.txt.
#include "catch.hpp"
#include "measure/simulator.hpp"

#include <assay/cli/gate.hpp>
#include <assay/compare.hpp>
#include <assay/stats/classify.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

using namespace assay;
using assay::test::simulated_runs;
using assay::test::slack;

namespace {

constexpr double margin = 0.01, alpha = 0.05;

/// A comparison of effects that are normal about the truth, with the engine's stop rule.
measure::comparison simulated_comparison(double truth, double noise, bool run_until_margin,
                                         stats::random_source& from) {
  std::vector<double> effects;
  stats::classification found;
  for (auto const& at : stats::alpha_schedule(96, alpha, 1)) {
    while (static_cast<int>(effects.size()) < at.epochs) {
      effects.push_back(std::log1p(truth) + noise * test::normal_table::at(from.next()));
    }
    found = stats::classify(effects, at, margin);
    if (stats::settled(found, false, run_until_margin)) { break; }
  }
  measure::finding one;
  one.outcome = found.outcome;
  one.exceeds_margin = found.exceeds_margin;
  one.effect = {std::exp(found.effect.estimate), std::exp(found.effect.low),
                std::exp(found.effect.high), 1 - alpha};
  measure::comparison all;
  all.margin = margin;
  all.epochs = static_cast<int>(effects.size());
  all.findings = {one};
  return all;
}

bool passes_require(measure::comparison const& all) {
  try {
    require(all, {verdict::faster, verdict::equivalent, verdict::inconclusive});
    return true;
  } catch (std::runtime_error const&) { return false; }
}

/// Shares of the runs, and the mean number of epochs.
struct rates {
  double fires = 0, require_fails = 0, slower = 0, equivalent = 0, epochs = 0;
};

rates study(double truth, double noise, bool run_until_margin, int runs, std::uint64_t seed) {
  stats::random_source from{seed};
  rates sum;
  for (int i = 0; i < runs; ++i) {
    auto const all = simulated_comparison(truth, noise, run_until_margin, from);
    auto const outcome = all.findings[0].outcome;
    sum.fires += cli::judge(all, {"slower"}) == cli::gate_holds;
    sum.require_fails += !passes_require(all);
    sum.slower += outcome == verdict::slower;
    sum.equivalent += outcome == verdict::equivalent;
    sum.epochs += all.epochs;
  }
  for (auto* each : {&sum.fires, &sum.require_fails, &sum.slower, &sum.equivalent, &sum.epochs}) {
    *each /= runs;
  }
  return sum;
}

constexpr double noises[] = {0.002, 0.004, 0.006, 0.01};

}  // namespace

TEST_CASE("a slow-down within the margin trips a gate in at most alpha of runs") {
  auto const seed = test::fresh_seed();
  int const runs = simulated_runs(1000);
  for (double const truth : {0.0, 0.005, 0.01}) {
    for (double const noise : noises) {
      for (bool const run_on : {false, true}) {
        auto const seen = study(truth, noise, run_on, runs, seed);
        INFO("truth " << truth << ", noise " << noise << ", run on " << run_on << ", seed "
                      << seed);
        // Both ends of the interval share alpha, and one of them can trip this gate.
        CHECK(seen.fires <= alpha / 2 + slack(alpha / 2, runs));
        CHECK(seen.require_fails == Approx(seen.fires));
      }
    }
  }
}

TEST_CASE("a slow-down of twice the margin trips a gate, since the comparison runs on for it") {
  auto const seed = test::fresh_seed();
  int const runs = simulated_runs(1000);
  INFO("seed " << seed);
  for (double const noise : noises) {
    INFO("noise " << noise);
    CHECK(study(0.02, noise, true, runs, seed).fires >= 0.99);
  }
  CHECK(study(0.02, 0.002, false, runs, seed).fires >= 0.99);
  CHECK(study(0.02, 0.01, false, runs, seed).fires <= 0.5);  // else running on is for nothing
}

TEST_CASE("the table of docs/verdicts.md") {
  if (std::getenv("ASSAY_FULL") == nullptr) { return; }
  int const runs = simulated_runs(0);
  std::printf(
      "true slow-down  noise  gate fires  SLOWER  EQUIVALENT  epochs | stopped at a sign: fires\n");
  for (double const truth : {0.0, 0.005, 0.01, 0.02}) {
    for (double const noise : noises) {
      auto const seen = study(truth, noise, true, runs, 42);
      auto const stopped = study(truth, noise, false, runs, 42);
      std::printf("%12.1f %%  %.1f %%  %8.2f %%  %4.0f %%  %8.0f %%  %6.1f | %23.2f %%\n",
                  100 * truth, 100 * noise, 100 * seen.fires, 100 * seen.slower,
                  100 * seen.equivalent, seen.epochs, 100 * stopped.fires);
    }
  }
}
