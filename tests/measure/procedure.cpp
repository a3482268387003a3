// SPDX-License-Identifier: Apache-2.0
/// @file
/// The engine with scripted subjects: verdicts, vetoes, wrong answers, failures, and what it calls.
#include <assay/measure/factorial.hpp>
#include <assay/measure/procedure.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace assay;
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
    int instance = 0;
  };
  std::vector<call> calls;
  std::map<std::string, double> seconds;  ///< by label, for the wall clock
  stats::random_source noise{1};
  double jitter = 1e-3;
  int alive = 0;
  int most_alive = 0;
  std::set<std::uint64_t> epoch_seeds;
  /// Called first in each call; may throw.
  std::function<void(call const&)> before = [](call const&) {};
  /// What a cell is, from the default one.
  std::function<measure::cell(call const&, measure::cell)> measured =
      [](call const&, measure::cell given) { return given; };
  /// What is wrong with an answer.
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
    scripted(bench& on, std::string label, int instance)
        : bench_(on), label_(std::move(label)), instance_(instance) {
      bench_.most_alive = std::max(bench_.most_alive, ++bench_.alive);
    }
    ~scripted() override { --bench_.alive; }
    void warm(int buffer_set, int) override { bench_.note({'w', label_, buffer_set, instance_}); }
    measure::cell time(int buffer_set, int) override {
      call const made{'t', label_, buffer_set, instance_};
      bench_.note(made);
      double const uniform = static_cast<double>(bench_.noise.next() >> 11U) * 0x1p-53;
      measure::cell given;
      given[clock::wall] = bench_.seconds.at(label_) * (1 + bench_.jitter * (uniform - 0.5));
      return bench_.measured(made, given);
    }
    std::optional<std::string> verify(int buffer_set) override {
      call const made{'v', label_, buffer_set, instance_};
      bench_.note(made);
      return bench_.wrong(made);
    }

   private:
    bench& bench_;
    std::string label_;
    int instance_;
  };

  std::vector<measure::variant> variants() {
    std::vector<measure::variant> all;
    for (auto const& [label, unused] : seconds) {
      all.push_back({label, {{"axis", label}}, [this, label](measure::epoch const& now) {
                       note({'b', label, 0, now.number});
                       epoch_seeds.insert(now.seed);
                       return std::make_unique<scripted>(*this, label, built_++);
                     }});
    }
    return all;
  }

 private:
  int built_ = 0;
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

