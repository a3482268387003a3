// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -O1
/// @file
/// Slow calls, kept buffers, carry-over between long launches and empty work, each on a simulated
/// machine: the verdicts hold, and a procedure without the remedy fails.
#include <assay/measure/factorial.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/stats/signed_rank.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "measure/simulator.hpp"

using namespace assay;
using namespace assay::test;
using measure::clock;
using measure::verdict;

namespace {

measure::contrast const b_against_a{"b against a", measure::contrast::kind::difference, {-1, 1}};

/// A machine whose launches take what a function says of the variant and of the variant before.
struct scripted_machine {
  stats::random_source coins;
  double launch_seconds = 1e-3;
  double noise = 0.002;
  bool warm_counts = true;  ///< false: untimed launches leave no trace, as if there were none
  std::function<double(int variant, int before)> factor = [](int, int) { return 1.0; };
  std::optional<double> empty_seconds{};
  int last = -1;
  std::vector<std::vector<double>> launches{2};  ///< all timed ones, by variant

  explicit scripted_machine(std::uint64_t seed) : coins(seed) {}

  double launch(int variant) {
    double const taken =
        launch_seconds * factor(variant, last) * std::exp(noise * normal_table::at(coins.next()));
    last = variant;
    return taken;
  }
};

class scripted final : public measure::subject {
 public:
  scripted(scripted_machine& on, int variant) : on_(on), variant_(variant) {}
  void warm(int, int launches) override {
    for (int i = 0; i < launches && on_.warm_counts; ++i) { (void)on_.launch(variant_); }
  }
  measure::cell time(int, int launches) override {
    double sum = 0;
    measure::cell timed;
    for (int i = 0; i < launches; ++i) {
      timed.launches.push_back(on_.launch(variant_));
      sum += timed.launches.back();
    }
    timed[clock::wall] = sum / launches;
    return timed;
  }
  std::optional<std::string> verify(int) override { return {}; }
  std::optional<measure::cell> time_empty(int) override {
    if (!on_.empty_seconds) { return {}; }
    measure::cell timed;
    timed[clock::wall] = *on_.empty_seconds;
    return timed;
  }

 private:
  scripted_machine& on_;
  int variant_;
};

/// `hidden_is`: the variant as which the control's second instance runs.
std::vector<measure::variant> variants_on(scripted_machine& machine, double placement = 0,
                                          int hidden_is = 2) {
  std::vector<measure::variant> all(2);
  for (int v = 0; v < 2; ++v) {
    auto& each = all[static_cast<std::size_t>(v)];
    each.label = v == 0 ? "a" : "b";
    each.placement = placement;
    each.build = [&machine, v, hidden_is](measure::epoch const& now) {
      return std::make_unique<scripted>(machine, now.instance == 1 ? hidden_is : v);
    };
  }
  return all;
}

struct rates {
  int runs = 0, signs = 0, slower = 0, equivalent = 0, unproven = 0, covered = 0;
  double share(int count) const { return static_cast<double>(count) / runs; }
};

/// Runs comparisons on fresh machines; `truth` is a log ratio of mean times.
rates study(int runs, std::uint64_t seed, double truth, measure::options chosen,
            std::function<void(scripted_machine&)> const& set_up, double placement = 0,
            int hidden_is = 2) {
  rates seen;
  seen.runs = runs;
  for (int i = 0; i < runs; ++i) {
    auto const own = stats::derive_seed(seed, static_cast<std::uint64_t>(i));
    scripted_machine machine{~own};
    set_up(machine);
    chosen.seed = own | 1U;
    chosen.max_seconds = 1e9;
    auto const found =
        measure::run(variants_on(machine, placement, hidden_is), {b_against_a}, chosen)
            .findings.at(0);
    seen.signs += stats::is_sign(found.outcome);
    seen.slower += found.outcome == verdict::slower;
    seen.equivalent += found.outcome == verdict::equivalent;
    seen.unproven += found.outcome == verdict::unproven;
    seen.covered += found.effect.low <= std::exp(truth) && std::exp(truth) <= found.effect.high;
  }
  return seen;
}

/// One call in `period` of variant 1 takes three times as long.
void slow_every(scripted_machine& machine, int period, bool periodic) {
  auto const calls = std::make_shared<std::uint64_t>(machine.coins.next() % 1000);
  machine.factor = [&machine, calls, period, periodic](int variant, int) {
    if (variant != 1) { return 1.0; }
    auto const draw = periodic ? ++*calls : machine.coins.next() >> 20U;
    return draw % static_cast<std::uint64_t>(period) == 0 ? 3.0 : 1.0;
  };
}

}  // namespace

