// assay-test-flags: -O1
// SPDX-License-Identifier: Apache-2.0
// assay-test-alone: it tells times apart, which others would make as they like
/// @file
/// The best of many on the host: known work, wrong results, and a space of parameters.

#include "catch.hpp"

#include <assay/race.hpp>
#include <assay/race/json.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using namespace assay;
using test::contains;

namespace {

/// `steps` dependent multiply-adds, which no compiler shortens.
double chain(long long steps) {
  double volatile hidden = 0.999999;
  double const factor = hidden;
  double x = 1;
  for (long long i = 0; i < steps; ++i) { x = x * factor + 1e-6; }
  return x;
}

void chain_of_100() { (void)chain(100); }

auto steps(long long count) {
  return [count] { return chain(count); };
}

options brief() {
  options chosen;
  chosen.cell_seconds = 1e-4;
  chosen.warm_up_seconds = 0.01;
  return chosen;
}

/// Whether one of five races says so: other work on this machine may disturb some.
template <class Race, class Says>
bool in_five(Race const& race_once, Says const& says) {
  for (int i = 0; i < 5; ++i) {
    auto const found = race_once();
    if (says(found)) { return true; }
    WARN(found);
  }
  return false;
}

/// y = 2 x; the wrong one writes another factor.
auto doubling(float factor) {
  return [factor](setup& make) {
    auto const x = make.random<float>(1000);
    auto const y = make.output<float>(1000);
    make.expect(y, [x](std::size_t i) { return 2.0 * x.seeded(i); });
    return [=] {
      for (std::size_t i = 0; i < 1000; ++i) { y.data()[i] = factor * x.data()[i]; }
    };
  };
}

}  // namespace

