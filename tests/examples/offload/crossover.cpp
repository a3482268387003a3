// SPDX-License-Identifier: Apache-2.0
#include "offload/crossover.hpp"
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <cmath>
#include <cstddef>

using namespace assay;
using dispatch::costs;
using test::contains;
using test::message_of;

TEST_CASE("a crossover is a region of sizes, never, always or several", "[dispatch]") {
  auto all = test::saxpy_measurements();
  auto const between = [&](auto second, double spread) {
    all.paths[1] = test::path_of(on::host{4}, second, spread);
    return examples::find_crossover(costs{all}, on::host{1}, on::host{4}, dispatch::facts_of_size);
  };
  auto const from = between([](double n) { return 6e-6 + 0.25e-9 * n; }, 0.01);
  REQUIRE(from.from_one_size_on());
  CHECK(from.crossings[0].size == Approx(8000).epsilon(0.1));
  CHECK(from.crossings[0].low < from.crossings[0].size);
  CHECK(from.crossings[0].high > from.crossings[0].size);
  CHECK_THAT(from.describe(), contains("host{4} is faster than host{1} from "));

  auto const never = between([](double n) { return 6e-6 + 1e-9 * n; }, 0.001);
  CHECK(never.never());
  CHECK(never.describe() == "host{4} is faster than host{1} never");
  auto const always = between([](double n) { return 0.5e-9 * n; }, 0.01);
  CHECK(always.always());
  auto const several =
      between([](double n) { return 1e-9 * n * (n > 100 && n < 10'000 ? 0.5 : 2.0); }, 0.01);
  CHECK(several.crossings.size() == 2);
  CHECK_FALSE(several.from_one_size_on());
  auto const equal = between([](double n) { return 1.001e-9 * n; }, 0.01);
  CHECK_FALSE(equal.known);
  CHECK_FALSE(equal.never());
  // A path that wins by less than the interval, at the largest sizes alone.
  auto const late = between([](double n) { return n > 1e6 ? 0.99e-9 * n : 2e-9 * n; }, 0.01);
  REQUIRE(late.from_one_size_on());
  CHECK(std::isinf(late.crossings[0].high));
  CHECK_FALSE(late.never());
  // The same in the middle: neither a crossing nor never.
  auto const dip =
      between([](double n) { return 1e-9 * n * (n > 100 && n < 10'000 ? 0.99 : 2.0); }, 0.01);
  CHECK(dip.crossings.empty());
  CHECK_FALSE(dip.never());
  CHECK_THAT(dip.describe(), contains("never, or nearly"));

  all.paths[1] = {.where = on::host{4}, .wrong = "element 3"};
  CHECK(examples::find_crossover(costs{all}, on::host{1}, on::host{4}).never());
  CHECK(examples::find_crossover(costs{all}, on::host{4}, on::host{1}).always());
  all.paths.push_back({.where = on::host{2}, .wrong = "element 5"});
  CHECK_THAT(message_of([&] { examples::find_crossover(costs{all}, on::host{4}, on::host{2}); }),
             contains("host{4} and host{2} both compute wrong results for saxpy"));
}

TEST_CASE("regions name the fastest path from size to size, and ties make none", "[dispatch]") {
  auto all = test::saxpy_measurements();
  auto const regions_with = [&](auto second) {
    all.paths[1] = test::path_of(on::host{4}, second);
    return examples::find_regions(costs{all});
  };
  auto const two = regions_with([](double n) { return 6e-6 + 0.25e-9 * n; });
  REQUIRE(two.size() == 2);
  CHECK(two[0].path == 0);
  CHECK(two[0].from.size == 0);
  CHECK(two[1].path == 1);
  auto const crossed = examples::find_crossover(costs{all}, on::host{1}, on::host{4});
  CHECK(two[1].from.size == crossed.crossings[0].size);
  CHECK(two[1].from.low == crossed.crossings[0].low);
  CHECK(two[1].from.high == crossed.crossings[0].high);

  auto const three =
      regions_with([](double n) { return 1e-9 * n * (n > 100 && n < 10'000 ? 0.5 : 2.0); });
  REQUIRE(three.size() == 3);
  CHECK(three[1].path == 1);
  CHECK(three[2].path == 0);
  CHECK(three[1].from.size < three[2].from.size);
  // A path that is faster by less than the interval, here at every second knot.
  int knot = 0;
  CHECK(regions_with([&](double n) {
          return (++knot % 2 == 0 ? 0.999e-9 : 1.001e-9) * n;
        }).size() == 1);
  // The smallest size is a tie, and the second path is faster from there on.
  auto const tie = regions_with([](double n) { return n < 2 ? 1.001e-9 : 0.5e-9 * n; });
  REQUIRE(tie.size() == 1);
  CHECK(tie[0].path == 1);
  // The facts decide: over arrays elsewhere the device never wins.
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 1e-6 + 1e-12 * n; }));
  all.links = {{memory_type::pageable, 1e-6, 1e-9, 1e-9}};
  auto const at = [](std::size_t n) {
    auto known = dispatch::facts_of_size(n);
    known.arrays[known.count++] = {.bytes = 4.0 * static_cast<double>(n)};
    return known;
  };
  CHECK(examples::find_regions(costs{all}).back().path == 2);
  CHECK(examples::find_regions(costs{all}, at).back().path != 2);

  all.paths[0] = {.where = on::host{1}, .wrong = "element 3"};
  CHECK(examples::find_regions(costs{all}).front().path != 0);
}