TEST_CASE("a variant with slow calls is slower by its mean, and the interval holds the truth") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(300);
  for (bool const periodic : {false, true}) {
    for (int const period : {5, 7, 9, 20}) {
      auto const seen = study(runs, seed, std::log1p(2.0 / period), {},
                              [&](auto& machine) { slow_every(machine, period, periodic); });
      INFO("seed " << seed << ", 1 call in " << period << (periodic ? ", periodic" : ""));
      CHECK(seen.share(seen.slower) > 0.95);
      CHECK(seen.share(seen.covered) >= 0.95 - slack(0.05, runs));
    }
  }
}

TEST_CASE("slow calls of both variants alike are no difference") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(300);
  for (int const period : {5, 20, 200}) {
    auto const seen = study(runs, seed, 0, {}, [&](auto& machine) {
      machine.factor = [&machine, period](int, int) {
        return machine.coins.next() % static_cast<std::uint64_t>(period) == 0 ? 10.0 : 1.0;
      };
    });
    INFO("seed " << seed << ", 1 call in " << period);
    CHECK(seen.share(seen.signs) <= 0.05 + slack(0.05, runs));
  }
}

TEST_CASE("epochs with rare slow calls are merged, or nothing is proven; unmerged they mislead") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(200);
  // 1 call in 200 takes 30 times as long: + 14.5 %, in 1 epoch of 6.
  double const truth = std::log1p(29.0 / 200);
  auto const rare = [](auto& machine) {
    machine.factor = [&machine](int variant, int) {
      return variant == 1 && machine.coins.next() % 200 == 0 ? 30.0 : 1.0;
    };
  };
  measure::options chosen;
  chosen.run_until_sign = true;
  auto const seen = study(runs, seed, truth, chosen, rare);
  INFO("seed " << seed);
  CHECK(seen.share(seen.equivalent) < 0.05);
  CHECK(seen.share(seen.covered) > 0.8);

  // The same epochs, each as one value.
  int covered = 0;
  for (int i = 0; i < runs; ++i) {
    scripted_machine machine{stats::derive_seed(seed, static_cast<std::uint64_t>(i))};
    rare(machine);
    std::vector<double> effects;
    for (int e = 0; e < 96; ++e) {
      double sums[2] = {0, 0};
      for (int k = 0; k < 16; ++k) {
        for (int v = 0; v < 2; ++v) { sums[v] += machine.launch(v); }
      }
      effects.push_back(std::log(sums[1] / sums[0]));
    }
    auto const critical = stats::signed_rank_critical_value(96, 0.05);
    covered += !stats::signed_rank_interval(effects, critical).excludes(truth);
  }
  CHECK(covered < 0.2 * runs);
}

