// SPDX-License-Identifier: Apache-2.0
/// @file
/// The engine with scripted subjects: verdicts, guards, wrong answers, failures, order of calls.
#include <assay/cli/gate.hpp>
#include <assay/measure/factorial.hpp>
#include <assay/measure/procedure.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/text.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "measure/virtual_clock.hpp"

using namespace assay;
using assay::test::virtual_clock;
using measure::clock;
using measure::verdict;

namespace {

double const not_a_number = std::numeric_limits<double>::quiet_NaN();
measure::contrast const b_against_a{"b against a", measure::contrast::kind::difference, {-1, 1}};

/// A bench of subjects that do as they are told and leave a record.
struct bench {
  struct call {
    char what;  // 'b'uild, 'w'arm, 't'ime, 'v'erify
    std::string label;
    int buffer_set = 0;
    int instance = 0;  // 1: the control's second instance
    int epoch = 0;
  };
  std::vector<call> calls;
  std::map<std::string, double> seconds;  ///< wall-clock time by label
  stats::random_source noise{1};
  double jitter = 1e-3;
  double cell_costs = 0;  ///< seconds of the virtual clock for each timed cell
  double bytes = 0, flops = 0;
  std::map<std::string, measure::checks> checked;  ///< by label; none where it is not named
  std::vector<std::string> caveats;
  int alive = 0;
  int most_alive = 0;
  std::string lives;  ///< of all subjects: 'b'uilt, 'f'inished, asked to 'e'nd, 'd'estroyed
  std::set<std::uint64_t> epoch_seeds;
  /// Called first in each call; may throw.
  std::function<void(call const&)> before = [](call const&) {};
  /// Changes the default cell.
  std::function<measure::cell(call const&, measure::cell)> measured =
      [](call const&, measure::cell given) { return given; };
  /// The error in an output, or nothing.
  std::function<std::optional<std::string>(call const&)> wrong =
      [](call const&) -> std::optional<std::string> { return {}; };

  void note(call const& what) {
    calls.push_back(what);
    before(what);
  }
  auto count(char what, std::string const& label) const {
    return std::count_if(calls.begin(), calls.end(), [&](call const& each) {
      return each.what == what && (label.empty() || each.label == label);
    });
  }

  class scripted final : public measure::subject {
   public:
    scripted(bench& on, std::string label, measure::epoch const& now)
        : bench_(on), label_(std::move(label)), now_(now) {
      bench_.most_alive = std::max(bench_.most_alive, ++bench_.alive);
      bench_.lives += 'b';
    }
    ~scripted() override {
      --bench_.alive;
      bench_.lives += 'd';
    }
    void finish_building() override { bench_.lives += 'f'; }
    void begin_to_end() noexcept override { bench_.lives += 'e'; }
    void warm(int buffer_set, int) override { bench_.note(called('w', buffer_set)); }
    measure::cell time(int buffer_set, int) override {
      auto const made = called('t', buffer_set);
      bench_.note(made);
      virtual_clock::seconds += bench_.cell_costs;
      double const uniform = static_cast<double>(bench_.noise.next() >> 11U) * 0x1p-53;
      measure::cell given;
      given[clock::wall] = bench_.seconds.at(label_) * (1 + bench_.jitter * (uniform - 0.5));
      return bench_.measured(made, given);
    }
    std::optional<std::string> verify(int buffer_set) override {
      auto const made = called('v', buffer_set);
      bench_.note(made);
      return bench_.wrong(made);
    }
    double bytes() const override { return bench_.bytes; }
    double flops() const override { return bench_.flops; }
    measure::checks checked() const override {
      auto const told = bench_.checked.find(label_);
      return told == bench_.checked.end() ? measure::checks::none : told->second;
    }
    std::vector<std::string> caveats() const override { return bench_.caveats; }

   private:
    call called(char what, int buffer_set) const {
      return {what, label_, buffer_set, now_.instance, now_.number};
    }

    bench& bench_;
    std::string label_;
    measure::epoch now_;
  };

