// assay-test-flags: -O1
// assay-grouped: no
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The error rates that the procedure promises, on simulated machines, and designs that break them.
// assay-test-timeout: 3600
#include <assay/cli/sweep.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/procedure.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "catch.hpp"
#include "measure/simulator.hpp"

using namespace assay;
using namespace assay::test;

namespace {

measure::contrast const b_against_a{"b against a", measure::contrast::kind::difference, {-1, 1}};

bool excludes(measure::finding const& found, double log_ratio) {
  return found.effect.low > std::exp(log_ratio) || found.effect.high < std::exp(log_ratio);
}

struct rates {
  int runs = 0, alarms = 0, misses = 0, equivalent = 0, signs = 0, vetoed = 0, undecided = 0;
  double epochs = 0;
  double share(int count) const { return static_cast<double>(count) / runs; }
};

/// Runs the engine `runs` times at a true log ratio of `effect`. Intervals count as alarms where
/// they exclude 0 and as misses where they exclude the truth, also under a veto, which hides no
/// error.
rates study(noise const& what, double effect, int runs, bool resolve, std::uint64_t seed) {
  rates seen;
  seen.runs = runs;
  for (int i = 0; i < runs; ++i) {
    auto const own = stats::derive_seed(seed, static_cast<std::uint64_t>(i));
    measure::options chosen;
    chosen.seed = own | 1U;
    chosen.run_until_sign = resolve;
    auto const result = measure::run(simulate(what, ~own, {0.0, effect}), {b_against_a}, chosen);
    auto const& found = result.findings.at(0);
    seen.alarms += excludes(found, 0);
    seen.misses += excludes(found, effect);
    seen.vetoed += found.outcome == measure::verdict::unproven;
    seen.equivalent += found.outcome == measure::verdict::equivalent;
    seen.undecided += found.outcome == measure::verdict::inconclusive;
    seen.signs +=
        found.outcome == measure::verdict::faster || found.outcome == measure::verdict::slower;
    seen.epochs += result.epochs;
  }
  return seen;
}

void tell(char const* what, noise const& under, rates const& seen) {
  if (std::getenv("ASSAY_FULL") == nullptr) { return; }
  std::printf(
      "%-28s %-46s alarm %.4f miss %.4f equivalent %.4f sign %.4f veto %.4f undecided %.4f "
      "epochs %.1f\n",
      what, under.name.c_str(), seen.share(seen.alarms), seen.share(seen.misses),
      seen.share(seen.equivalent), seen.share(seen.signs), seen.share(seen.vetoed),
      seen.share(seen.undecided), seen.epochs / seen.runs);
}

}  // namespace

TEST_CASE("false alarms stay below 5 % under every disturbance, run to the last analysis") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(400);
  for (auto const& scenario : null_scenarios()) {
    auto const seen = study(scenario, 0, runs, true, seed);
    tell("null, run on", scenario, seen);
    INFO(scenario.name << ", seed " << seed << ", epochs " << seen.epochs / runs);
    CHECK(seen.share(seen.alarms) <= 0.05 + slack(0.05, runs));
  }
}

TEST_CASE("false alarms stay below 5 % with the stop rule, and guards rarely veto a sound run") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(800);
  for (auto const& scenario : null_scenarios()) {
    auto const seen = study(scenario, 0, runs, false, seed);
    tell("null, stop rule", scenario, seen);
    INFO(scenario.name << ", seed " << seed);
    CHECK(seen.share(seen.alarms) <= 0.05 + slack(0.05, runs));
    // The hidden control objects in 1 %; carry-over adds the rare signs that it could have made.
    CHECK(seen.share(seen.vetoed) <= 0.015 + slack(0.015, runs));
  }
}

TEST_CASE("intervals cover the true ratio in 95 % of comparisons, wherever they stop") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(400);
  for (auto const& scenario : null_scenarios()) {
    for (double const truth : {0.005, 0.01}) {
      auto const seen = study(scenario, truth, runs, false, seed);
      tell(truth > 0.005 ? "true 1.0 %" : "true 0.5 %", scenario, seen);
      INFO(scenario.name << ", truth " << truth << ", seed " << seed);
      CHECK(seen.share(seen.misses) <= 0.05 + slack(0.05, runs));
    }
  }
}

