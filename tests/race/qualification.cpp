// SPDX-License-Identifier: Apache-2.0
/// @file
/// Who is cut off before the first epoch, on a machine in virtual time that may be slow at first.

#include "catch.hpp"

#include <assay/race/run_race.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// A machine in virtual time, and what ran on it.
struct virtual_machine {
  struct ran {
    int epoch;
    std::string name;
  };
  double now = 0;
  double slow_from = 0, slow_until = 0;  ///< all launches take three times as long between them
  double own_start = 0;  ///< and those of a subject's first seconds, before epochs count
  std::map<std::string, int> alive, verified, built_to_qualify;
  int most_alive_in_qualification = 0;
  std::vector<ran> cells;
  std::function<double(std::string const&, int epoch)> factor;
  std::function<void(std::string const&, virtual_machine&)> on_build, on_cell;

  int all_alive() const {
    int sum = 0;
    for (auto const& [name, count] : alive) { sum += count; }
    return sum;
  }
};

class simulated final : public measure::subject {
 public:
  simulated(std::shared_ptr<virtual_machine> on, std::string name, double seconds, int epoch)
      : on_(std::move(on)), name_(std::move(name)), seconds_(seconds), epoch_(epoch) {
    ++on_->alive[name_];
    if (epoch_ == 0) {
      ++on_->built_to_qualify[name_];
      on_->most_alive_in_qualification =
          std::max(on_->most_alive_in_qualification, on_->all_alive());
    }
  }
  ~simulated() override { --on_->alive[name_]; }
  void warm(int, int launches) override { run(launches); }
  measure::cell time(int, int launches) override {
    on_->cells.push_back({epoch_, name_});
    if (on_->on_cell) { on_->on_cell(name_, *on_); }
    measure::cell made;
    made[measure::clock::wall] = run(launches) / launches;
    return made;
  }
  std::optional<std::string> verify(int) override {
    on_->verified[name_] += epoch_ == 0 ? 1 : 0;
    return {};
  }

 private:
  double run(int launches) {
    double sum = 0;
    for (int i = 0; i < launches; ++i) {
      bool const slow = (on_->now >= on_->slow_from && on_->now < on_->slow_until) ||
                        (epoch_ < 2 && own_ < on_->own_start);
      double const one = seconds_ * (slow ? 3 : 1) * (on_->factor ? on_->factor(name_, epoch_) : 1);
      sum += one;
      own_ += one;
      on_->now += one;
    }
    return sum;
  }

  std::shared_ptr<virtual_machine> on_;
  std::string name_;
  double seconds_;
  int epoch_;
  double own_ = 0;
};

std::vector<measure::variant> variants_on(std::shared_ptr<virtual_machine> const& on,
                                          std::map<std::string, double> const& seconds) {
  std::vector<measure::variant> all;
  for (auto const& [name, own] : seconds) {
    all.push_back({name, {}, [on, name = name, own = own](measure::epoch const& now) {
                     if (on->on_build) { on->on_build(name, *on); }
                     return std::make_unique<simulated>(on, name, own, now.number);
                   }});
  }
  return all;
}

options seeded(std::uint64_t seed) {
  options chosen;
  chosen.seed = seed;
  chosen.max_seconds = 1e9;
  return chosen;
}

measure::racer const& of(race_result const& found, std::string const& name) {
  return *std::ranges::find(found.racers, name, &measure::racer::name);
}

std::string outs(race_result const& found) {
  std::string all;
  for (auto const& each : found.racers) {
    if (!each.out.empty()) { all += each.name + ": " + each.out + "\n"; }
  }
  return all;
}

/// The ratio of 1 to 0 where the first takes `of(which)` seconds at its next cell.
std::optional<double> duel(std::function<double(std::size_t)> const& seconds, double shortest,
                           std::uint64_t seed = 1) {
  stats::random_source from{seed};
  return measure::detail::times_as_long(1, 0, shortest, from,
                                        [&](std::size_t which, int) { return seconds(which); });
}

}  // namespace

TEST_CASE("a machine that is slow for a while cuts nothing off, whenever and whoever is timed") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  stats::random_source from{seed};
  for (double const launch : {1e-3, 8e-3}) {
    for (int run = 0; run < 200; ++run) {
      auto const on = std::make_shared<virtual_machine>();
      bool const at_once = run % 2 == 0;
      on->slow_from = at_once ? 0 : static_cast<double>(from.below(300)) * 1e-3;
      on->slow_until =
          on->slow_from + static_cast<double>(1 + from.below(at_once ? 200 : 50)) * 1e-3;
      auto const found = run_race(
          variants_on(on, {{"best", launch}, {"worse", 1.2 * launch}, {"worst", 1.4 * launch}}),
          seeded(from.next() | 1U));
      INFO(launch << " s, slow from " << on->slow_from << " to " << on->slow_until << ", seed "
                  << found.seed);
      CHECK(outs(found) == "");
      CHECK(found.winner() == "best");
    }
  }
}