TEST_CASE("one slow epoch of eight does not hide that all eight agree") {
  stats::random_source from{1};
  auto const judged = [&](std::vector<double> const& ratios) {
    measure::epoch_effects all{2, {b_against_a}, false};
    for (double const ratio : ratios) {
      auto const block = stats::draw_epoch(2, 1, from).front();
      std::vector<measure::cell> cells(block.slots.size());
      for (std::size_t i = 0; i < cells.size(); ++i) {
        cells[i][clock::wall] = block.slots[i].variant == 1 ? ratio : 1;
      }
      all.add_block(block, cells);
      all.close_epoch();
    }
    auto const plan = stats::alpha_schedule(96, 0.05, 1);
    auto const at = std::ranges::find(plan, all.epochs(), &stats::interim_analysis::epochs);
    return measure::judge(all, clock::wall, 0, *at, 0.01, 0);
  };
  auto const agreed = judged({2, 2.01, 1.99, 2, 2.02, 1.98, 2, 4});
  CHECK(agreed.found.outcome == verdict::slower);
  CHECK(agreed.found.effect.low == Approx(std::log(1.98)));
  CHECK(agreed.found.effect.high == Approx(std::log(4)));
  auto const open = judged({1, 1.001, 0.999, 1, 1.002, 0.998, 1, 1.5});
  CHECK(open.skewed);
  CHECK(open.found.outcome == verdict::inconclusive);

  // Of 16 epochs with two slow ones, pairs have one mean.
  std::vector<double> sixteen(16, 1.0);
  sixteen[3] = sixteen[9] = 1.5;
  auto const merged = judged(sixteen);
  CHECK(merged.epochs_in_group == 2);
  CHECK_FALSE(merged.skewed);
}

TEST_CASE("means of logs of cells without outliers, as verdicts were once made, miss slow calls") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  int covered = 0;
  constexpr int runs = 100;
  for (int i = 0; i < runs; ++i) {
    scripted_machine machine{stats::derive_seed(seed, static_cast<std::uint64_t>(i))};
    slow_every(machine, 9, false);
    std::vector<double> effects;
    for (int e = 0; e < 24; ++e) {
      double logs = 0;
      for (int k = 0; k < 16; ++k) {
        (void)machine.launch(0);
        (void)machine.launch(1);
        logs += std::log(machine.launch(1)) - std::log(machine.launch(0));
      }
      effects.push_back(logs / 16);
    }
    auto const critical = stats::signed_rank_critical_value(24, 0.05);
    covered += !stats::signed_rank_interval(effects, critical).excludes(std::log1p(2.0 / 9));
  }
  CHECK(covered < 0.3 * runs);
}

TEST_CASE("a fixed number of untimed launches meets the same calls of an even period again") {
  for (int const untimed : {1, 3}) {
    int slow = 0;
    for (int call = 0, cell = 0; cell < 1000; ++cell) {
      call += untimed;
      slow += ++call % 4 == 0 ? 1 : 0;  // one timed launch
    }
    CHECK((slow == 0 || slow >= 500));  // and never the true 250
  }
}

TEST_CASE("placement of kept buffers is no sign below its allowance; without one it is") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(200);
  auto const placed = [](auto& machine) {
    double const own = 0.007 * normal_table::at(machine.coins.next());
    machine.factor = [own](int variant, int) { return variant == 1 ? 1 + own : 1.0; };
  };
  measure::options chosen;
  chosen.hidden_control = false;
  auto const with = study(runs, seed, 0, chosen, placed, 0.02);
  INFO("seed " << seed);
  CHECK(with.share(with.signs) < 0.02);
  CHECK(with.share(with.equivalent) > 0.6);
  auto const without = study(runs, seed, 0, chosen, placed);
  CHECK(without.share(without.signs) > 0.5);

  // A large effect keeps its sign, and loses the allowance.
  scripted_machine machine{seed};
  machine.factor = [](int variant, int) { return variant == 1 ? 1.1 : 1.0; };
  chosen.seed = seed | 1U;
  auto const large = measure::run(variants_on(machine, 0.02), {b_against_a}, chosen).findings.at(0);
  CHECK(large.outcome == verdict::slower);
  CHECK(large.is_bound);
  CHECK(large.effect.low == Approx(1.1 / 1.02).epsilon(0.004));
  CHECK_THAT(large.reason, contains("placement of buffers"));

  machine.factor = [](int variant, int) { return variant == 1 ? 1.015 : 1.0; };
  auto const small = measure::run(variants_on(machine, 0.02), {b_against_a}, chosen).findings.at(0);
  CHECK(small.outcome == verdict::unproven);
  CHECK(small.epoch_effects.size() == 8);  // more epochs could not help
  CHECK_THAT(small.reason, contains("may be the placement of your buffers") && contains("2 %") &&
                               contains("assay::setup& make") && contains("same_buffers"));

  // Calls below 50 us have an allowance of their own.
  auto const judged = [&](double seconds, double ratio) {
    scripted_machine other{seed};
    other.launch_seconds = seconds;
    other.factor = [ratio](int variant, int) { return variant == 1 ? ratio : 1.0; };
    auto variants = variants_on(other, 0.05);
    for (auto& each : variants) { each.short_placement = 0.25; }
    return measure::run(variants, {b_against_a}, chosen).findings.at(0);
  };
  CHECK(judged(10e-6, 1.2).outcome == verdict::unproven);
  CHECK(judged(10e-6, 1.4).outcome == verdict::slower);
  CHECK(judged(100e-6, 1.2).outcome == verdict::slower);
}