TEST_CASE("a difference of the whole margin is called equivalent in at most 2.5 %") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(800);
  for (auto const& scenario : null_scenarios()) {
    for (double const truth : {std::log1p(0.01), -std::log1p(0.01)}) {
      auto const seen = study(scenario, truth, runs, false, seed);
      tell("true margin", scenario, seen);
      INFO(scenario.name << ", truth " << truth << ", seed " << seed);
      CHECK(seen.share(seen.equivalent) <= 0.025 + slack(0.025, runs));
    }
  }
}

TEST_CASE("half a percent is found in ordinary noise, and no difference is called equivalent") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(400);
  INFO("seed " << seed);
  for (auto const index : {std::size_t{0}, std::size_t{3}, std::size_t{13}, std::size_t{14}}) {
    auto const scenario = null_scenarios().at(index);
    auto const slower = study(scenario, 0.005, runs, false, seed);
    auto const same = study(scenario, 0, runs, false, seed);
    INFO(scenario.name);
    CHECK(slower.share(slower.signs) >= 0.95 - slack(0.05, runs));
    CHECK(same.share(same.equivalent) >= 0.95 - slack(0.05, runs));
  }
}

// Designs that are known to fail, on the same machines and with the same arithmetic: if these pass,
// the tests above prove nothing.
namespace {

/// Effects of epochs with ABBA blocks only, in one buffer set.
std::vector<double> fixed_order_effects(noise const& what, std::uint64_t seed, int epochs) {
  world machine{what, seed};
  std::vector<double> effects;
  for (int e = 0; e < epochs; ++e) {
    machine.begin_epoch();
    double const touched[] = {machine.touch(), machine.touch()};
    double sums[2] = {0, 0};
    for (int i = 0; i < 32; ++i) {
      int const label = std::vector<int>{0, 1, 1, 0}[static_cast<std::size_t>(i % 4)];
      for (int w = 0; w < 2; ++w) { (void)machine.launch(label, 0); }
      sums[label] += std::log(machine.cell(label, 0, 5, touched[label]));
    }
    effects.push_back((sums[1] - sums[0]) / 16);
  }
  return effects;
}

bool alarm_at_any_analysis(std::vector<double> const& effects) {
  for (auto const& at : stats::alpha_schedule(24, 0.05, 1)) {
    auto const so_far = std::span{effects}.first(static_cast<std::size_t>(at.epochs));
    if (stats::classify(so_far, at, 0.01).effect.excludes(0)) { return true; }
  }
  return false;
}

}  // namespace

TEST_CASE("redrawing the signs of any effects at all raises no more than 5 % of alarms") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  stats::random_source from{seed};
  int const runs = simulated_runs(4000);
  auto const uniform = [&] { return static_cast<double>(from.next() >> 11U) * 0x1p-53; };
  // Heavy tails, the same size throughout, and mostly zeros: what distorts approximations.
  for (int kind = 0; kind < 3; ++kind) {
    int alarms = 0;
    for (int i = 0; i < runs; ++i) {
      std::vector<double> effects(24);
      for (auto& each : effects) {
        double const size = kind == 0   ? std::tan(1.57 * uniform())
                            : kind == 1 ? 1.0
                                        : std::floor(1.5 * uniform());
        each = from.flip() ? size : -size;
      }
      alarms += alarm_at_any_analysis(effects);
    }
    INFO("kind " << kind);
    CHECK(alarms <= runs * (0.05 + slack(0.05, runs)));
    if (kind == 0) { CHECK(alarms >= runs * 0.015); }  // nor is the level given away
  }
}

TEST_CASE("a fixed order is broken by a wave of its own period") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  int alarms = 0;
  noise const what{.name = "wave", .wave = 0.01};
  for (std::uint64_t i = 0; i < 300; ++i) {
    alarms += alarm_at_any_analysis(fixed_order_effects(what, stats::derive_seed(seed, i), 24));
  }
  CHECK(alarms > 0.3 * 300);
}