  std::vector<measure::variant> variants() {
    std::vector<measure::variant> all;
    for (auto const& [label, unused] : seconds) {
      all.push_back({label, {{"axis", label}}, [this, label](measure::epoch const& now) {
                       note({'b', label, 0, now.instance, now.number});
                       epoch_seeds.insert(now.seed);
                       return std::make_unique<scripted>(*this, label, now);
                     }});
    }
    return all;
  }
};

bench two(double a, double b) {
  bench made;
  made.seconds = {{"a", a}, {"b", b}};
  return made;
}

measure::options seeded() {
  measure::options chosen;
  chosen.seed = test::fresh_seed() | 1U;
  return chosen;
}

bool noted(measure::comparison const& result, std::string const& text) {
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](std::string const& each) { return each.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("the verdict is SLOWER, FASTER or EQUIVALENT as the times are") {
  struct expected {
    double b;
    verdict outcome;
    bool exceeds_margin;
  };
  for (auto const& row :
       {expected{1.05e-3, verdict::slower, true}, expected{0.9e-3, verdict::faster, true},
        expected{1.004e-3, verdict::slower, false}}) {
    auto on = two(1e-3, row.b);
    auto const chosen = seeded();
    INFO("seed " << chosen.seed << ", b " << row.b);
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    auto const& found = result.findings.at(0);
    if (found.outcome != verdict::unproven) { CHECK(found.outcome == row.outcome); }
    CHECK(found.exceeds_margin == row.exceeds_margin);
    CHECK(found.effect.ratio == Approx(row.b / 1e-3).epsilon(1e-3));
    CHECK(found.effect.low < found.effect.high);
    CHECK(result.epochs == 8);
    CHECK(found.epoch_effects.size() == 8);
    CHECK(result.seed == chosen.seed);
    CHECK(found.weights == b_against_a.weights);
    CHECK(result.failure.empty());
    CHECK(on.alive == 0);
  }
}

TEST_CASE("equal variants are equivalent, with the deviation between epochs as noise") {
  int equivalent = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto on = two(1e-3, 1e-3);
    on.noise = stats::random_source{seed};
    measure::options chosen;
    chosen.seed = seed;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    equivalent += result.findings.at(0).outcome == verdict::equivalent;
    auto const& found = result.findings.at(0);
    CHECK(found.noise == Approx(std::expm1(stats::standard_deviation(found.epoch_effects))));
    CHECK(found.noise > 5e-5);
    CHECK(found.noise < 5e-4);
  }
  CHECK(equivalent >= 45);  // 50 runs with 2 to 3 % objections and false signs
}

TEST_CASE("noise too large for 8 epochs is inconclusive, with the epochs that would settle it") {
  auto on = two(1e-3, 1.03e-3);
  on.jitter = 1.5;
  auto chosen = seeded();
  chosen.max_epochs = 8;
  chosen.hidden_control = false;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const& found = result.findings.at(0);
  INFO("seed " << chosen.seed);
  CHECK(result.epochs == 8);
  if (found.outcome == verdict::inconclusive) {
    CHECK(found.epochs_needed > 8);
    CHECK_THAT(found.reason,
               test::contains("differs by ") && test::contains(" from epoch to epoch"));
  }
  CHECK(found.effect.high / found.effect.low > 1.1);
}

TEST_CASE("with run_until_sign a comparison continues after equivalence") {
  auto on = two(1e-3, 1e-3);
  measure::options chosen;
  chosen.seed = 7;
  chosen.run_until_sign = true;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(result.epochs == 96);
  CHECK(result.findings.at(0).outcome == verdict::equivalent);
}

TEST_CASE("with run_until_margin a comparison continues while a sign may be below the margin") {
  auto on = two(1e-3, 1e-3);
  on.jitter = 0;
  on.measured = [](bench::call const& made, measure::cell given) {
    // 0.6 and 1.4 % slower in turn, about a margin of 1 %
    if (made.label == "b") { given[clock::wall] *= made.epoch % 2 == 0 ? 1.006 : 1.014; }
    return given;
  };
  measure::options chosen;
  chosen.seed = 7;
  chosen.max_seconds = 1e9;
  auto const first = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(first.epochs == 8);
  CHECK(first.findings.at(0).outcome == verdict::slower);
  chosen.run_until_margin = true;
  CHECK(measure::run(on.variants(), {b_against_a}, chosen).epochs > 8);
  for (double const b : {1.02e-3, 1.005e-3}) {  // beyond the margin, and below it
    auto clear = two(1e-3, b);
    CHECK(measure::run(clear.variants(), {b_against_a}, chosen).epochs == 8);
  }
}

TEST_CASE("a comparison says how much of the results each variant checks") {
  auto on = two(1e-3, 1e-3);
  on.checked = {{"a", measure::checks::all}, {"b", measure::checks::part}};
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(result.variants.at(0).results == measure::checks::all);
  CHECK(result.variants.at(1).results == measure::checks::part);
  CHECK_FALSE(result.checks_required);
  CHECK(result.failure.empty());
  on.before = [](bench::call const& made) {
    if (made.what == 'b' && made.label == "b") { throw std::runtime_error("no"); }
  };
  CHECK_FALSE(measure::run(on.variants(), {b_against_a}, seeded()).variants.at(1).results);
}

TEST_CASE("with require_checks nothing is timed unless all results of all variants are checked") {
  using measure::checks;
  struct row {
    checks a, b;
    char const* refused;
  };
  for (auto const& [a, b, refused] :
       {row{checks::all, checks::none, "b"}, row{checks::all, checks::part, "b"},
        row{checks::part, checks::none, "a"}, row{checks::all, checks::all, ""}}) {
    auto on = two(1e-3, 1e-3);
    on.checked = {{"a", a}, {"b", b}};
    auto chosen = seeded();
    chosen.require_checks = true;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    auto const& found = result.findings.at(0);
    INFO(found.reason);
    CHECK(result.checks_required);
    CHECK(result.variants.at(0).results == a);
    CHECK(result.variants.at(1).results == b);
    std::string const label = refused;
    if (label.empty()) {
      CHECK(result.failure.empty());
      CHECK(cli::judge(result, {}) == cli::ok);
      continue;
    }
    CHECK(found.outcome == verdict::unproven);
    CHECK_THAT(
        found.reason,
        test::contains("\"" + label + "\" are " + std::string{to_string(label == "a" ? a : b)}) &&
            test::contains("setup.expect") && test::contains("drop require_checks"));
    CHECK(on.count('t', "") == 0);
    CHECK(on.count('v', "") == 0);
    CHECK(cli::judge(result, {}) == cli::gate_unproven);
    CHECK(cli::judge(result, {"slower"}) == cli::gate_unproven);
  }
}

TEST_CASE("a wrong answer before timing is never timed") {
  auto on = two(1e-3, 1e-3);
  on.wrong = [](bench::call const& made) -> std::optional<std::string> {
    if (made.label == "b" && made.buffer_set == 1) { return "row 3 is 7, not 8"; }
    return {};
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  auto const& found = result.findings.at(0);
  CHECK(found.outcome == verdict::wrong_answer);
  CHECK(found.reason == "variant \"b\", epoch 1, before timing, buffer set 1: row 3 is 7, not 8");
  CHECK(result.failure == found.reason);
  CHECK(on.count('t', "") == 0);
  CHECK(on.count('w', "") == 0);
  CHECK(std::isinf(found.effect.high));
  CHECK(on.alive == 0);
}

TEST_CASE("a wrong answer after timing replaces the verdict") {
  auto on = two(1e-3, 1.05e-3);
  on.wrong = [&](bench::call const& made) -> std::optional<std::string> {
    if (made.label == "a" && on.count('t', "") > 0) { return "stale"; }
    return {};
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(result.findings.at(0).outcome == verdict::wrong_answer);
  CHECK_THAT(result.findings.at(0).reason,
             assay::test::contains("\"a\", epoch 8, after timing, buffer set ") &&
                 assay::test::contains(": stale"));
  CHECK(result.variants[0].on(clock::wall).count == 0);  // a wrong variant has no time
  CHECK(result.variants[1].on(clock::wall).count > 0);
}

TEST_CASE("answers are checked in both buffer sets at both ends, or around every epoch") {
  for (auto const when : {measure::verification::at_ends, measure::verification::every_epoch}) {
    auto on = two(1e-3, 1.05e-3);
    auto chosen = seeded();
    chosen.verify = when;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    int const rounds = when == measure::verification::at_ends ? 2 : 2 * result.epochs;
    for (auto const* label : {"a", "b"}) {
      CHECK(on.count('v', label) == 2 * rounds);
      auto const in_first = std::count_if(on.calls.begin(), on.calls.end(), [&](auto const& each) {
        return each.what == 'v' && each.label == label && each.buffer_set == 0;
      });
      CHECK(in_first == rounds);
    }
  }
}

TEST_CASE("a wrong variant is WRONG ANSWER in its contrasts, and all others are UNPROVEN") {
  bench on;
  on.seconds = {{"a", 1e-3}, {"b", 1e-3}, {"c", 1e-3}};
  on.wrong = [](bench::call const& made) -> std::optional<std::string> {
    if (made.label == "c") { return "off by one"; }
    return {};
  };
  std::vector<std::string> const labels{"a", "b", "c"};
  auto const result = measure::run(on.variants(), measure::against_first(labels), seeded());
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].outcome == verdict::unproven);
  CHECK(result.findings[1].outcome == verdict::wrong_answer);
  CHECK_THAT(result.findings[0].reason, assay::test::contains("off by one"));
}

TEST_CASE("an exception of a subject becomes the reason, with variant, epoch and step") {
  struct expected {
    char what;
    std::string place;
  };
  for (auto const& row : {expected{'b', "building"}, expected{'w', "warming up"},
                          expected{'t', "timing"}, expected{'v', "verifying"}}) {
    auto on = two(1e-3, 1e-3);
    on.before = [&](bench::call const& made) {
      if (made.epoch == 2 && made.what == row.what && made.label == "b") {
        throw std::runtime_error("out of memory: 21 MB");
      }
    };
    auto chosen = seeded();
    chosen.verify = measure::verification::every_epoch;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    auto const& found = result.findings.at(0);
    CHECK(found.outcome == verdict::unproven);
    CHECK(found.reason == "variant \"b\", epoch 3, " + row.place + ": out of memory: 21 MB");
    CHECK(on.alive == 0);
    CHECK(result.variants.size() == 2);
    CHECK(result.variants[0].on(clock::wall).count >= 2 * 2 * 4);
  }
}

TEST_CASE("all subjects of an epoch are begun before one is awaited, and again at their end") {
  auto on = two(1e-3, 1e-3);
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  std::string expected;
  for (int i = 0; i < result.epochs; ++i) { expected += "bbbfffeeeddd"; }
  CHECK(on.lives == expected);
}

TEST_CASE("variants that do not fit into memory together run one at a time from that epoch on") {
  for (int const epoch : {0, 1}) {  // both have two blocks
    for (char const step : {'b', 'w', 't', 'v'}) {
      auto on = two(1e-3, 1.05e-3);
      int calls = 0;
      on.before = [&](bench::call const& made) {
        int const others = on.alive - (made.what == 'b' ? 0 : 1);
        if (made.epoch < epoch || made.what != step || others == 0) { return; }
        // The second subject is not built; a cell of the second block fails, if not one before.
        if (++calls >= (step == 'b' ? 1 : step == 't' ? 14 : 3)) { throw std::bad_alloc{}; }
      };
      on.jitter = 0;
      on.measured = [&](bench::call const& made, measure::cell cell) {
        // Cells that do not count: those of a subject with others beside it.
        if (made.label == "b" && made.epoch >= epoch && on.alive > 1) {
          cell[clock::wall] *= 1.001;
        }
        return cell;
      };
      auto chosen = seeded();
      chosen.verify = measure::verification::every_epoch;
      std::vector<int> at_begin, at_end;
      chosen.at_epoch_begin = [&](measure::epoch const&) { at_begin.push_back(on.alive); };
      chosen.at_epoch_end = [&](measure::epoch const& now) {
        if (now.number >= epoch) { at_end.push_back(on.alive); }
        return std::vector<std::string>{};
      };
      auto const result = measure::run(on.variants(), {b_against_a}, chosen);
      INFO("seed " << chosen.seed << ", epoch " << epoch << ", step " << step << ", "
                   << report::short_text(result));
      REQUIRE(result.failure.empty());
      for (double const each : result.findings.at(0).epoch_effects) {
        CHECK(each == Approx(std::log(1.05)).epsilon(1e-9));
      }
      CHECK(result.epochs == 8);
      CHECK(result.epoch_records.size() == 8);  // the epoch is repeated, and not dropped
      CHECK(on.alive == 0);
      CHECK(at_begin == std::vector<int>(at_begin.size(), 0));
      CHECK(std::count(at_end.begin(), at_end.end(), 1) == 3 * (8 - epoch));

      REQUIRE(result.caveats.size() == 1);
      auto const& caveat = result.caveats.front();
      CHECK_THAT(caveat, assay::test::contains("do not fit into memory together") &&
                             assay::test::contains("from epoch " + std::to_string(epoch + 1)) &&
                             assay::test::contains("std::bad_alloc") &&
                             assay::test::contains("Not guarded: carry-over"));
      CHECK(report::short_text(result).find("do not fit into memory") != std::string::npos);

      // One subject after the other has all its cells of an epoch, in both buffer sets.
      std::map<std::pair<int, int>, std::array<int, 2>> cells;  // by epoch and instance
      std::vector<std::pair<int, int>> turns;
      std::map<int, int> next;
      for (auto const& each : result.cells) {
        if (each.epoch < epoch) { continue; }
        CHECK(each.position == next[each.epoch]++);
        ++cells[{each.epoch, each.variant}].at(static_cast<std::size_t>(each.buffer_set));
        std::pair const turn{each.epoch, each.variant};
        if (turns.empty() || turns.back() != turn) { turns.push_back(turn); }
      }
      CHECK(cells.size() == static_cast<std::size_t>(3 * (8 - epoch)));
      CHECK(turns.size() == cells.size());
      for (auto const& [turn, by_set] : cells) {
        int const blocks = result.epoch_records.at(static_cast<std::size_t>(turn.first)).blocks;
        CHECK(by_set == std::array{2 * blocks, 2 * blocks});
      }
    }
  }
}

TEST_CASE("one at a time, the order is random and each variant is verified after its cells") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto on = two(1e-3, 1.05e-3);
    on.before = [&](bench::call const& made) {
      if (made.what == 'b' && on.alive > 0) { throw std::bad_alloc{}; }
    };
    measure::options chosen;
    chosen.seed = seed;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    REQUIRE(result.failure.empty());
    CHECK(on.most_alive == 1);
    std::string order;
    std::map<int, std::string> steps;  // of the variants in the last epoch, by instance
    for (auto const& each : on.calls) {
      if (each.epoch != result.epochs - 1) { continue; }
      auto const instance = each.label == "b" ? 1 : 2 * each.instance;
      if (each.what == 'b') { order += std::to_string(instance); }
      steps[instance] += each.what;
    }
    orders.insert(order);
    for (int const variant : {0, 1}) {
      auto const& of = steps.at(variant);
      CHECK(of.front() == 'b');
      CHECK(of.substr(of.size() - 3) == "tvv");
    }
    CHECK(steps.at(2).back() == 't');  // the code of the second instance is verified already
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("one at a time, each subject can disturb its epoch, and a reason is told once") {
  auto on = two(1e-3, 1.05e-3);
  on.before = [&](bench::call const& made) {
    if (made.what == 'b' && on.alive > 0) { throw std::bad_alloc{}; }
  };
  auto chosen = seeded();
  int asked = 0;
  chosen.at_epoch_end = [&](measure::epoch const& now) {
    ++asked;  // three subjects an epoch
    return now.number == 2      ? std::vector<std::string>{"hot"}
           : asked == 3 * 4 + 2 ? std::vector<std::string>{"hot", "SW power cap"}
                                : std::vector<std::string>{};
  };
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(result.failure.empty());
  CHECK(result.epochs == 8);
  REQUIRE(result.epoch_records.size() == 10);
  for (auto const& each : result.epoch_records) {
    CHECK(each.dropped == (each.number == 2 ? "hot" : each.number == 4 ? "hot; SW power cap" : ""));
  }
}

TEST_CASE("one at a time, cells that follow their own variant show no carry-over") {
  auto on = two(1e-3, 1e-3);
  int since_build = 0;
  on.before = [&](bench::call const& made) {
    if (made.what != 'b') { return; }
    if (on.alive > 0) { throw std::bad_alloc{}; }
    since_build = 0;
  };
  on.measured = [&](bench::call const& made, measure::cell cell) {
    // As if b's cells were slow after another variant: in order, every second one is.
    if (since_build++ % 2 == 0 && made.label == "b") { cell[clock::wall] *= 1.002; }
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(result.failure.empty());
  CHECK(result.findings.at(0).effect.ratio == Approx(1.001).epsilon(3e-4));
  CHECK(result.findings.at(0).reason.find("carry-over") == std::string::npos);
}

TEST_CASE("a variant that does not fit into memory alone is named") {
  auto on = two(1e-3, 1e-3);
  on.before = [](bench::call const& made) {
    if (made.what == 'b' && made.label == "b") { throw std::bad_alloc{}; }
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(result.failure ==
        "variant \"b\", epoch 1, building: std::bad_alloc; no other variant was in memory: make "
        "this variant smaller");
  CHECK(result.findings.at(0).outcome == verdict::unproven);
  CHECK(result.cells.empty());
  CHECK(on.alive == 0);
}

TEST_CASE("an exception of unknown type and a missing subject become the reason") {
  auto on = two(1e-3, 1e-3);
  on.before = [](bench::call const& made) {
    if (made.what == 't') { throw 42; }  // NOLINT
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK_THAT(result.findings.at(0).reason, assay::test::contains("unknown type"));
  CHECK(on.alive == 0);

  auto empty = two(1e-3, 1e-3);
  auto variants = empty.variants();
  variants[1].build = [](measure::epoch const&) { return nullptr; };
  auto const none = measure::run(variants, {b_against_a}, seeded());
  CHECK_THAT(none.findings.at(0).reason, assay::test::contains("returned no subject"));
}

TEST_CASE("checks are told one by one, and noted where they take most of the time") {
  auto on = two(1e-3, 1e-3);
  on.before = [](bench::call const& made) {
    if (made.what == 'v') { std::this_thread::sleep_for(std::chrono::milliseconds{200}); }
  };
  auto chosen = seeded();
  chosen.max_seconds = 1;
  int told = 0;
  chosen.progress = [&](int, int, std::string_view what) { told += what == "verifying b"; };
  auto const found = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(told == 4);  // both buffer sets, at both ends
  CHECK(std::ranges::count_if(found.caveats, [](std::string const& each) {
          return each.starts_with(
              "checks of results took 2 s, which count against max_seconds = 1");
        }) == 1);
}

TEST_CASE("the checks after the last epoch count against the time of a comparison") {
  auto on = two(1e-3, 1e-3);
  on.before = [](bench::call const& made) {
    if (made.what == 'v') { std::this_thread::sleep_for(std::chrono::milliseconds{100}); }
  };
  auto chosen = seeded();
  chosen.run_until_sign = true;
  chosen.max_seconds = 0.75;  // 0.4 s at either end
  CHECK(measure::run(on.variants(), {b_against_a}, chosen).epochs == 8);
  chosen.max_seconds = 20;
  CHECK(measure::run(on.variants(), {b_against_a}, chosen).epochs > 8);
}

TEST_CASE("a cancelled comparison keeps its last interval and is UNPROVEN") {
  auto on = two(1e-3, 1e-3);
  measure::options chosen;
  chosen.seed = 7;
  chosen.run_until_sign = true;  // so that it goes on after the first analysis
  int epoch = 0;
  chosen.progress = [&](int now, int of, std::string_view) {
    CHECK(of == 96);
    epoch = now;
  };
  chosen.cancelled = [&] { return epoch == 10; };
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const& found = result.findings.at(0);
  CHECK(found.outcome == verdict::unproven);
  CHECK(found.reason == "cancelled in epoch 10");
  CHECK(std::isfinite(found.effect.high));
  CHECK(result.epochs == 9);
  CHECK(on.alive == 0);

  auto at_once = two(1e-3, 1e-3);
  chosen.progress = nullptr;
  chosen.cancelled = [] { return true; };
  auto const nothing = measure::run(at_once.variants(), {b_against_a}, chosen);
  CHECK(std::isinf(nothing.findings.at(0).effect.high));
  CHECK(at_once.calls.empty());
}

TEST_CASE("exceptions of the caller's hooks pass through, and all subjects end") {
  auto on = two(1e-3, 1e-3);
  auto chosen = seeded();
  chosen.at_epoch_end = [](measure::epoch const&) -> std::vector<std::string> {
    throw std::logic_error("hook");
  };
  CHECK_THROWS_WITH(measure::run(on.variants(), {b_against_a}, chosen), "hook");
  CHECK(on.alive == 0);
}

TEST_CASE("a missing primary clock ends the comparison, naming clock and variant") {
  for (double const given : {not_a_number, 0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    auto on = two(1e-3, 1e-3);
    on.measured = [&](bench::call const& made, measure::cell cell) {
      if (made.label == "b") { cell[clock::wall] = given; }
      return cell;
    };
    auto const result = measure::run(on.variants(), {b_against_a}, seeded());
    CHECK(result.findings.at(0).outcome == verdict::unproven);
    CHECK_THAT(result.findings.at(0).reason,
               assay::test::contains("variant \"b\"") && assay::test::contains("wall clock gave"));
  }
  auto on = two(1e-3, 1e-3);
  auto chosen = seeded();
  chosen.clock = clock::gpu;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK_THAT(result.findings.at(0).reason, assay::test::contains("gpu clock"));
}

TEST_CASE("other clocks are secondary findings from the same cells, or left out with a note") {
  auto on = two(1e-3, 1.05e-3);
  bool gap = false;
  on.measured = [&](bench::call const& made, measure::cell cell) {
    cell[clock::gpu] = made.label == "a" ? cell[clock::wall] : 0.8 * cell[clock::wall];
    cell[clock::submit] = gap && made.buffer_set == 1 ? not_a_number : 1e-6;
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  REQUIRE(result.findings.size() == 3);
  CHECK(result.findings[0].primary);
  CHECK(result.findings[1].on == clock::gpu);
  CHECK_FALSE(result.findings[1].primary);
  CHECK(result.findings[1].effect.ratio == Approx(0.84).epsilon(1e-3));
  CHECK(result.findings[2].outcome == verdict::equivalent);
  CHECK(noted(result, "findings on other clocks (gpu and submit) are secondary"));
  CHECK(result.variants[1].on(clock::gpu).median == Approx(0.84e-3).epsilon(1e-3));

  gap = true;
  auto const partial = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(partial.findings.size() == 2);
  CHECK(noted(partial, "submit clock is left out"));
}

TEST_CASE("a biased hidden control makes small effects and equivalence UNPROVEN") {
  for (double const b : {1.01e-3, 0.995e-3, 1e-3}) {
    auto on = two(1e-3, b);
    on.measured = [&](bench::call const& made, measure::cell cell) {
      if (made.instance == 1) { cell[clock::wall] *= 1.02; }
      return cell;
    };
    auto const result = measure::run(on.variants(), {b_against_a}, seeded());
    auto const& found = result.findings.at(0);
    CHECK(found.outcome == verdict::unproven);
    CHECK_FALSE(found.is_bound);
    CHECK_THAT(
        found.reason,
        assay::test::contains("hidden control: \"a\" differs from its own second instance by +"));
    CHECK(found.effect.ratio == Approx(b / 1e-3).epsilon(1e-3));  // told, but not claimed
    REQUIRE(result.hidden_control);
    CHECK(result.hidden_control->ratio == Approx(1.02).epsilon(1e-3));
    CHECK(result.hidden_control->confidence == 0.99);
  }
}

TEST_CASE("a biased hidden control turns a large effect into a bound") {
  struct expected {
    double b, instance;
    verdict outcome;
    double bound;
  };
  // The bound is the effect less the difference between the control's instances, whatever its sign.
  for (auto const& row : {expected{1.2e-3, 1.02, verdict::slower, 1.2 / 1.02},
                          expected{1.2e-3, 1 / 1.02, verdict::slower, 1.2 / 1.02},
                          expected{0.8e-3, 1.02, verdict::faster, 0.8 * 1.02},
                          expected{0.8e-3, 1 / 1.02, verdict::faster, 0.8 * 1.02}}) {
    auto on = two(1e-3, row.b);
    on.measured = [&](bench::call const& made, measure::cell cell) {
      if (made.instance == 1) { cell[clock::wall] *= row.instance; }
      return cell;
    };
    auto const result = measure::run(on.variants(), {b_against_a}, seeded());
    auto const& found = result.findings.at(0);
    CHECK(found.outcome == row.outcome);
    CHECK(found.is_bound);
    CHECK(found.exceeds_margin);
    CHECK_THAT(found.reason, assay::test::contains("\"a\" differs from its own second instance"));
    bool const slower = row.outcome == verdict::slower;
    CHECK((slower ? found.effect.low : found.effect.high) == Approx(row.bound).epsilon(2e-3));
    CHECK((slower ? found.effect.low < row.bound : found.effect.high > row.bound));
    auto const said = report::short_text(result);
    INFO(said);
    CHECK(said.find("at least ") != std::string::npos);
    CHECK(said.find("differs from its own") != std::string::npos);
  }
}

TEST_CASE("carry-over into the other variant's cells makes the verdict UNPROVEN") {
  auto on = two(1e-3, 1e-3);
  std::string last;  // and what ran before it: wash-out launches do not help against this trace
  std::string before_last;
  on.before = [&](bench::call const& made) {
    if (made.what == 'w') { before_last = std::exchange(last, made.label); }
  };
  on.measured = [&](bench::call const& made, measure::cell cell) {
    if (before_last == "a" && made.label == "b") { cell[clock::wall] *= 1.03; }
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(result.findings.at(0).outcome == verdict::unproven);
  CHECK_THAT(result.findings.at(0).reason, assay::test::contains("carry-over"));
}

TEST_CASE("carry-over that makes an equivalence less certain makes it INCONCLUSIVE") {
  auto on = two(1e-3, 0.996e-3);
  std::string last;
  std::string before_last;
  on.before = [&](bench::call const& made) {
    if (made.what == 'w') { before_last = std::exchange(last, made.label); }
  };
  // 0.7 % after the other variant, in half of the cells; +0.6 % and -0.6 % in epochs by turns. Of
  // 3,000 seeds none gave another verdict.
  on.measured = [&](bench::call const& made, measure::cell cell) {
    if (made.label != "b") { return cell; }
    if (before_last == "a") { cell[clock::wall] *= 1.007; }
    cell[clock::wall] *= made.epoch % 2 == 0 ? 1.006 : 0.994;
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  auto const& found = result.findings.at(0);
  INFO(report::short_text(result));
  CHECK(stats::classify(
            {std::log(found.effect.low), std::log(found.effect.ratio), std::log(found.effect.high)},
            0.01)
            .outcome == verdict::equivalent);
  CHECK(found.outcome == verdict::inconclusive);
  CHECK_THAT(found.reason, assay::test::contains("carry-over"));
  CHECK_THAT(report::short_text(result),
             assay::test::contains("without which it is INCONCLUSIVE") &&
                 assay::test::contains("longer work in each call"));
}

TEST_CASE(
    "an epoch that is called disturbed is dropped, repeated and recorded, and does not count") {
  auto on = two(1e-3, 1.05e-3);
  auto chosen = seeded();
  chosen.at_epoch_end = [](measure::epoch const& now) {
    return now.number == 2   ? std::vector<std::string>{"SW power cap", "hot"}
           : now.number == 5 ? std::vector<std::string>{"hot"}
                             : std::vector<std::string>{};
  };
  chosen.throttle_bits = [&] { return std::uint64_t{40} + on.epoch_seeds.size(); };
  on.measured = [](bench::call const& made, measure::cell cell) {
    if (made.label == "b" && (made.epoch == 2 || made.epoch == 5)) { cell[clock::wall] *= 3; }
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const& found = result.findings.at(0);
  CHECK(found.outcome == verdict::slower);
  CHECK(found.effect.ratio == Approx(1.05).epsilon(1e-3));
  CHECK(found.epoch_effects.size() == 8);
  CHECK(result.epochs == 8);
  CHECK(result.variants[1].on(clock::wall).max < 1.1e-3);
  REQUIRE(result.epoch_records.size() == 10);
  int recorded = 0;
  int counted = 0;
  for (auto const& each : result.epoch_records) {
    CHECK(each.number == &each - result.epoch_records.data());
    CHECK(each.dropped == (each.number == 2 ? "SW power cap; hot" : each.number == 5 ? "hot" : ""));
    CHECK(each.throttle == 41U + static_cast<unsigned>(each.number));
    recorded += 12 * each.blocks;
    counted += each.dropped.empty() ? 4 * each.blocks : 0;
  }
  CHECK(result.cells.size() == static_cast<std::size_t>(recorded));
  CHECK(result.variants[0].cells[0].size() == static_cast<std::size_t>(counted));
  CHECK(result.variants[1].on(clock::wall).count == static_cast<std::size_t>(counted));
  CHECK(noted(result, "2 disturbed epochs were dropped and repeated"));
}

TEST_CASE("a disturbed cell drops its epoch, with the reason of the first such cell") {
  for (int const second : {0, 1}) {
    auto on = two(1e-3, 1.05e-3);
    int told = 0;
    on.measured = [&](bench::call const& made, measure::cell cell) {
      if (made.epoch == 3 && made.label == "a" && made.instance == second) {
        cell.disturbance = "it was late, " + std::to_string(++told);
        cell[clock::wall] *= 7;
      }
      return cell;
    };
    auto const result = measure::run(on.variants(), {b_against_a}, seeded());
    CHECK(told > 1);
    CHECK(result.findings.at(0).effect.ratio == Approx(1.05).epsilon(1e-3));
    CHECK(result.epochs == 8);
    REQUIRE(result.epoch_records.size() == 9);
    CHECK(result.epoch_records[3].dropped == "\"a\": it was late, 1");
    CHECK(noted(result, "1 disturbed epoch was dropped and repeated"));
    CHECK(result.failure.empty());
    REQUIRE(result.hidden_control);
    CHECK(result.hidden_control->ratio == Approx(1).epsilon(1e-3));
  }
}

TEST_CASE("too many disturbed epochs end the comparison UNPROVEN") {
  bench on;
  on.seconds = {{"a", 1e-3}, {"b", 1.05e-3}, {"c", 1.1e-3}};
  auto chosen = seeded();
  chosen.at_epoch_end = [](measure::epoch const&) { return std::vector<std::string>{"too hot"}; };
  std::vector<std::string> const labels{"a", "b", "c"};
  auto const result = measure::run(on.variants(), measure::against_first(labels), chosen);
  CHECK(result.failure == "8 of 8 epochs were disturbed, the last by: too hot");
  CHECK(result.epochs == 0);
  CHECK(result.epoch_records.size() == 8);
  for (auto const& found : result.findings) {
    CHECK(found.outcome == verdict::unproven);
    CHECK(found.reason == result.failure);
  }
  CHECK(on.alive == 0);
  std::ostringstream whole;
  whole << full(result);
  for (auto const& text : {report::short_text(result), whole.str()}) {
    INFO(text);
    auto const verdicts = text.substr(text.find("UNPROVEN"));
    CHECK(verdicts.find("the last by: too hot") == verdicts.rfind("the last by: too hot"));
    CHECK(verdicts.find("the same reason") != std::string::npos);
  }
}

TEST_CASE("half of the epochs may be disturbed, and no more") {
  for (int const disturbed : {0, 1}) {
    auto on = two(1e-3, 1.05e-3);
    auto chosen = seeded();
    chosen.at_epoch_end = [&](measure::epoch const& now) {
      return now.number % 2 == disturbed ? std::vector<std::string>{"hot"}
                                         : std::vector<std::string>{};
    };
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    if (disturbed == 1) {  // 7 of 15 when the first analysis is due
      CHECK(result.failure.empty());
      CHECK(result.epochs == 8);
      CHECK(stats::is_sign(result.findings.at(0).outcome));
    } else {
      CHECK(result.failure == "8 of 15 epochs were disturbed, the last by: hot");
      CHECK(result.findings.at(0).outcome == verdict::unproven);
      CHECK(result.epochs == 7);
    }
  }
}

TEST_CASE("a difference under the clock's tick is refused") {
  auto on = two(10e-6, 10.01e-6);
  on.jitter = 1e-5;
  auto chosen = seeded();
  chosen.tick_seconds = {5e-6, 5e-6, 5e-6};
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(result.findings.at(0).outcome == verdict::unproven);
  CHECK_THAT(result.findings.at(0).reason, assay::test::contains("resolution"));
  chosen.tick_seconds = {100e-9, 100e-9, 100e-9};  // 100 launches a cell: 1 ns
  auto const fine = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK_THAT(fine.findings.at(0).reason, !assay::test::contains("resolution"));
}

TEST_CASE("variants at different SM clocks get a note that splits the effect") {
  auto on = two(1e-3, 1.05e-3);
  on.measured = [](bench::call const& made, measure::cell cell) {
    cell.sm_hertz = made.label == "a" ? 1.98e9 : 1.90e9;
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(noted(result, "the SM clocks differ"));
  CHECK(noted(result, "clock -4.04 %"));
  CHECK(result.variants[0].sm_hertz == 1.98e9);
}

TEST_CASE("every epoch is built anew, with one seed for all, and a second instance of the first") {
  auto on = two(1e-3, 1.05e-3);
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(on.count('b', "a") == 2 * result.epochs);
  CHECK(on.count('b', "b") == result.epochs);
  CHECK(on.most_alive == 3);
  CHECK(on.epoch_seeds.size() == static_cast<std::size_t>(result.epochs));
  auto const second = std::count_if(on.calls.begin(), on.calls.end(), [](auto const& each) {
    return each.what == 'b' && each.label == "a" && each.instance == 1;
  });
  CHECK(second == result.epochs);
  CHECK(std::none_of(on.calls.begin(), on.calls.end(),
                     [](auto const& each) { return each.label == "b" && each.instance != 0; }));
  std::map<std::pair<std::string, int>, int> timed;  // since the warm-up
  for (auto const& each : on.calls) {
    if (each.what == 't' && each.epoch > 0) { ++timed[{each.label, each.instance}]; }
  }
  CHECK(timed[{"a", 0}] == timed[{"b", 0}]);  // the second instance is one more in every block
  CHECK(timed[{"a", 1}] == timed[{"b", 0}]);
  REQUIRE(result.hidden_control);
  CHECK(result.hidden_control->low <= 1.001);
  CHECK(result.hidden_control->high >= 0.999);

  auto bare = two(1e-3, 1.05e-3);
  auto chosen = seeded();
  chosen.hidden_control = false;
  auto const without = measure::run(bare.variants(), {b_against_a}, chosen);
  CHECK(bare.most_alive == 2);
  CHECK_FALSE(without.hidden_control);
  CHECK(without.findings.at(0).noise > 0);
  CHECK(noted(without, "no hidden control"));
}

TEST_CASE("an epoch begins when the last one's subjects are gone, and ends with its own alive") {
  auto on = two(1e-3, 1.05e-3);
  auto chosen = seeded();
  std::vector<int> at_begin, at_end;
  chosen.at_epoch_begin = [&](measure::epoch const&) { at_begin.push_back(on.alive); };
  chosen.at_epoch_end = [&](measure::epoch const&) {
    at_end.push_back(on.alive);
    return std::vector<std::string>{};
  };
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const epochs = static_cast<std::size_t>(result.epochs);
  CHECK(at_begin == std::vector<int>(epochs, 0));
  CHECK(at_end == std::vector<int>(epochs, 3));
}

TEST_CASE("the order of building is drawn anew in every epoch") {
  auto on = two(1e-3, 1e-3);
  measure::options chosen;
  chosen.seed = 7;
  chosen.run_until_sign = true;
  chosen.hidden_control = false;
  (void)measure::run(on.variants(), {b_against_a}, chosen);
  std::vector<std::string> built;
  for (auto const& each : on.calls) {
    if (each.what == 'b') { built.push_back(each.label); }
  }
  std::set<std::string> first;
  for (std::size_t i = 0; i < built.size(); i += 2) { first.insert(built[i]); }
  CHECK(first.size() == 2);
}

TEST_CASE("one seed runs the same cells in the same order, and 0 draws one that is recorded") {
  auto const order = [](std::uint64_t seed, std::uint64_t* used) {
    auto on = two(1e-3, 1.05e-3);
    measure::options chosen;
    chosen.seed = seed;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    *used = result.seed;
    std::string text;
    for (auto const& each : on.calls) {
      if (each.what == 't' || each.what == 'b') {
        text += each.what + each.label + std::to_string(each.buffer_set);
      }
    }
    return text;
  };
  std::uint64_t drawn = 0;
  auto const first = order(0, &drawn);
  REQUIRE(drawn != 0);
  std::uint64_t again = 0;
  CHECK(order(drawn, &again) == first);
  CHECK(again == drawn);
  CHECK(order(drawn + 1, &again) != first);
}

TEST_CASE("several contrasts share the level, and the comparison stops when all are settled") {
  bench on;
  on.seconds = {{"a", 1e-3}, {"b", 1.05e-3}, {"c", 0.9e-3}};
  std::vector<std::string> const labels{"a", "b", "c"};
  auto const result = measure::run(on.variants(), measure::against_first(labels), seeded());
  CHECK(result.findings.at(0).effect.low > 1);
  CHECK(result.findings.at(1).effect.high < 1);
  CHECK(result.epochs == 12);  // 0.010 / 2 is out of reach for 8
  CHECK(noted(result, "2 contrasts share alpha"));
}

TEST_CASE("the axis that changed is named, two are confounded unless crossed on purpose") {
  auto const with = [](std::string memory, std::string submit) {
    return measure::variant{memory + submit, {{"memory", memory}, {"submit", submit}}, {}, 0, 0};
  };
  auto const kind = measure::contrast::kind::difference;
  CHECK(measure::changed_axes({with("pool", "x"), with("async", "x")}, {{"", kind, {}}}) ==
        "memory");
  CHECK(measure::changed_axes({with("pool", "x"), with("async", "y")}, {{"", kind, {}}}) ==
        "confounded");
  CHECK(measure::changed_axes({with("pool", "x"), with("pool", "x")}, {{"", kind, {}}}).empty());
  CHECK(measure::changed_axes(
            {with("pool", "x"), with("async", "x"), with("pool", "y"), with("async", "y")},
            {{"", measure::contrast::kind::interaction, {}}}) == "memory x submit");
}

TEST_CASE("the result has the times of all cells") {
  auto on = two(2e-3, 4e-3);
  on.jitter = 0;
  auto variants = on.variants();
  variants[0].bytes = 1e9;
  auto const result = measure::run(variants, {b_against_a}, seeded());
  CHECK(result.variants[0].on(clock::wall).median == Approx(2e-3));
  CHECK(result.variants[1].on(clock::wall).max == Approx(4e-3));
  CHECK(result.variants[0].bytes == 1e9);
  CHECK(result.variants[0].axes.at(0).second == "a");
  CHECK(result.changed == "axis");
  CHECK(noted(result, "2 to 4 untimed and 4 timed launches"));
}

TEST_CASE("the orders of verification and warm-up are random") {
  using place = std::array<int, 3>;  // 0: a, 1: b; instance; buffer set
  std::map<char, std::set<place>> first;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto on = two(1e-3, 1.05e-3);
    measure::options chosen;
    chosen.seed = seed;
    (void)measure::run(on.variants(), {b_against_a}, chosen);
    std::set<char> seen;
    for (auto const& each : on.calls) {
      if (!seen.insert(each.what).second) { continue; }
      first[each.what].insert({each.label == "b" ? 1 : 0, each.instance, each.buffer_set});
    }
    // The last untimed launch before the first cell is drawn as well.
    auto const last_warm_up = [&](auto from) {
      for (; from != on.calls.begin(); --from) {
        if (from->what == 'w') { return from; }
      }
      return from;
    };
    auto const of_second = std::find_if(on.calls.begin(), on.calls.end(), [](auto const& each) {
      return each.what == 't' && each.epoch == 1;
    });
    auto const before = last_warm_up(std::prev(of_second, 2));  // the one before is the wash-out
    first['l'].insert({before->label == "b" ? 1 : 0, before->instance, before->buffer_set});
  }
  CHECK(first['b'].size() == 3);  // by instance
  CHECK(first['v'].size() == 4);  // the second instance is not verified
  CHECK(first['w'].size() == 6);
  CHECK(first['t'].size() == 6);
  CHECK(first['l'].size() == 6);
}

TEST_CASE("each cell is recorded with its epoch, position, variant, buffer set and start") {
  virtual_clock::seconds = 1000;
  auto on = two(1e-3, 1.05e-3);
  on.cell_costs = 0.01;
  on.measured = [](bench::call const&, measure::cell cell) {
    cell[clock::gpu] = 2 * cell[clock::wall];
    cell.sm_hertz = 1.5e9;
    return cell;
  };
  auto const result = measure::run<virtual_clock>(on.variants(), {b_against_a}, seeded());
  std::vector<bench::call> timed;
  for (auto const& each : on.calls) {
    if (each.what == 't') { timed.push_back(each); }
  }
  REQUIRE(timed.size() > result.cells.size());  // the cells of the warm-up come first
  timed.erase(timed.begin(), timed.end() - static_cast<std::ptrdiff_t>(result.cells.size()));
  double start = 0;
  int position = 0;
  int epoch = 0;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    auto const& cell = result.cells[i];
    position = cell.epoch == epoch ? position : 0;
    epoch = cell.epoch;
    REQUIRE(cell.epoch == timed[i].epoch);
    REQUIRE(cell.position == position++);
    REQUIRE(cell.variant == (timed[i].instance == 1 ? 2 : timed[i].label == "b" ? 1 : 0));
    REQUIRE(cell.buffer_set == timed[i].buffer_set);
    CHECK(cell.seconds[1] == 2 * cell.seconds[0]);
    CHECK(std::isnan(cell.seconds[2]));
    CHECK(cell.sm_hertz == 1.5e9);
    CHECK(cell.start_seconds > start);
    start = cell.start_seconds;
    auto const& of = result.epoch_records.at(static_cast<std::size_t>(cell.epoch));
    CHECK(cell.start_seconds >= of.start_seconds);
    CHECK(cell.start_seconds < of.start_seconds + of.seconds);
  }
  CHECK(result.epoch_records.front().start_seconds == 0);
  CHECK(result.seconds == Approx(virtual_clock::seconds - 1000));
  CHECK(result.cells.back().start_seconds == Approx(result.seconds - 0.01));
}

TEST_CASE("each analysis is recorded, with its level and its verdicts") {
  auto on = two(1e-3, 1e-3);
  measure::options chosen;
  chosen.seed = 7;
  chosen.run_until_sign = true;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const planned = stats::alpha_schedule(96, 0.05, 1);
  REQUIRE(result.analyses.size() == planned.size());
  for (std::size_t k = 0; k < planned.size(); ++k) {
    CHECK(result.analyses[k].epochs == planned[k].epochs);
    CHECK(result.analyses[k].alpha == planned[k].alpha);
    CHECK(result.analyses[k].critical_value == planned[k].critical_value);
    CHECK(result.analyses[k].outcomes == std::vector<verdict>{verdict::equivalent});
  }
  CHECK(result.autocorrelation ==
        stats::lag_one_autocorrelation(result.findings.at(0).epoch_effects));

  bench three;
  three.seconds = {{"a", 1e-3}, {"b", 1.05e-3}, {"c", 0.9e-3}};
  std::vector<std::string> const labels{"a", "b", "c"};
  auto const both = measure::run(three.variants(), measure::against_first(labels), seeded());
  REQUIRE(both.analyses.size() == 1);
  CHECK(both.analyses[0].outcomes == std::vector<verdict>{verdict::slower, verdict::faster});
}

TEST_CASE("max_seconds ends a comparison, but never before the first analysis") {
  std::set<int> ends;
  for (double const most : {0.01, 5.0, 9.0, 20.0, 60.0, 1000.0}) {
    virtual_clock::seconds = 0;
    auto on = two(1e-3, 1e-3);
    on.jitter = 1.9;  // nothing is settled
    on.cell_costs = 0.01;
    measure::options chosen;
    chosen.seed = 5;  // no false sign ends this comparison early
    chosen.max_seconds = most;
    INFO(most << " s");
    auto const result = measure::run<virtual_clock>(on.variants(), {b_against_a}, chosen);
    CHECK(result.failure.empty());
    CHECK_FALSE(result.analyses.empty());
    CHECK(result.epochs >= 8);
    auto const expected = [&](int epochs) {  // when the analysis after so many epochs comes
      auto const& last = result.epoch_records.at(static_cast<std::size_t>(epochs - 1));
      int next = 96;
      for (int const each : {48, 24, 16, 12}) { next = each > epochs ? each : next; }
      return (last.start_seconds + last.seconds) * next / epochs;
    };
    for (int epochs = 8; epochs < result.epochs; ++epochs) { CHECK(expected(epochs) <= most); }
    if (result.epochs < 96) { CHECK(expected(result.epochs) > most); }
    ends.insert(result.epochs);
  }
  CHECK(ends.contains(8));
  CHECK(ends.contains(96));
  CHECK(ends.size() >= 4);
}

TEST_CASE("the blocks of an epoch follow from the variances, and from the time of its set-up") {
  auto const blocks = [](double jitter, double cell_costs) {
    virtual_clock::seconds = 0;
    auto on = two(1e-3, 1e-3);
    on.jitter = jitter;
    on.cell_costs = cell_costs;
    measure::options chosen;
    chosen.seed = 5;  // no false sign ends these comparisons early
    chosen.max_epochs = 12;
    chosen.run_until_sign = true;
    chosen.max_seconds = 1e9;
    std::vector<int> all;
    auto const result = measure::run<virtual_clock>(on.variants(), {b_against_a}, chosen);
    for (auto const& each : result.epoch_records) { all.push_back(each.blocks); }
    return all;
  };
  std::vector<int> calm(12, 1);
  calm[0] = calm[1] = 2;
  CHECK(blocks(1e-3, 0) == calm);
  auto const noisy = blocks(0.3, 0);
  REQUIRE(noisy.size() == 12);
  CHECK(noisy[0] == 2);
  CHECK(noisy[1] == 2);
  CHECK(noisy[2] == 8);
  CHECK(noisy[3] == 8);
  // A block takes 12 cells of 0.1 s and an epoch has no set-up: no time for a second block.
  auto const slow = blocks(0.3, 0.1);
  CHECK(slow == std::vector<int>(calm.begin(), calm.begin() + static_cast<long>(slow.size())));
  // 12 cells of 1.5 ms: 50 ms are worth 2.8 blocks, rounded up.
  CHECK(blocks(0.3, 1.5e-3)[2] == 3);
}

TEST_CASE("bytes, FLOPs and caveats that subjects declare arrive in the result") {
  auto on = two(1e-3, 1.05e-3);
  on.bytes = 3e6;
  on.flops = 5e6;
  on.caveats = {"streams are not held", "streams are not held"};
  auto variants = on.variants();
  variants[1].bytes = 7;  // the variant's own number counts
  auto const result = measure::run(variants, {b_against_a}, seeded());
  CHECK(result.variants[0].bytes == 3e6);
  CHECK(result.variants[0].flops == 5e6);
  CHECK(result.variants[1].bytes == 7);
  CHECK(result.variants[1].flops == 5e6);
  CHECK(result.caveats == std::vector<std::string>{"streams are not held"});
  std::ostringstream whole;
  whole << full(result);
  CHECK(whole.str().find("  - streams are not held\n") != std::string::npos);
  CHECK(report::short_text(result).find("  streams are not held\n") != std::string::npos);
}

TEST_CASE("correlated epochs get a note, and independent ones do not") {
  auto on = two(1e-3, 1e-3);
  bool drifting = true;
  on.measured = [&](bench::call const& made, measure::cell cell) {
    if (drifting && made.label == "b") {
      cell[clock::wall] *= 1 + 0.002 * std::sin(made.epoch * 3.14159 / 6);  // period: 12 epochs
    }
    return cell;
  };
  auto chosen = seeded();
  chosen.max_epochs = 24;
  chosen.hidden_control = false;
  chosen.margin = 1e-6;
  chosen.run_until_sign = true;
  auto const kept = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(kept.autocorrelation > 0.5);
  CHECK(noted(kept, "successive epochs are correlated (+"));
  drifting = false;
  auto fresh = two(1e-3, 1e-3);
  chosen.seed = 11;
  auto const free = measure::run(fresh.variants(), {b_against_a}, chosen);
  CHECK_FALSE(noted(free, "successive epochs are correlated"));
}

TEST_CASE("a comparison answers by name, and refuses pairs that it did not compare") {
  auto on = two(1e-3, 1.05e-3);
  auto const pair = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(pair.is(pair.findings.at(0).outcome));
  CHECK_FALSE(pair.is(verdict::equivalent));
  CHECK(pair.outcome("a", "b") == pair.findings.at(0).outcome);
  CHECK(&pair.effect("a", "b") == &pair.findings.at(0).effect);
  CHECK(pair.reason() == pair.findings.at(0).reason);
  CHECK_THROWS_WITH(pair.outcome("b", "a"),
                    "\"a\" was not compared with \"b\": variants are held against the first one");
  CHECK_THROWS_AS(pair.effect("a", "a"), std::invalid_argument);
  CHECK_THROWS_AS(pair.outcome("a", "x"), std::invalid_argument);
  CHECK_THROWS_AS(pair.outcome("", ""), std::invalid_argument);

  bench three;
  three.seconds = {{"a", 1e-3}, {"b", 1.05e-3}, {"c", 0.9e-3}};
  three.measured = [](bench::call const&, measure::cell cell) {
    cell[clock::gpu] = 1e-3;  // a secondary clock is no part of the answer
    return cell;
  };
  std::vector<std::string> const labels{"a", "b", "c"};
  auto const many = measure::run(three.variants(), measure::against_first(labels), seeded());
  REQUIRE(many.findings.size() == 4);
  CHECK(many.effect("a", "b").ratio == Approx(1.05).epsilon(1e-3));
  CHECK(many.effect("a", "c").ratio == Approx(0.9).epsilon(1e-3));
  CHECK(many.outcome("a", "c") == many.findings[1].outcome);
  CHECK_THROWS_WITH(many.outcome("b", "c"), assay::test::contains("was not compared"));
  CHECK_THROWS_WITH(many.is(verdict::slower), assay::test::contains("several verdicts"));
  CHECK_THROWS_WITH(many.reason(), assay::test::contains("outcome(control, variant)"));
  CHECK_THROWS_WITH(measure::comparison{}.is(verdict::slower), assay::test::contains("no verdict"));
}

TEST_CASE("invalid variants, contrasts and options are refused, naming the value") {
  auto on = two(1e-3, 1e-3);
  auto const refused = [&](std::vector<measure::contrast> const& contrasts,
                           std::function<void(measure::options&)> const& change) {
    measure::options chosen;
    change(chosen);
    try {
      (void)measure::run(on.variants(), contrasts, chosen);
    } catch (std::invalid_argument const& cause) { return std::string{cause.what()}; }
    return std::string{"not refused"};
  };
  auto const as_is = [](measure::options&) {};
  auto const kind = measure::contrast::kind::difference;
  CHECK_THAT(refused({}, as_is), assay::test::contains("1 contrast or more"));
  CHECK_THAT(refused({{"x", kind, {1}}}, as_is), assay::test::contains("1 weights for 2 variants"));
  CHECK_THAT(refused({{"x", kind, {1, 1}}}, as_is), assay::test::contains("sum to 0, not 2"));
  CHECK_THAT(refused({{"x", kind, {0, 0}}}, as_is), assay::test::contains("not all zero"));
  CHECK_THAT(refused({{"x", kind, {not_a_number, 1}}}, as_is), assay::test::contains("finite"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.margin = -0.5; }),
             assay::test::contains("-0.5"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.alpha = 2; }), assay::test::contains("alpha"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.max_epochs = 3; }),
             assay::test::contains("at most 3 epochs"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.max_seconds = 0; }),
             assay::test::contains("max_seconds"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.margin = 0; }),
             assay::test::contains("margin"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.cell_seconds = 0; }),
             assay::test::contains("cell_seconds"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.warm_up_seconds = -1; }),
             assay::test::contains("warm_up_seconds"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.tick_seconds[1] = not_a_number; }),
             assay::test::contains("tick"));
  CHECK(on.calls.empty());

  auto doubled = on.variants();
  doubled[1].label = "a";
  CHECK_THROWS_WITH(measure::run(doubled, {b_against_a}), assay::test::contains("labelled \"a\""));
  auto unbuilt = on.variants();
  unbuilt[1].build = nullptr;
  CHECK_THROWS_WITH(measure::run(unbuilt, {b_against_a}),
                    assay::test::contains("no build function"));
  std::vector<measure::variant> const one(1, on.variants()[0]);
  CHECK_THROWS_WITH(measure::run(one, {b_against_a}), assay::test::contains("2 variants"));
}