TEST_CASE("a candidate whose own first launches are slow is not cut off") {
  for (double const launch : {1e-3, 6e-3}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      auto const on = std::make_shared<virtual_machine>();
      on->own_start = 19e-3;
      auto const found = run_race(
          variants_on(on, {{"best", launch}, {"worse", 1.2 * launch}, {"worst", 1.4 * launch}}),
          seeded(seed));
      INFO(launch << " s, seed " << seed);
      CHECK(outs(found) == "");
      CHECK(found.winner() == "best");
    }
  }
}

TEST_CASE("a long candidate is cut off beside the fastest, in pairs of alternating order") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const on = std::make_shared<virtual_machine>();
    auto const found =
        run_race(variants_on(on, {{"a", 1e-3}, {"b", 1.1e-3}, {"long", 2.5e-3}}), seeded(seed));
    INFO("seed " << seed);
    CHECK(of(found, "long").out == "cut off: it takes 2.5 times as long as \"a\" beside it");
    std::vector<std::string> warm_up;  // epoch 1; epoch 0 qualifies
    for (auto const& each : on->cells) {
      if (each.epoch == 1) { warm_up.push_back(each.name); }
    }
    REQUIRE(warm_up.size() >= 8 + 3 * 6);  // all of them ran in three rounds before
    std::vector<std::string> const last{warm_up.end() - 8, warm_up.end()};
    std::vector<std::string> const fast_first{"a", "long", "long", "a", "a", "long", "long", "a"};
    std::vector<std::string> const slow_first{"long", "a", "a", "long", "long", "a", "a", "long"};
    CHECK((last == fast_first || last == slow_first));
  }
}

TEST_CASE("the fastest is timed anew before another is cut off") {
  // With one round of warm-up, the cells of "a" are too short once, and then as they should be.
  auto const on = std::make_shared<virtual_machine>();
  int of_a = 0;
  on->factor = [&](std::string const& name, int epoch) {
    return name == "a" && epoch == 1 && ++of_a <= 6 ? 0.3 : 1;  // 4 to settle, 2 in the round
  };
  auto chosen = seeded(1);
  chosen.warm_up_seconds = 0;
  auto const found = run_race(variants_on(on, {{"a", 1e-3}, {"b", 1.2e-3}, {"c", 1.4e-3}}), chosen);
  CHECK(of_a > 6);
  CHECK(outs(found) == "");
}

TEST_CASE("only the clock that decides cuts off") {
  class two_clocks final : public measure::subject {
   public:
    explicit two_clocks(double wall) : wall_(wall) {}
    void warm(int, int) override {}
    measure::cell time(int, int) override {
      measure::cell made;
      made[measure::clock::wall] = wall_;
      made[measure::clock::gpu] = 1e-3;
      return made;
    }
    std::optional<std::string> verify(int) override { return {}; }

   private:
    double wall_;
  };
  for (double const longest : {4e-3, 40e-3}) {
    std::vector<measure::variant> all;
    for (double const wall : {1e-3, longest}) {
      all.push_back({std::to_string(wall), {}, [wall](measure::epoch const&) {
                       return std::make_unique<two_clocks>(wall);
                     }});
    }
    auto chosen = seeded(1);
    chosen.clock = measure::clock::gpu;
    chosen.max_epochs = 8;
    CHECK(outs(run_race(all, chosen)) == "");
  }
}

TEST_CASE("pairs: each of four has to be long, or each of two beyond a factor of ten") {
  int cells = 0;
  auto const constant = [&](double slow) {
    return [&cells, slow](std::size_t which) { return ++cells, which == 1 ? slow : 1.0; };
  };
  CHECK(duel(constant(2.5), 0.1).value() == Approx(2.5));
  CHECK(cells == 8);
  cells = 0;
  CHECK(duel(constant(12), 0.1).value() == Approx(12));
  CHECK(cells == 4);
  cells = 0;
  CHECK(duel(constant(12), 10).value() == Approx(12));  // two pairs are too short to tell
  CHECK(cells == 8);
  cells = 0;
  CHECK_FALSE(duel(constant(2), 0.1).has_value());
  CHECK(cells == 2);
  CHECK_FALSE(duel(constant(12), 13).has_value());
  for (int odd = 0; odd < 4; ++odd) {
    for (double const slow : {9.0, 20.0}) {
      int pair = 0;
      auto const one_is_short = [&](std::size_t which) {
        return which == 0 ? 1 : pair++ == odd ? 1.5 : slow;
      };
      CHECK(duel(one_is_short, 0.1).has_value() == (slow > 10 && odd > 1));
    }
  }
}

