// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/cli/sweep.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace assay;

namespace {

measure::comparison part(double ratio, std::string const& failure = {}) {
  measure::comparison made;
  made.variants.resize(2);
  made.variants[0].label = "control";
  made.variants[1].label = "variant";
  measure::finding found;
  found.contrast_name = "variant against control";
  found.weights = {-1, 1};
  found.effect.ratio = ratio;
  found.effect.confidence = 0.99;
  made.findings = {found};
  made.reasons = {{"Why?", {"traced"}}};
  made.traced.emplace_back().variant.variant = 1;
  made.notes = {"a note"};
  made.changed = "callable";
  made.cells.resize(3);
  made.epochs = 8;
  made.seconds = 2;
  made.failure = failure;
  return made;
}

point at(std::string name, long long value) { return {{{std::move(name), value}}}; }

}  // namespace

TEST_CASE("joined comparisons keep their contrasts apart") {
  auto const all = cli::join({{at("sms", 4), part(0.5)}, {at("sms", 8), part(1.25)}}, 0.1);
  REQUIRE(all.variants.size() == 4);
  CHECK(all.variants[3].label == "sms=8: variant");
  CHECK(all.variants[3].axes.front() == std::pair<std::string, std::string>{"sms", "8"});
  REQUIRE(all.findings.size() == 2);
  CHECK(all.findings[0].weights == std::vector<double>{-1, 1, 0, 0});
  CHECK(all.findings[1].weights == std::vector<double>{0, 0, -1, 1});
  CHECK(all.findings[1].contrast_name == "sms=8: variant against control");
  CHECK(all.findings[1].effect.ratio == 1.25);
  CHECK(all.effect("sms=8: control", "sms=8: variant").ratio == 1.25);
  CHECK(all.reasons[1].question == "sms=8: Why?");
  CHECK(all.reasons.size() == 2);
  REQUIRE(all.traced.size() == 2);
  CHECK(all.traced[0].variant.variant == 1);
  CHECK(all.variants[static_cast<std::size_t>(all.traced[1].control.variant)].label.starts_with(
      "sms=8: "));
}

TEST_CASE("joined comparisons hold at the rate of false verdicts that they share") {
  auto const all = cli::join({{at("n", 1), part(1)}, {at("n", 2), part(1)}}, 0.1);
  CHECK(all.alpha == 0.1);
  for (auto const& each : all.findings) { CHECK(each.effect.confidence == Approx(0.9)); }
  CHECK(all.notes == std::vector<std::string>{"a note"});
  CHECK(all.seconds == 4);
  CHECK(all.epochs == 8);
  CHECK(all.cells.empty());
  CHECK(all.failure.empty());
}

TEST_CASE("a part that failed fails the whole, with its name") {
  CHECK(cli::join({{at("n", 1), part(1)}, {at("n", 2), part(1, "why")}}, 0.1).failure ==
        "n=2: why");
  CHECK(cli::join({{at("n", 1), part(1, "why")}, {at("n", 2), part(1)}}, 0.1).failure ==
        "n=1: why");
  CHECK(cli::join({}, 0.1).variants.empty());
}

namespace {

std::vector<point> const three{{{{"n", 1}}}, {{{"n", 2}}}, {{{"n", 4}}, {{"type", "float"}}}};

}  // namespace

TEST_CASE("each cell of a sweep has its share of alpha and of the time, and a seed of its own") {
  measure::options whole;
  whole.alpha = 0.06;
  whole.max_seconds = 30;
  whole.seed = 7;
  whole.title = "a sweep";
  std::vector<std::string> told;
  whole.progress = [&](int, int, std::string_view what) { told.emplace_back(what); };
  std::vector<measure::options> seen;
  auto const all = cli::sweep(three, whole, [&](point const&, measure::options const& own) {
    seen.push_back(own);
    own.progress(1, 8, "timing");
    return part(1);
  });
  REQUIRE(seen.size() == 3);
  for (auto const& each : seen) { CHECK(each.alpha == Approx(0.02)); }
  CHECK(seen[0].max_seconds == Approx(10).margin(0.5));
  CHECK(seen[2].max_seconds == Approx(30).margin(0.5));  // what the others have not used
  CHECK(seen[0].seed != seen[1].seed);
  CHECK(told[1] == "cell 2 of 3, timing");
  CHECK(all.alpha == 0.06);
  CHECK(all.seed == 7);
  CHECK(all.title == "a sweep");
  CHECK(all.failure.empty());
  REQUIRE(all.variants.size() == 6);
  CHECK(all.variants[5].label == "n=4 type=float: variant");
  CHECK(all.variants[5].axes ==
        std::vector<std::pair<std::string, std::string>>{{"n", "4"}, {"type", "float"}});
  CHECK(all.notes.front().find("each has alpha / 3") != std::string::npos);
}

TEST_CASE("a sweep of one cell is its comparison") {
  auto const all =
      cli::sweep({three[1]}, {}, [](point const&, measure::options const&) { return part(2); });
  CHECK(all.variants[1].label == "variant");
  CHECK(all.variants[1].axes.front().second == "2");
  CHECK(all.cells.size() == 3);
}

TEST_CASE("a sweep goes on after a cell that fails, and ends where it is cancelled") {
  int calls = 0;
  auto const second_throws = [&](point const&, measure::options const&) {
    if (++calls == 2) { throw std::runtime_error("no memory"); }
    return part(1);
  };
  auto all = cli::sweep(three, {}, second_throws);
  CHECK(calls == 3);
  CHECK(all.failure == "n=2: no memory");
  CHECK(all.findings.size() == 2);

  calls = 1;
  all = cli::sweep(three, {}, second_throws);  // the first cell
  CHECK(calls == 4);
  CHECK(all.failure == "n=1: no memory");
  CHECK(all.findings.size() == 2);
  CHECK(all.changed == "callable");

  auto const all_throw = [&](point const& at, measure::options const&) -> measure::comparison {
    throw std::runtime_error("no memory at " + at.label());
  };
  CHECK_THROWS_WITH(cli::sweep(three, {}, all_throw), "no memory at n=1");
  CHECK_THROWS_WITH(cli::sweep({three[0]}, {}, all_throw), "no memory at n=1");
  calls = 0;
  auto const refuses = [&](point const&, measure::options const&) -> measure::comparison {
    ++calls;
    throw std::invalid_argument("no such clock");
  };
  CHECK_THROWS_AS(cli::sweep(three, {}, refuses), std::invalid_argument);
  CHECK(calls == 1);

  calls = 2;
  measure::options whole;
  whole.cancelled = [&] { return calls == 4; };
  all = cli::sweep(three, whole, second_throws);
  CHECK(calls == 4);
  CHECK(all.findings.size() == 2);
  CHECK(all.failure == "the sweep was cancelled");
  CHECK(all.notes.front() == "1 of 3 cells were not measured: the sweep was cancelled");
}
