// SPDX-License-Identifier: Apache-2.0
/// @file
/// A variant with a wrong result is left out, and the others are compared.
#include <assay/measure/factorial.hpp>
#include <assay/measure/compare_variants_definitions.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using namespace assay::measure;
using assay::test::contains;

namespace {

/// Says that a launch takes so many milliseconds, with a little noise, and may have a wrong result.
class scripted final : public subject {
 public:
  scripted(double milliseconds, bool wrong, epoch const& now)
      : seconds_(1e-3 * milliseconds),
        wrong_(wrong),
        noise_(now.seed + static_cast<std::uint64_t>(1e6 * milliseconds + now.instance)) {}
  void warm(int, int) override {}
  cell time(int, int) override {
    cell given;
    given[clock::wall] = seconds_ * (1 + 1e-4 * static_cast<double>(noise_.below(100)) / 100);
    given[clock::submit] = given[clock::wall] / 2;
    return given;
  }
  std::optional<std::string> verify(int) override {
    if (wrong_) { return "element 3 is 1, not 2"; }
    return {};
  }

 private:
  double seconds_;
  bool wrong_;
  assay::stats::random_source noise_;
};

variant of(std::string label, double milliseconds, bool wrong = false) {
  variant made;
  made.label = std::move(label);
  made.axes = {{"callable", made.label}};
  made.build = [=](epoch const& now) {
    return std::make_unique<scripted>(milliseconds, wrong, now);
  };
  return made;
}

options seeded() {
  options chosen;
  chosen.seed = 11;
  return chosen;
}

comparison judged(std::vector<variant> const& all, options const& chosen = seeded()) {
  std::vector<std::string> labels;
  for (auto const& each : all) { labels.push_back(each.label); }
  return run_right(all, against_first(labels), chosen);
}

bool noted(comparison const& found, std::string_view text) {
  return std::any_of(found.notes.begin(), found.notes.end(),
                     [&](auto const& each) { return each.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("where all results are right nothing changes") {
  auto const found = judged({of("a", 1), of("b", 2), of("c", 1)});
  CHECK(found.failure.empty());
  CHECK(found.failed_variant == -1);
  CHECK(found.outcome("a", "b") == verdict::slower);
  CHECK(found.outcome("a", "c") == verdict::equivalent);
  CHECK_FALSE(noted(found, "left out"));
}

TEST_CASE("a variant with a wrong result is left out") {
  auto const found = judged({of("a", 1), of("wrong", 0.5, true), of("c", 2)});
  CHECK(found.failure.empty());
  CHECK(found.outcome("a", "wrong") == verdict::wrong_answer);
  CHECK_THAT(found.of_pair("a", "wrong").reason,
             contains("variant \"wrong\", epoch 1, before timing, buffer set ") &&
                 contains("element 3 is 1, not 2"));
  CHECK(found.outcome("a", "c") == verdict::slower);
  CHECK(found.effect("a", "c").ratio == Approx(2).epsilon(1e-3));
  CHECK(noted(found, "\"wrong\" is left out, since its result is wrong"));
  CHECK_FALSE(noted(found, "is held against"));
  CHECK(found.seed == 11);
  CHECK(found.changed == "callable");

  REQUIRE(found.variants.size() == 3);
  CHECK(found.variants[1].label == "wrong");
  CHECK(found.variants[1].on(clock::wall).count == 0);
  CHECK(found.variants[2].on(clock::wall).median == Approx(2e-3).epsilon(1e-3));
  for (auto const& each : found.findings) { CHECK(each.weights.size() == 3); }
  // Cells have the variants of the whole comparison; 3 is the second instance of the control.
  std::vector<int> seen(4);
  for (auto const& each : found.cells) { ++seen.at(static_cast<std::size_t>(each.variant)); }
  CHECK(seen[1] == 0);
  CHECK((seen[0] > 0 && seen[2] == seen[0] && seen[3] == seen[0]));
  REQUIRE(!found.analyses.empty());
  for (auto const& each : found.analyses) {
    CHECK(each.outcomes == std::vector{verdict::wrong_answer, verdict::slower});
  }
  auto const secondary = std::count_if(found.findings.begin(), found.findings.end(),
                                       [](auto const& each) { return !each.primary; });
  CHECK(secondary == 1);
}

TEST_CASE("a wrong control is replaced by the first right variant") {
  auto const found = judged({of("a", 1, true), of("b", 2), of("c", 1), of("d", 2)});
  CHECK(found.failure.empty());
  for (auto const* each : {"b", "c", "d"}) {
    CHECK(found.outcome("a", each) == verdict::wrong_answer);
  }
  CHECK(found.outcome("b", "c") == verdict::faster);
  CHECK(found.outcome("b", "d") == verdict::equivalent);
  CHECK(found.of_pair("b", "c").contrast_name == "c against b");
  CHECK(noted(found,
              "\"a\" is left out, since its result is wrong; what was held against it is held "
              "against \"b\""));
  REQUIRE(!found.analyses.empty());
  CHECK(found.analyses.back().outcomes == std::vector{verdict::wrong_answer, verdict::wrong_answer,
                                                      verdict::wrong_answer, verdict::faster,
                                                      verdict::equivalent});
}

TEST_CASE("several wrong variants are left out, and two of them end the comparison") {
  auto const found =
      judged({of("a", 1, true), of("b", 2, true), of("c", 1), of("d", 3, true), of("e", 2)});
  CHECK(found.outcome("c", "e") == verdict::slower);
  CHECK(found.outcome("a", "c") == verdict::wrong_answer);
  CHECK(found.outcome("a", "b") == verdict::wrong_answer);
  CHECK(noted(found, "\"a\" is left out"));
  CHECK(noted(found, "\"b\" is left out"));
  CHECK(noted(found, "\"d\" is left out"));

  auto const one_left = judged({of("a", 1), of("b", 2, true), of("c", 1, true)});
  CHECK(one_left.outcome("a", "b") == verdict::wrong_answer);
  CHECK(one_left.outcome("a", "c") == verdict::wrong_answer);
  CHECK_THAT(one_left.failure, contains("element 3 is 1"));

  auto const two = judged({of("a", 1), of("b", 2, true)});
  CHECK(two.is(verdict::wrong_answer));
  CHECK(two.failed_variant == 1);
  CHECK_FALSE(noted(two, "left out"));
  CHECK_THAT(two.failure, contains("variant \"b\""));
}

TEST_CASE("a stand-in that keeps its buffers has no second instance") {
  auto second = [](double placement) {
    auto stand_in = of("b", 1);
    stand_in.placement = placement;
    return judged({of("a", 1, true), stand_in, of("c", 1)}).hidden_control.has_value();
  };
  CHECK(second(0));
  CHECK_FALSE(second(0.05));
}

TEST_CASE("an interaction stays as it is, and so does an exception") {
  auto const crossed = crossing{{"x", {"a", "b"}}, {"y", {"c", "d"}}};
  auto const found = run_right({of("ac", 1), of("ad", 1), of("bc", 1, true), of("bd", 1)},
                               crossed.contrasts(), seeded());
  CHECK_FALSE(found.failure.empty());
  CHECK(found.cells.empty());

  auto throws = of("b", 1);
  throws.build = [](epoch const&) -> std::unique_ptr<subject> {
    throw std::runtime_error("no such file");
  };
  auto const failed = judged({of("a", 1), throws, of("c", 1)});
  CHECK_THAT(failed.failure, contains("no such file"));
  CHECK(failed.outcome("a", "c") == verdict::unproven);
}

TEST_CASE("hooks see the time that is left and a seed that is kept") {
  options chosen = seeded();
  chosen.seed = 0;
  std::vector<std::string> steps;
  chosen.progress = [&](int epoch, int, std::string_view what) {
    if (epoch == 1) { steps.emplace_back(what); }
  };
  // The inputs of the first epoch are those with which the wrong result was found.
  std::vector<std::uint64_t> seeds;
  auto control = of("a", 1);
  control.build = [&, inner = control.build](epoch const& now) {
    if (now.number == 0) { seeds.push_back(now.seed); }
    return inner(now);
  };
  auto const found = judged({control, of("b", 2, true), of("c", 1)}, chosen);
  REQUIRE(seeds.size() == 4);  // two instances, twice
  CHECK(std::count(seeds.begin(), seeds.end(), seeds[0]) == 4);
  CHECK(std::count(steps.begin(), steps.end(), "building") == 2);
  CHECK(found.seed != 0);
  CHECK(found.outcome("a", "c") == verdict::equivalent);
  chosen.max_seconds = 1e-9;  // the first analysis always takes place
  CHECK(judged({of("a", 1), of("b", 2, true), of("c", 2)}, chosen).outcome("a", "c") ==
        verdict::slower);
}