TEST_CASE("the shortest of five chains wins") {
  CHECK(in_five(
      [] {
        return race("a", steps(13'000), "b", steps(12'000), "c", steps(10'000), "d", steps(15'000),
                    "e", steps(11'500), brief());
      },
      [](race_result const& found) {
        return found.winner() == "c" && found.decided && found.survivors().size() == 1;
      }));
}

TEST_CASE("a space is searched, and its winner's constants are in the header") {
  auto const once = [] {
    return race(
        space{{"steps", {4000, 5000, 6000}}, {"times", {1, 2}}}.where(
            [](point const& at) { return at["steps"] * at["times"] < 12'000; }),
        [](point const& at) { return steps(at["steps"] * at["times"]); }, brief());
  };
  CHECK(in_five(once, [](race_result const& found) {
    CHECK(found.racers.size() == 5);
    CHECK_THAT(report::race_header(found), contains("inline constexpr long long steps = "));
    return found.winner() == "steps=4000 times=1";
  }));
}

TEST_CASE("a wrong candidate and one that throws do not win") {
  auto const found = race(
      "wrong", doubling(3), "right", doubling(2), "throws",
      [](setup&) -> std::function<void()> { throw std::runtime_error("no"); }, brief());
  CHECK(found.winner() == "right");
  CHECK_THAT(found.racers[0].out, contains("before timing") && contains("expected"));
  CHECK_THAT(found.racers[2].out, contains("building: no"));
  CHECK(found.where.host_threads > 0);
  std::ostringstream out;
  out << found;
  CHECK_THAT(out.str(), contains("WINNER: right is the best of 3"));
}

TEST_CASE("a race tells of results of which samples are checked") {
  auto const ones = [](setup& make) {
    auto const y = make.output<int>(10'000);
    make.expect(y, [](std::size_t) { return 1; }, sampled{100});
    return [y] { std::fill_n(y.data(), y.size(), 1); };
  };
  auto const found = race("a", ones, "b", ones, brief());
  CHECK(std::ranges::count_if(found.notes, [](std::string const& each) {
          return each.find("a check looks at 100 of 10000 elements") != each.npos;
        }) == 1);
}

TEST_CASE("candidates and their buffer sets share right values, and one that cannot is named") {
  shared_right_values const right;
  int runs = 0;
  auto const norm = [&](double scale) {
    return [&runs, right, scale](setup& make) {
      auto const x = make.random<float>(1000);
      auto const y = make.output<float>(1000), first = make.output<float>(1);
      make.share(right);
      make.expect(std::tie(y, first), [&runs, x](std::span<double> wanted, std::span<double> one) {
        ++runs;
        for (std::size_t i = 0; i < wanted.size(); ++i) { wanted[i] = 2.0 * x.seeded(i); }
        one[0] = wanted[0];
      });
      auto const z = make.output<double>(1);
      make.expect(z, [x, scale](std::size_t i) { return scale * x.seeded(i); });
      return [=] {
        for (std::size_t i = 0; i < x.size(); ++i) { y.data()[i] = 2 * x.data()[i]; }
        first.data()[0] = y.data()[0];
        z.data()[0] = scale * x.data()[0];
      };
    };
  };
  auto chosen = brief();
  chosen.max_seconds = 1e-9;  // one epoch
  auto const found = race("a", norm(1), "b", norm(1), "c", norm(1), chosen);
  CHECK(found.failure == "");
  for (auto const& each : found.racers) { CHECK(each.out == ""); }
  CHECK(runs == 2);  // once for the seed of the qualification, and once for that of the last epoch

  auto const unequal = race("a", norm(1), "b", norm(1), "other", norm(3), chosen);
  int out = 0;
  for (auto const& each : unequal.racers) {
    if (each.out.empty()) { continue; }
    ++out;
    CHECK_THAT(each.out, contains("verifying: setup.share: element 0 of array 3 should be "));
  }
  CHECK(out > 0);  // all that come after the one whose function differs, or that one
}

TEST_CASE("a vector of candidates races, and goes on from JSON") {
  std::vector all{candidate{"a", steps(13'000)}, candidate{"b", steps(10'000)}};
  auto chosen = brief();
  chosen.max_seconds = 1e-9;  // one epoch
  auto const first = race(all, chosen);
  CHECK(first.epochs.size() == 1);
  CHECK_FALSE(first.decided);
  auto const second = race(all, brief(), report::parse_race(report::json(first)));
  CHECK(second.epochs.size() >= 6);
  CHECK(second.epochs[0].seconds == first.epochs[0].seconds);
  CHECK(second.seconds > first.seconds);
  CHECK(second.winner() == "b");

  auto elsewhere = first;
  elsewhere.where.device = "another device";
  CHECK_THROWS_WITH(race(all, brief(), elsewhere), contains("ran on another device, not on "));
}

TEST_CASE("candidates race in all spellings, and a space of texts races") {
  auto const f = steps(100);
  std::function<void()> const g = [] { (void)chain(100); };
  auto chosen = brief();
  chosen.max_seconds = 1e-9;  // one epoch
  std::vector<candidate> pushed;
  pushed.push_back({"a", f});
  pushed.emplace_back("b", g);
  pushed.push_back(candidate{"c", &chain_of_100, {{"n", 3}}});
  CHECK(race(pushed, chosen).racers[2].constants == measure::constants{{"n", 3}});
  auto const names = [](race_result const& of) {
    std::string all;
    for (auto const& each : of.racers) { all += each.name; }
    return all;
  };
  CHECK(names(race(std::vector<candidate>{{"a", f}, {"b", g}}, chosen)) == "ab");
  CHECK(names(race(std::vector{candidate{"a", f}, candidate{"b", g}}, chosen)) == "ab");
  CHECK(names(race({{"a", f}, {"b", g}, {"c", [] { return 1; }}}, chosen)) == "abc");
  std::vector<candidate> const copy = pushed;
  CHECK(names(race(copy, chosen)) == "abc");

  auto const found = race(
      space{{"way", {"slow", "fast"}}, {"n", {50}}},
      [](point const& at) { return steps(at.text("way") == "slow" ? 50 * at["n"] : at["n"]); },
      brief());
  CHECK(names(found) == "n=50 way=slown=50 way=fast");
  CHECK(found.best().texts.size() == 1);
  CHECK_THAT(report::race_header(found),
             contains("long long n = 50;\n") &&
                 contains("char const* way = \"" + found.best().texts.front().second + "\";\n"));
}

TEST_CASE("what cannot race is refused in one line, before anything is called") {
  int calls = 0;
  auto const counted = [&calls] { ++calls; };
  CHECK_THROWS_WITH(race("a", counted), "a race needs 2 candidates or more, not 1");
  CHECK_THROWS_WITH(race("a", counted, "a", counted), "two variants are labelled \"a\"");
  CHECK_THROWS_WITH(race("", counted, "a", counted), "a variant needs a name that is not empty");
  CHECK_THROWS_WITH(race("a", counted, "b", std::function<void()>{}),
                    contains("\"b\" is a null callable"));
  CHECK_THROWS_WITH(race("a", counted, "b", counted, options{.margin = -1}),
                    contains("margin is positive, not -1"));
  CHECK_THROWS_WITH(race("a", counted, "b", counted, options{.clock = measure::clock::gpu}),
                    "host calls have no clock but wall");
  auto const never = space{{"n", {1, 2}}}.where([](point const&) { return false; });
  CHECK_THROWS_WITH(race(never, [&](point const&) { return counted; }),
                    "a race needs 2 candidates or more, not 0");
  CHECK_THROWS_WITH(race(std::vector<candidate>{}), "a race needs 2 candidates or more, not 0");
  CHECK(calls == 0);
}