TEST_CASE("a machine that speeds up or slows down for ever makes no pair after pair long") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (double const step : {3.0, 1 / 3.0}) {
      double speed = 1;
      CHECK_FALSE(duel([&](std::size_t) { return speed *= step; }, 0, seed).has_value());
    }
  }
}

TEST_CASE("two candidates are alive while they qualify, and one where two do not fit") {
  std::map<std::string, double> const field{
      {"a", 1.05e-3}, {"b", 1e-3}, {"c", 1.2e-3}, {"hopeless", 50e-3}};
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    for (int const fit : {1, 2, 3, 4}) {
      auto const on = std::make_shared<virtual_machine>();
      on->on_build = [fit](std::string const&, virtual_machine& at) {
        if (at.all_alive() >= fit) { throw std::bad_alloc(); }
      };
      auto const found = run_race(variants_on(on, field), seeded(seed));
      INFO(fit << " fit");
      CHECK(found.winner() == "b");
      CHECK(found.decided);
      CHECK(on->most_alive_in_qualification == std::min(fit, 2));
      CHECK_THAT(of(found, "hopeless").out, contains("cut off: it takes "));
      CHECK(std::ranges::count_if(on->cells,
                                  [](auto const& each) { return each.name == "hopeless"; }) <= 6);
      // Three are left after the cut.
      CHECK(found.notes.size() == (fit < 3 ? 1 : 0));
      if (fit > 1) { CHECK(on->verified["b"] == 2); }
    }
  }
}

TEST_CASE("a race of 48 qualifies with one timed launch of each") {
  auto const on = std::make_shared<virtual_machine>();
  std::map<std::string, double> field;
  for (int i = 0; i < 48; ++i) { field["c" + std::to_string(i)] = 1e-3 + 1e-5 * i; }
  auto const found = run_race(variants_on(on, field), seeded(3));
  CHECK(found.winner() == "c0");
  auto const cells = std::ranges::count(on->cells, 0, &virtual_machine::ran::epoch);
  CHECK(cells >= 48);
  CHECK(cells <= 48 + 50);  // 50 ms of warm-up
}

TEST_CASE("the fastest may fail while another is timed beside it, and is built no more") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const on = std::make_shared<virtual_machine>();
    on->on_cell = [](std::string const& name, virtual_machine& at) {
      if (name == "a" && at.alive["hopeless"] + at.alive["long"] > 0) {
        throw std::runtime_error("gone");
      }
    };
    auto const found = run_race(
        variants_on(
            on, {{"a", 1e-3}, {"b", 1.1e-3}, {"c", 1.2e-3}, {"long", 40e-3}, {"hopeless", 50e-3}}),
        seeded(seed));
    INFO("seed " << seed << "\n" << outs(found));
    CHECK(found.winner() == (of(found, "a").out.empty() ? "a" : "b"));
    CHECK_THAT(of(found, "hopeless").out, contains("cut off: "));
    CHECK_THAT(of(found, "long").out, contains("cut off: "));
    CHECK(on->built_to_qualify["a"] == 1);
    CHECK(on->all_alive() == 0);
  }
}

TEST_CASE("memory that is short only while a candidate runs takes no candidate out") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto const on = std::make_shared<virtual_machine>();
    bool const always = seed % 2 == 0;  // else only beside the hopeless one
    on->on_cell = [always](std::string const& name, virtual_machine& at) {
      bool const beside = name != "hopeless" && at.alive["hopeless"] > 0;
      if (at.all_alive() > 1 && (always || beside)) { throw std::bad_alloc(); }
    };
    auto const found =
        run_race(variants_on(on, {{"a", 1.05e-3}, {"b", 1e-3}, {"c", 1.2e-3}, {"hopeless", 50e-3}}),
                 seeded(seed));
    INFO("seed " << seed << "\n" << outs(found));
    CHECK(found.winner() == "b");
    CHECK_THAT(outs(found), contains("hopeless: cut off: "));
    CHECK(of(found, "a").out == "");
    CHECK(of(found, "c").out == "");
  }
}

TEST_CASE("the warm-up of the machine ends where launches seem to take no time") {
  auto const on = std::make_shared<virtual_machine>();
  auto const found = run_race(variants_on(on, {{"a", 1e-12}, {"b", 1.1e-12}}), seeded(1));
  CHECK(found.winner() == "a");
  CHECK(std::ranges::count(on->cells, 0, &virtual_machine::ran::epoch) <= 1002);
}