TEST_CASE("a fixed order is broken by a first cell that pays for the change of epoch") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  int alarms = 0;
  noise const what{.name = "start", .white = 0.0005, .wander = 0.001, .epoch_start = 0.01};
  for (std::uint64_t i = 0; i < 300; ++i) {
    alarms += alarm_at_any_analysis(fixed_order_effects(what, stats::derive_seed(seed, i), 24));
  }
  CHECK(alarms > 0.3 * 300);
}

TEST_CASE("a fixed order of first touches is broken where who touches later is faster") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  int alarms = 0;
  noise const what{.name = "touch", .touched_later = -0.005};
  for (std::uint64_t i = 0; i < 100; ++i) {
    alarms += alarm_at_any_analysis(fixed_order_effects(what, stats::derive_seed(seed, i), 24));
  }
  CHECK(alarms > 0.9 * 100);
}

TEST_CASE("what a variant keeps from epoch to epoch is found by the control's second instance") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  noise const what{.name = "kept", .white = 0.001};
  int verdicts = 0;
  int objections = 0;
  constexpr int runs = 200;
  for (std::uint64_t i = 0; i < runs; ++i) {
    auto const own = stats::derive_seed(seed, i);
    stats::random_source from{own};
    // Each instance keeps an engine through all epochs; where it lies moves its times by 1 %.
    double kept[3];
    for (auto& each : kept) { each = 0.01 * normal_table::at(from.next()); }
    auto variants = simulate(what, own, {0, 0});
    auto const where = std::make_shared<world>(what, own);
    for (std::size_t v = 0; v < 2; ++v) {
      variants[v].build = [&kept, where, v](measure::epoch const& now) {
        return std::make_unique<simulated>(where, static_cast<int>(v) + 100 * now.instance,
                                           kept[now.instance == 1 ? 2 : v]);
      };
    }
    measure::options chosen;
    chosen.seed = own | 1U;
    auto const found = measure::run(variants, {b_against_a}, chosen).findings.at(0);
    verdicts += stats::is_sign(found.outcome) && !found.is_bound;
    objections += found.is_bound || found.outcome == measure::verdict::unproven;
  }
  // The control differs from its second instance in as many cases as the variants differ.
  CHECK(objections > 0.5 * runs);
  CHECK(verdicts < 0.25 * runs);
}

TEST_CASE("timing all of one and then all of the other is broken by any drift") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  for (auto const& what :
       {noise{.name = "ramp of 1 % in all", .ramp = 0.01 * 24 * 300 / 448},
        noise{.name = "wander", .wander = 0.003}, noise{.name = "two-state", .two_state = 0.01}}) {
    int alarms = 0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      world machine{what, stats::derive_seed(seed, i)};
      machine.begin_epoch();
      std::vector<double> difference;  // cell by cell, in the order that they were timed
      std::vector<double> first;
      for (int n = 0; n < 32; ++n) { first.push_back(std::log(machine.cell(0, 0, 7, 0))); }
      for (int n = 0; n < 32; ++n) {
        difference.push_back(std::log(machine.cell(1, 0, 7, 0)) -
                             first[static_cast<std::size_t>(n)]);
      }
      auto const critical = stats::signed_rank_critical_value(32, 0.05);
      alarms += stats::signed_rank_interval(difference, critical).excludes(0);
    }
    INFO(what.name);
    CHECK(alarms > 0.3 * 300);
  }
}

TEST_CASE("a placement that stays with its label is confounded, as the report's scope says") {
  auto const seed = fresh_seed();
  noise const what{.name = "label's buffer set", .label_buffer_set = 0.005};
  auto const seen = study(what, 0, 100, false, seed);
  INFO("seed " << seed);
  CHECK(seen.share(seen.alarms) > 0.3);
}

