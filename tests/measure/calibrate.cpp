// SPDX-License-Identifier: Apache-2.0
// assay-test-alone: a calibration times calls on two cores
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "folder.hpp"

#include <assay/dispatch/engine.hpp>
#include <assay/dispatch/file.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/measure/regret.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using namespace assay;
using measure::calibrate;
using test::contains;
using test::make_saxpy;
using test::message_of;
using test::saxpy;

namespace {

int runs_on_two = 0, right_on_two = 0;  // of `wrong_on_two`, until the first wrong one

/// Writes a wrong element where it runs on two threads.
struct wrong_on_two : saxpy {
  void run(on::host where, float const* from, float* to) const {
    saxpy::run(where, from, to);
    runs_on_two += where.threads == 2 ? 1 : 0;
    if (where.threads != 2 || x.size() <= 100) { return; }
    to[x.size() - 1] += 1;
    right_on_two = right_on_two == 0 ? runs_on_two - 1 : right_on_two;
  }
};
wrong_on_two make_wrong(setup& arrays, std::size_t size) { return {make_saxpy(arrays, size)}; }

/// Leaves the last elements unwritten on `from_threads` threads and more.
struct sum_of_two {
  std::span<float const> x;
  std::span<float> y;
  std::size_t left_out = 0;
  int from_threads = 1;
  static constexpr std::string_view name = "sum_of_two";
  dispatch::work work() const {
    return {.size = x.size(), .bytes = 8.0 * static_cast<double>(x.size())};
  }
  auto arrays() const { return std::tuple{dispatch::in(x), dispatch::out(y)}; }
  void run(on::host where, float const* from, float* to) const {
    auto const left = where.threads >= from_threads ? left_out : 0;
    for (std::size_t i = 0; i + left < x.size(); ++i) { to[i] = from[i] + from[i]; }
  }
};
auto make_sum(std::size_t left_out, int from_threads = 1) {
  return [=](setup& arrays, std::size_t size) -> sum_of_two {
    auto const x = arrays.random<float>(size);
    auto const y = arrays.output<float>(size);
    arrays.expect(y, [x](std::size_t i) { return 2.0 * static_cast<double>(x.seeded(i)); });
    return {{x.data(), size}, {y.data(), size}, left_out, from_threads};
  };
}

/// A task with one array, of a type that is no number.
struct conjugate {
  std::span<std::array<float, 2>> z;
  static constexpr std::string_view name = "conjugate";
  dispatch::work work() const { return {.size = z.size(), .flops = static_cast<double>(z.size())}; }
  auto arrays() const { return std::tuple{dispatch::out(z)}; }
  void run(on::host, std::array<float, 2>* to) const {
    for (std::size_t i = 0; i < z.size(); ++i) { to[i] = {1.0F, -1.0F}; }
  }
};

std::vector<dispatch::path> const one_and_two{on::host{1}, on::host{2}};

}  // namespace

TEST_CASE("host{1} against host{2}, from the calibration to the regret", "[measure]") {
  if (host::all_threads() < 2) { return; }
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  double last_progress = -1;
  std::size_t steps = 0;
  auto const costs = calibrate<saxpy>(one_and_two, {.sizes = {1, 1 << 20},
                                                    .budget_seconds = 1,
                                                    .make = make_saxpy,
                                                    .seed = seed,
                                                    .progress = [&](double used, std::size_t size) {
                                                      CHECK(used >= last_progress);
                                                      CHECK(size <= 1 << 20);
                                                      last_progress = used;
                                                      ++steps;
                                                    }});
  CHECK(steps == 12);
  REQUIRE(costs.paths().size() == 2);
  for (auto const& each : costs.paths()) {
    CHECK(each.wrong.empty());
    CHECK(each.knots.size() == 12);
    CHECK(each.knots.front().size == 1);
    CHECK(each.knots.back().size == 1 << 20);
  }
  test::folder const here;
  auto const file = (here / "saxpy.costs").string();
  dispatch::save(file, costs);
  dispatch::engine const run{dispatch::load(file)};
  std::vector<float> const x(1000, 3.0F);
  std::vector<float> y(1000, 1.0F);
  run(saxpy{2.0F, x, y});
  CHECK(y == std::vector<float>(1000, 7.0F));

  auto const timed = measure::time_calls<saxpy>(
      costs, {.sizes = {1, 1 << 20}, .count = 40, .make = make_saxpy, .seed = seed});
  auto const model = measure::judge(timed, costs, dispatch::choose::by_model{});
  auto const always = measure::judge(timed, costs, dispatch::choose::always{on::host{2}});
  std::cout << run.last() << '\n' << model.describe() << '\n' << always.describe() << '\n';
  CHECK(std::isfinite(model.total));  // other load decides the rest
  CHECK(model.noise_floor >= 0);
}