TEST_CASE("a control whose second instance has its buffers misleads without untimed launches") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(200);
  // The first launch after another buffer takes 10 % more.
  auto const touched = [](bool warm_counts) {
    return [warm_counts](auto& machine) {
      machine.launch_seconds = 2.5e-3;
      machine.warm_counts = warm_counts;
      machine.factor = [](int variant, int before) { return variant == before ? 1.0 : 1.1; };
    };
  };
  INFO("seed " << seed);
  auto const with = study(runs, seed, 0, {}, touched(true), 0, 0);
  CHECK(with.share(with.signs + with.unproven) <= 0.06 + slack(0.06, runs));
  auto const without = study(runs, seed, 0, {}, touched(false), 0, 0);
  CHECK(without.share(without.signs + without.unproven) > 0.3);
}

TEST_CASE("long launches leave nothing to the next variant; without untimed launches they do") {
  auto const seed = fresh_seed();
  int const runs = simulated_runs(200);
  // A launch of 8 ms after one of variant 0 takes 3 % more.
  auto const carried = [](bool warm_counts) {
    return [warm_counts](auto& machine) {
      machine.launch_seconds = 8e-3;
      machine.warm_counts = warm_counts;
      machine.factor = [](int variant, int before) {
        return variant == 1 && before != 1 ? 1.03 : 1.0;
      };
    };
  };
  INFO("seed " << seed);
  auto const with = study(runs, seed, 0, {}, carried(true));
  CHECK(with.share(with.unproven) <= 0.03 + slack(0.03, runs));
  CHECK(with.share(with.equivalent) > 0.9);
  auto const without = study(runs, seed, 0, {}, carried(false));
  CHECK(without.share(without.equivalent) < 0.5);
}

TEST_CASE("typical calls and slow ones are told apart where they differ from the mean") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  measure::options chosen;
  // A guard may object to some 3 % of runs, which is no subject of this test.
  comparison found;
  std::uint64_t run = 0;
  do {
    scripted_machine machine{seed + run};
    slow_every(machine, 9, true);
    chosen.seed = (seed + 2 * run) | 1U;
    found = measure::run(variants_on(machine), {b_against_a}, chosen);
  } while (!found.is(verdict::slower) && ++run < 4);
  REQUIRE(found.is(verdict::slower));
  CHECK(found.findings[0].typical_ratio == Approx(1).epsilon(0.002));
  CHECK(found.variants[1].slow_share == Approx(1.0 / 9).epsilon(0.4));
  CHECK(found.variants[1].slow_seconds == Approx(3e-3).epsilon(0.01));
  CHECK(found.variants[0].slow_share == 0);

  scripted_machine even{seed};
  even.factor = [](int variant, int) { return variant == 1 ? 1.2 : 1.0; };
  auto const plain = measure::run(variants_on(even), {b_against_a}, chosen);
  CHECK(std::isnan(plain.findings[0].typical_ratio));
  CHECK(plain.variants[1].slow_share == 0);
}