TEST_CASE("blocks of one epoch, taken for epochs, are broken by code meeting placement") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  noise const what{.name = "interaction", .interaction = 0.003};
  int alarms = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    world machine{what, stats::derive_seed(seed, i)};
    machine.begin_epoch();
    double const own[] = {machine.draw_interaction(0), machine.draw_interaction(1)};
    stats::random_source from{stats::derive_seed(~seed, i)};
    measure::epoch_effects entries{2, {b_against_a}, false};
    for (int n = 0; n < 24; ++n) {
      auto const block = stats::draw_epoch(2, 1, from).front();
      std::vector<measure::cell> cells(block.slots.size());
      for (std::size_t at = 0; at < cells.size(); ++at) {
        auto const [label, buffer_set] = block.slots[at];
        cells[at][measure::clock::wall] = machine.cell(label, buffer_set, 5, own[label]);
      }
      entries.add_block(block, cells);
      entries.close_epoch();
    }
    alarms += alarm_at_any_analysis(entries.effects(measure::clock::wall, 0));
  }
  CHECK(alarms > 0.3 * 200);
}

TEST_CASE("a 2x2 keeps its error level: the interaction, and any false finding among all five") {
  auto const seed = fresh_seed();
  measure::crossing const axes{{"memory", {"pool", "async"}},
                               {"submit", {"concurrent", "serialized"}}};
  int const runs = simulated_runs(400);
  auto const scenarios = null_scenarios();
  for (auto const& what : {scenarios.at(3), scenarios.at(13), scenarios.at(14), scenarios.at(16)}) {
    int alarms = 0;
    int misses = 0;
    int any = 0;
    for (int i = 0; i < runs; ++i) {
      auto const own = stats::derive_seed(seed, static_cast<std::uint64_t>(i));
      measure::options chosen;
      chosen.seed = own | 1U;
      chosen.run_until_sign = true;
      // Both axes have an effect, and there is no interaction; then an interaction of 1 %.
      auto const additive =
          measure::run(simulate(what, ~own, {0, 0.05, 0.02, 0.07}), axes.interactions(), chosen);
      alarms += excludes(additive.findings.at(0), 0);
      auto const crossed =
          measure::run(simulate(what, own, {0, 0.05, 0.02, 0.08}), axes.interactions(), chosen);
      misses += excludes(crossed.findings.at(0), 0.01);
      if (i % 2 == 0) {
        auto const equal =
            measure::run(simulate(what, own + 1, {0, 0, 0, 0}), axes.contrasts(), chosen);
        bool one = false;
        for (auto const& found : equal.findings) { one = one || excludes(found, 0); }
        any += one;
      }
    }
    INFO(what.name << ", seed " << seed);
    CHECK(alarms <= runs * (0.05 + slack(0.05, runs)));
    CHECK(misses <= runs * (0.05 + slack(0.05, runs)));
    CHECK(any <= runs / 2 * (0.05 + slack(0.05, runs / 2)));
  }
}

TEST_CASE(
    "a sweep over 12 equal cells has a false difference in 5 % of sweeps; uncorrected, more") {
  auto const seed = fresh_seed();
  noise const quiet{.name = "white 0.3 %"};
  std::vector<point> cells(12);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].values = {{"n", static_cast<long long>(i)}};
  }
  auto const share_of_false = [&](int runs, double shares) {
    int false_sweeps = 0;
    for (int i = 0; i < runs; ++i) {
      measure::options whole;
      whole.seed = stats::derive_seed(seed, static_cast<std::uint64_t>(i)) | 1U;
      whole.max_epochs = 24;
      whole.max_seconds = 1e9;
      whole.run_until_sign = true;
      auto const all = cli::sweep(cells, whole, [&](point const&, measure::options own) {
        own.alpha *= shares;
        return measure::run(simulate(quiet, ~own.seed, {0.0, 0.0}), {b_against_a}, own);
      });
      false_sweeps += std::ranges::any_of(
          all.findings, [](auto const& each) { return each.primary && excludes(each, 0); });
    }
    return 1.0 * false_sweeps / runs;
  };
  INFO("seed " << seed);
  int const runs = simulated_runs(1000);
  CHECK(share_of_false(runs, 1) <= 0.05 + slack(0.05, runs));
  CHECK(share_of_false(200, 12) > 0.15);  // each cell at the whole level: 33 %
}