TEST_CASE("a path with a wrong result is found before it is timed, and is not chosen",
          "[measure]") {
  if (host::all_threads() < 2) { return; }
  auto const costs = calibrate<wrong_on_two>(
      one_and_two, {.sizes = {1, 5000}, .budget_seconds = 0.2, .make = make_wrong});
  CHECK(costs.paths()[0].wrong.empty());
  CHECK_THAT(costs.paths()[1].wrong, contains("at size "));
  CHECK_THAT(costs.paths()[1].wrong, contains("differs from that of host{1}"));
  CHECK(runs_on_two == right_on_two + 1);  // it is not timed on, at sizes where it is right
  for (std::size_t const size : {1U, 1000U, 1U << 20U}) {
    CHECK(costs.best(dispatch::facts_of_size(size)) == 0);
  }
}

TEST_CASE("a task may have one array, of elements that are no numbers", "[measure]") {
  auto const costs = calibrate<conjugate>(
      {on::host{1}}, {.sizes = {1, 1000},
                      .budget_seconds = 0.2,
                      .make = [](setup& arrays, std::size_t size) -> conjugate {
                        return {{arrays.output<std::array<float, 2>>(size).data(), size}};
                      }});
  CHECK(costs.paths()[0].wrong.empty());
}

TEST_CASE("results that make expects are the reference of all paths", "[measure]") {
  CHECK(calibrate<sum_of_two>({on::host{1}},
                              {.sizes = {1, 1000}, .budget_seconds = 0.2, .make = make_sum(0)})
            .paths()[0]
            .wrong.empty());
  CHECK_THAT(message_of([] {
               calibrate<sum_of_two>(
                   {on::host{1}}, {.sizes = {1, 1000}, .budget_seconds = 0.2, .make = make_sum(1)});
             }),
             contains("was never written"));
  if (host::all_threads() < 2) { return; }
  // Not hidden by the results that host{1} left in the same array.
  auto const costs = calibrate<sum_of_two>(
      one_and_two, {.sizes = {1, 1000}, .budget_seconds = 0.2, .make = make_sum(1, 2)});
  CHECK(costs.paths()[0].wrong.empty());
  CHECK_THAT(costs.paths()[1].wrong, contains("was never written"));
}

TEST_CASE("bad input of a calibration has one line with its value and the remedy", "[measure]") {
  auto const refused = [](std::vector<dispatch::path> const& paths,
                          measure::calibration<saxpy> const& options) {
    auto const said = message_of([&] { calibrate<saxpy>(paths, options); });
    CHECK(said.find('\n') == std::string::npos);
    return said;
  };
  measure::calibration<saxpy> const usual{.sizes = {1, 1000}, .make = make_saxpy};
  CHECK(refused({on::device{0}}, usual) ==
        "saxpy cannot run on device{0}: it has no run(cudaStream_t, pointers...) const with a "
        "pointer for each array");
  CHECK_THAT(refused({on::host{0}}, usual),
             contains("on::host{0}: an item needs at least 1 thread"));
  CHECK_THAT(refused({on::host{4000}}, usual),
             contains("host{4000} has more threads than the " +
                      std::to_string(host::all_threads()) + " cores"));
  CHECK_THAT(refused({}, usual), contains("name one"));
  CHECK_THAT(refused({on::host{1}, on::host{1}}, usual), contains("host{1} is there twice"));
  CHECK(refused({on::host{1}}, {.sizes = {0, 1000}, .make = make_saxpy}) ==
        "sizes = {0, 1000}: the first is 1 or more, and the last at least twice the first");
  CHECK_THAT(refused({on::host{1}}, {.sizes = {7, 7}, .make = make_saxpy}),
             contains("sizes = {7, 7}"));
  CHECK_THAT(refused({on::host{1}}, {.sizes = {1, 1000}, .make = {}}), contains("make is empty"));
  for (double const budget : {double{NAN}, 0.0, -1.0, HUGE_VAL}) {
    CHECK_THAT(
        refused({on::host{1}}, {.sizes = {1, 1000}, .budget_seconds = budget, .make = make_saxpy}),
        contains("budget_seconds = ") && contains("a finite number above 0 is needed"));
  }
  CHECK(refused({on::host{1}},
                {.sizes = {1, 1000},
                 .make = [](setup& arrays, std::size_t) { return make_saxpy(arrays, 77); }})
            .starts_with("make(arrays, "));
}

TEST_CASE("a budget that is too small is no error: intervals are wide, and a warning says so",
          "[measure]") {
  auto const costs = calibrate<saxpy>(
      {on::host{1}}, {.sizes = {1, 1 << 20}, .budget_seconds = 1e-5, .make = make_saxpy});
  REQUIRE(costs.warnings.size() == 1);
  CHECK_THAT(costs.warnings[0],
             contains("budget_seconds = 1e-05 was too small to measure 12 of 12 sizes twice"));
  auto const said = costs.predict(0, dispatch::facts_of_size(1000)).total;
  CHECK(said.high / said.low >= 2);
}

TEST_CASE("an interrupted calibration leaves no file", "[measure]") {
  test::folder const here;
  int left = 5;
  CHECK(message_of([&] {
          dispatch::save((here / "saxpy.costs").string(),
                         calibrate<saxpy>({on::host{1}}, {.sizes = {1, 1000},
                                                          .make = make_saxpy,
                                                          .progress = [&](double, std::size_t) {
                                                            if (--left == 0) {
                                                              throw std::runtime_error("stop");
                                                            }
                                                          }}));
        }) == "stop");
  CHECK(here.entries() == 0);
}