TEST_CASE("what is slower, faster or the same is said to be") {
  struct expected {
    double b;
    verdict outcome;
    bool material;
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

TEST_CASE("the same is equivalent, with the noise floor that the hidden control saw") {
  int equivalent = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto on = two(1e-3, 1e-3);
    on.noise = stats::random_source{seed};
    measure::options chosen;
    chosen.seed = seed;
    auto const result = measure::run(on.variants(), {b_against_a}, chosen);
    equivalent += result.findings.at(0).outcome == verdict::equivalent;
    CHECK(result.findings.at(0).noise_floor > 1e-5);
    CHECK(result.findings.at(0).noise_floor < 1e-3);
  }
  CHECK(equivalent >= 45);  // of 50, at 2 to 3 % vetoes and false signs together
}

TEST_CASE("noise too large for 24 epochs is inconclusive, with the epochs that would settle it") {
  auto on = two(1e-3, 1.03e-3);
  on.jitter = 1.5;
  auto chosen = seeded();
  chosen.max_epochs = 8;
  chosen.hidden_control = false;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const& found = result.findings.at(0);
  INFO("seed " << chosen.seed);
  CHECK(result.epochs == 8);
  if (found.outcome == verdict::inconclusive) { CHECK(found.epochs_needed > 8); }
  CHECK(found.effect.high / found.effect.low > 1.1);
}

TEST_CASE("asked for a sign, it runs on after equivalence") {
  auto on = two(1e-3, 1e-3);
  measure::options chosen;
  chosen.seed = 7;
  chosen.run_until_sign = true;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(result.epochs == 24);
  CHECK(result.findings.at(0).outcome == verdict::equivalent);
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

TEST_CASE("a wrong answer after timing takes the verdict back") {
  auto on = two(1e-3, 1.05e-3);
  on.wrong = [&](bench::call const& made) -> std::optional<std::string> {
    if (made.label == "a" && on.count('t', "") > 0) { return "stale"; }
    return {};
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(result.findings.at(0).outcome == verdict::wrong_answer);
  CHECK_THAT(result.findings.at(0).reason,
             assay::test::contains("\"a\", epoch 8, after timing, buffer set 0: stale"));
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

TEST_CASE("a wrong variant blames the contrasts that it is in, and leaves none of them proven") {
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

TEST_CASE("what a subject throws becomes the reason, with variant, epoch and place") {
  struct expected {
    char what;
    std::string place;
  };
  for (auto const& row : {expected{'b', "building"}, expected{'w', "warming up"},
                          expected{'t', "timing"}, expected{'v', "verifying"}}) {
    auto on = two(1e-3, 1e-3);
    bool third = false;
    on.before = [&](bench::call const& made) {
      third = third || (made.what == 'b' && made.instance == 2);
      if (third && made.what == row.what && made.label == "b") {
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
    CHECK(result.variants[0].on(clock::wall).count >= 2 * 16);
  }
}

TEST_CASE("exceptions of unknown type and builds of nothing are told too") {
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

TEST_CASE("cancelled, it keeps the interval of the last look and claims nothing") {
  auto on = two(1e-3, 1e-3);
  measure::options chosen;
  chosen.seed = 7;
  chosen.run_until_sign = true;  // so that it goes on after the first look
  int epoch = 0;
  chosen.progress = [&](int now, int of, std::string_view) {
    CHECK(of == 24);
    epoch = now;
  };
  chosen.cancelled = [&] { return epoch == 10; };
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const& found = result.findings.at(0);
  CHECK(found.outcome == verdict::unproven);
  CHECK(found.reason == "cancelled in epoch 10 of at most 24");
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

TEST_CASE("what the caller's own hooks throw passes through, and nothing is left alive") {
  auto on = two(1e-3, 1e-3);
  auto chosen = seeded();
  chosen.at_epoch_end = [](measure::epoch const&) -> std::vector<std::string> {
    throw std::logic_error("hook");
  };
  CHECK_THROWS_WITH(measure::run(on.variants(), {b_against_a}, chosen), "hook");
  CHECK(on.alive == 0);
}

TEST_CASE("a primary clock that is not given ends it, naming clock and variant") {
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
  CHECK(noted(result, "gpu clock are secondary"));
  CHECK(result.variants[1].on(clock::gpu).median == Approx(0.84e-3).epsilon(1e-3));

  gap = true;
  auto const partial = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(partial.findings.size() == 2);
  CHECK(noted(partial, "submit clock is left out"));
}

TEST_CASE("a control that differs from its double forbids the verdict") {
  // Verification leaves what it ran on 2 % faster, and the double is not verified.
  auto on = two(1e-3, 1.2e-3);
  std::set<int> verified;
  on.before = [&](bench::call const& made) {
    if (made.what == 'v') { verified.insert(made.instance); }
  };
  on.measured = [&](bench::call const& made, measure::cell cell) {
    if (verified.count(made.instance) > 0) { cell[clock::wall] *= 0.98; }
    return cell;
  };
  auto chosen = seeded();
  chosen.verify = measure::verification::every_epoch;
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  auto const& found = result.findings.at(0);
  CHECK(found.outcome == verdict::unproven);
  CHECK_THAT(found.reason,
             assay::test::contains("hidden control: \"a\" differs from its own second"));
  CHECK(found.effect.ratio == Approx(1.2).epsilon(0.02));  // told, but not claimed
}

TEST_CASE("traces that one variant leaves in the other's cells forbid the verdict") {
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

TEST_CASE("throttling forbids the verdict, and is told once") {
  auto on = two(1e-3, 1.05e-3);
  auto chosen = seeded();
  chosen.at_epoch_end = [](measure::epoch const& now) {
    return now.number == 2 || now.number == 5 ? std::vector<std::string>{"SW power cap"}
                                              : std::vector<std::string>{};
  };
  auto const result = measure::run(on.variants(), {b_against_a}, chosen);
  CHECK(result.findings.at(0).outcome == verdict::unproven);
  CHECK(result.findings.at(0).reason.starts_with("SW power cap"));
  CHECK(result.where.throttle_reasons == std::vector<std::string>{"SW power cap"});
  CHECK(result.findings.at(0).effect.ratio == Approx(1.05).epsilon(1e-2));
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

TEST_CASE("arms at different SM clocks get a note that splits the effect") {
  auto on = two(1e-3, 1.05e-3);
  on.measured = [](bench::call const& made, measure::cell cell) {
    cell.sm_hertz = made.label == "a" ? 1.98e9 : 1.90e9;
    return cell;
  };
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(noted(result, "the SM clocks differ"));
  CHECK(result.variants[0].sm_hertz == 1.98e9);
}

TEST_CASE("every epoch is built anew, with one seed for all, and a double of the first") {
  auto on = two(1e-3, 1.05e-3);
  auto const result = measure::run(on.variants(), {b_against_a}, seeded());
  CHECK(on.count('b', "a") == 2 * result.epochs);
  CHECK(on.count('b', "b") == result.epochs);
  CHECK(on.most_alive == 3);
  CHECK(on.epoch_seeds.size() == static_cast<std::size_t>(result.epochs));
  CHECK(result.variants[0].cells[0].size() == static_cast<std::size_t>(16 * result.epochs));

  auto bare = two(1e-3, 1.05e-3);
  auto chosen = seeded();
  chosen.hidden_control = false;
  auto const without = measure::run(bare.variants(), {b_against_a}, chosen);
  CHECK(bare.most_alive == 2);
  CHECK(without.findings.at(0).noise_floor == 0);
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

TEST_CASE("who is built first is drawn anew in every epoch") {
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

TEST_CASE("several contrasts share the level, and it stops when all are settled") {
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

TEST_CASE("times per launch and cells are those that were given") {
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
  CHECK(noted(result, "1 wash-out and 2 timed"));
}

TEST_CASE("what cannot be run is refused, naming the value") {
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
             assay::test::contains("max_epochs = 3"));
  CHECK_THAT(refused({b_against_a}, [](auto& o) { o.super_blocks = 0; }),
             assay::test::contains("super_blocks"));
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