TEST_CASE("work that takes no longer than an empty call proves nothing") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  auto const judged = [&](double seconds, double empty, double effect) {
    scripted_machine machine{seed};
    machine.launch_seconds = seconds;
    machine.empty_seconds = empty;
    machine.factor = [effect](int variant, int) { return variant == 1 ? 1 + effect : 1.0; };
    measure::options chosen;
    chosen.seed = seed | 1U;
    chosen.tick_seconds = {};
    return measure::run(variants_on(machine), {b_against_a}, chosen).findings.at(0);
  };
  for (double const effect : {0.0, 0.1}) {
    auto const none = judged(2e-9, 2e-9, effect);
    CHECK(none.outcome == verdict::unproven);
    CHECK_THAT(none.reason, contains("no longer than an empty call (2 ns)") &&
                                contains("the compiler may have removed"));
  }
  for (auto const& [seconds, effect, text] :
       {std::tuple{5e-9, 0.3, "a difference of 1.5 ns is less than"},
        std::tuple{5e-9, 0.9, "the place of the code can explain in a call (5 ns)"},
        std::tuple{190e-9, 0.1, "a difference of 19 ns is less than"},
        std::tuple{1e-6, 0.02, "the place of the code can explain in a call (24 ns)"}}) {
    auto const short_work = judged(seconds, 2e-9, effect);
    CHECK(short_work.outcome == verdict::unproven);
    CHECK_THAT(short_work.reason, contains(text));
  }
  CHECK(judged(5e-9, 2e-9, 0).outcome == verdict::equivalent);
  CHECK(judged(5e-9, 2e-9, 1.2).outcome == verdict::slower);
  CHECK(judged(190e-9, 2e-9, 0.15).outcome == verdict::slower);
  CHECK(judged(1e-6, 2e-9, 0.03).outcome == verdict::slower);
}

TEST_CASE("an empty call is named as such, whatever the cell before left") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  scripted_machine machine{seed};
  machine.launch_seconds = 2e-9;
  machine.empty_seconds = 2e-9;
  machine.noise = 0.0005;
  machine.warm_counts = false;  // the first launch after another variant takes more
  machine.factor = [](int variant, int before) {
    return variant == 1 && before != 1 ? 1.5 : variant == 1 ? 0.9965 : 1.0;
  };
  measure::options chosen;
  chosen.seed = seed | 1U;
  chosen.tick_seconds = {};
  auto const found = measure::run(variants_on(machine), {b_against_a}, chosen).findings.at(0);
  CHECK(found.outcome == verdict::unproven);
  CHECK_THAT(found.reason, contains("no longer than an empty call"));
}

TEST_CASE("every label has 2 to 4 untimed launches before each cell, by one law") {
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  struct counting final : measure::subject {
    std::vector<int>& untimed;
    int since = 0;
    explicit counting(std::vector<int>& into) : untimed(into) {}
    void warm(int, int launches) override { since = launches; }
    measure::cell time(int, int) override {
      if (since > 0) { untimed.push_back(std::exchange(since, 0)); }
      measure::cell timed;
      timed[clock::wall] = 8e-3;
      return timed;
    }
    std::optional<std::string> verify(int) override { return {}; }
  };
  std::vector<int> counts[2];
  std::vector<measure::variant> variants(2);
  for (std::size_t v = 0; v < 2; ++v) {
    variants[v].label = v == 0 ? "a" : "b";
    variants[v].build = [&counts, v](measure::epoch const&) {
      return std::make_unique<counting>(counts[v]);
    };
  }
  measure::options chosen;
  chosen.seed = seed | 1U;
  chosen.max_epochs = 96;
  chosen.run_until_sign = true;
  (void)measure::run(variants, {b_against_a}, chosen);
  for (auto const& of : counts) {
    double share[5] = {};
    for (int const each : of) {
      REQUIRE((each >= 2 && each <= 4));
      share[each] += 1.0 / static_cast<double>(of.size());
    }
    for (int k = 2; k <= 4; ++k) { CHECK(share[k] == Approx(1.0 / 3).margin(0.15)); }
  }
}
