// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it replaces operator new
#include "catch.hpp"
#include "dispatch/saxpy.hpp"
#include "dispatch/synthetic_machine.hpp"

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/crossover.hpp>
#include <assay/dispatch/load.hpp>
#include <assay/dispatch/tree.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <tuple>
#include <vector>

using namespace assay;
using dispatch::costs;
using test::contains;
using test::message_of;

namespace {
long allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const block = std::malloc(bytes)) { return block; }
  throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

TEST_CASE("the text of a path reads back as the path", "[dispatch]") {
  for (auto const& each : {dispatch::path{on::host{4}}, dispatch::path{on::device{0}},
                           dispatch::path{on::device{7}, "pinned"}}) {
    CHECK(dispatch::parse_path(each.describe()) == each);
  }
  for (auto const* text :
       {"", "host", "host{", "host{0}", "host{-1}", "host{4", "host{4}x", "host{4}/pinned",
        "device{}", "device{0}/", "device{0}pinned", "gpu{0}"}) {
    CHECK_FALSE(dispatch::parse_path(text));
  }
}

TEST_CASE("a curve goes through its knots, and its interval widens beyond them", "[dispatch]") {
  dispatch::curve const line{{{2, 1e-6, 0.1}, {4, 2e-6, 0.1}, {8, 4e-6, 0.1}}, 2};
  for (double const log_size : {0.0, 1.0, 1.5, 3.0, 5.0}) {  // 0 and 5 are beyond the knots
    CHECK(std::exp2(line.log_seconds(log_size)) == Approx(0.5e-6 * std::exp2(log_size)));
  }
  CHECK(line.half_width(2) == Approx(2 * 0.201));
  CHECK(line.half_width(5) == Approx(2 * 0.201 + 1));
  CHECK(line.half_width(0) == Approx(2 * 0.201 + 0.5));
  CHECK(line.covers(3));
  CHECK_FALSE(line.covers(3.01));
  // Noise at the ends cannot make more work faster.
  dispatch::curve const falling{{{1, 2e-6, 0}, {2, 1e-6, 0}}, 1};
  CHECK(std::exp2(falling.log_seconds(10)) == Approx(1e-6));
  using knots = std::vector<dispatch::knot>;
  for (auto const& bad :
       {knots{}, knots{{1, 1, 0}}, knots{{2, 1, 0}, {2, 1, 0}}, knots{{0.5, 1, 0}, {2, 1, 0}},
        knots{{1, 0, 0}, {2, 1, 0}}, knots{{1, 1, -1}, {2, 1, 0}}, knots{{1, 1, 0}, {2, NAN, 0}},
        knots{{1, 1, NAN}, {2, 1, 0}}}) {
    CHECK_THAT(message_of([&] { dispatch::curve{bad, 1}; }), contains("2 or more are needed"));
  }
}

TEST_CASE("the interval of a median leaves out more times the more there are", "[dispatch]") {
  for (auto const& [count, outside] : {std::pair<std::size_t, std::size_t>{1, 0},
                                       {2, 0},
                                       {7, 0},
                                       {8, 1},
                                       {10, 1},
                                       {11, 2},
                                       {25, 7},
                                       {54, 19}}) {
    CHECK(dispatch::detail::outside_of_median(count) == outside);
  }
  auto const of = dispatch::detail::summarised(10, {8, 1, 2, 2, 2, 2, 4, 2, 2});
  CHECK(of == dispatch::knot{10, 2, 0.5});  // of 9 times the interval is [2, 4]
}

TEST_CASE("the scale of intervals is the 9th of 9, the last of 10 and the 18th of 19 errors",
          "[dispatch]") {
  std::vector<std::vector<double>> errors{{9}, {8}, {7}, {6}, {5}, {4}, {3}, {2}, {1}};
  CHECK(dispatch::conformal_scale(errors) == 9);
  errors.push_back({10});
  CHECK(dispatch::conformal_scale(errors) == 10);
  for (double i = 11; i < 20; ++i) { errors.push_back({i}); }
  CHECK(dispatch::conformal_scale(errors) == 18);
  // A size of many moments counts as one.
  errors.front().assign(100, 0.5);
  CHECK(dispatch::conformal_scale(errors) == 18);
  errors.front() = {0.5, 0.5, 0.5, 30};  // three quarters of a size are below 18
  CHECK(dispatch::conformal_scale(errors) == 19);
  CHECK_THAT(message_of([] { dispatch::conformal_scale({{1}, {2}}); }),
             contains("2 held-out sizes: 9 or more"));
}

TEST_CASE("a prediction has items, an interval, and a flag beyond the calibrated sizes",
          "[dispatch]") {
  costs const of{test::saxpy_measurements()};
  // docs: prediction
  auto const said = of.predict(1, dispatch::facts_of_size(1 << 18));
  CHECK(said.describe() == "host{4}: 72 us [71, 73]: fork 5.0 us, work 67 us");
  // docs: end
  CHECK(said.total.seconds == Approx(6e-6 + 0.25e-9 * (1 << 18)));
  CHECK(said.total.low < said.total.seconds);
  CHECK(said.total.high > said.total.seconds);
  CHECK_FALSE(said.extrapolated);
  auto const beyond = of.predict(1, dispatch::facts_of_size(std::size_t{1} << 24));
  CHECK(beyond.extrapolated);
  CHECK(beyond.total.high / beyond.total.low > 15);  // 4 octaves: a factor of 4 up and down
  CHECK_THAT(beyond.describe(), contains("outside the calibrated sizes"));
  // Such short calls cannot have a fork in them.
  auto all = test::saxpy_measurements();
  all.paths[1] = test::path_of(on::host{4}, [](double n) { return 1e-9 * n; });
  CHECK(costs{all}.predict(1, dispatch::facts_of_size(4096)).describe() ==
        "host{4}: 4.1 us [4.0, 4.2]: work 4.1 us");
  CHECK(of.predict(0, dispatch::facts_of_size(16)).describe() ==
        "host{1}: 16 ns [16, 16]: work 16 ns");
  CHECK(of.predict(0, dispatch::facts_of_size(0)).total.seconds > 0);
}

TEST_CASE("the least predicted time is chosen, without an allocation", "[dispatch]") {
  costs const of{test::saxpy_measurements()};
  auto const small = dispatch::facts_of_size(100);
  auto const large = dispatch::facts_of_size(1 << 20);
  static_assert(noexcept(of.choose(small)));
  auto const fitted = dispatch::choose::power_law{}.bound(of);
  auto const always = dispatch::choose::always{on::host{4}}.bound(of);
  auto const nearest = dispatch::choose::history{}.bound(of);
  auto const from = dispatch::choose::threshold{1000, on::host{1}, on::host{4}}.bound(of);
  auto const learned =
      dispatch::choose::tree{{on::host{1}, on::host{4}}, {{0, 1000, 2}, {.other = 0}, {.other = 1}}}
          .bound(of);
  auto const queued = load::own_queue{}.bound(of);
  queued.board().set(1, 1, 2);  // 1 s until four threads begin
  auto const before = allocations;
  bool const right = of.choose(small) == dispatch::path{on::host{1}} &&
                     of.choose(large) == dispatch::path{on::host{4}} && fitted(large) == 1 &&
                     queued(large) == 0 && always(small) == 1 && nearest(large) == 1 &&
                     from(large) == 1 && learned(large) == 1;
  CHECK(allocations == before);
  CHECK(right);
}

TEST_CASE("an interval does not reach below 0, and a call has few arrays", "[dispatch]") {
  dispatch::estimate const wide{1, -0.5, 3};
  CHECK((wide + dispatch::estimate{1, 0, 2}).low == Approx(2 - std::hypot(1.5, 1)));
  CHECK((wide + dispatch::estimate{0.1, 0, 2}).low == 0);
  dispatch::array_fact const one{1.0};
  CHECK(message_of([&] {
          dispatch::facts_in(memory_type::pageable, {.size = 1},
                             {one, one, one, one, one, one, one, one, one});
        }) == "9 arrays: a call has at most 8");
}

TEST_CASE("a path with wrong results is never chosen", "[dispatch]") {
  auto all = test::saxpy_measurements();
  all.paths[1] = {.where = on::host{4}, .wrong = "element 3 is 1, expected 2"};
  costs const of{all};
  for (std::size_t size = 0; size <= 1 << 22; size = size * 2 + 1) {
    CHECK(of.best(dispatch::facts_of_size(size)) == 0);
  }
  CHECK_THAT(message_of([&] { dispatch::choose::always{on::host{4}}.bound(of); }),
             contains("host{4} computes wrong results for saxpy"));
  all.paths[0] = {.where = on::host{1}, .wrong = "element 5"};
  CHECK_THAT(message_of([&] { costs{all}; }), contains("no path computes right results: host{1}: "
                                                       "element 5"));
  all.paths.clear();
  CHECK_THAT(message_of([&] { costs{all}; }), contains("saxpy: the list of paths is empty"));
}

TEST_CASE("copies follow the memory and the newest copy of each array", "[dispatch]") {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 1e-5 + 1e-11 * n; }));
  all.machine.sync = {4e-6, 4e-6, 4e-6};
  using dispatch::to;
  all.machine.links = {{"", to::device, memory_type::pageable, 1e-5, 1e10, 0.1},
                       {"", to::host, memory_type::pageable, 2e-5, 2e10, 0.1}};
  costs const of{all};
  auto known = dispatch::facts_of_size(1 << 20);
  known.count = 1;
  auto& array = known.arrays[0];
  array = {.bytes = 1e7, .way = dispatch::direction::inout};
  double const alone = of.seconds(2, dispatch::facts_of_size(1 << 20));
  CHECK(of.seconds(2, known) == Approx(alone + 1e-5 + 1e-3 + 2e-5 + 5e-4));
  CHECK(of.best(known) == 1);
  CHECK_THAT(of.predict(2, known).describe(),
             contains("copies in 1.0 ms, work 16 us, copies back 520 us, sync 4.0 us"));
  CHECK(of.seconds(1, known) == Approx(of.seconds(1, dispatch::facts_of_size(1 << 20))));

  array.newest = 0;  // on the device: nothing goes in, and the host must fetch it
  CHECK(of.seconds(2, known) == Approx(alone + 2e-5 + 5e-4));
  CHECK(of.seconds(1, known) ==
        Approx(of.seconds(1, dispatch::facts_of_size(1 << 20)) + 2e-5 + 5e-4));
  array.newest = 1;  // on another device
  CHECK(of.seconds(2, known) > alone + 1e-3);
  array = {
      .bytes = 1e7, .way = dispatch::direction::in, .memory = memory_type::device, .newest = 0};
  CHECK(of.seconds(2, known) == Approx(alone));
  CHECK(std::isinf(of.seconds(1, known)));  // the host cannot read it
  CHECK(of.best(known) == 2);
  CHECK(of.predict(1, known).describe() == "host{4}: impossible");
  array.way = dispatch::direction::out;
  CHECK(std::isinf(of.seconds(1, known)));  // nor write it
  CHECK(std::isfinite(of.seconds(2, known)));
  array.newest = 1;
  CHECK(std::isinf(of.seconds(2, known)));  // nor can another device
  array = {.bytes = 1, .way = dispatch::direction::in, .memory = memory_type::managed};
  CHECK(std::isinf(of.seconds(2, known)));  // nothing is known about such copies
}

TEST_CASE("copies take a factor between those of the sizes beside a call's", "[dispatch]") {
  auto all = test::saxpy_measurements();
  using dispatch::to;
  auto const pageable = memory_type::pageable;
  all.machine.links = {{"", to::device, pageable, 1e-5, 1e10, 0.5},
                       {"", to::host, pageable, 1e-5, 1e10, 0.5}};
  all.paths.push_back(test::path_of(on::device{0}, [](double) { return 1e-5; }));
  auto& factors = all.paths.back().factors;
  factors = {{to::device, pageable, 16, 4, 0.1}, {to::device, pageable, 256, 2, 0.3}};
  costs const of{all};
  auto const copied = [&](std::size_t size) {
    return of.copies_of(2, dispatch::facts_in(pageable, {.size = size}, {{1e5}})).before;
  };
  for (auto const& [size, factor, spread] :
       {std::tuple{1U, 4.0, 0.1}, {16U, 4.0, 0.1}, {64U, 3.0, 0.2}, {1U << 12U, 2.0, 0.3}}) {
    CHECK(copied(size).seconds == Approx(2e-5 * factor));
    CHECK(copied(size).half == Approx(2e-5 * factor * spread));
  }
  auto known = dispatch::facts_in(pageable, {.size = 64}, {{1e5, dispatch::direction::out}});
  CHECK(of.copies_of(2, known).after.seconds == Approx(2e-5));  // no factor of this way
  // Copies of page-locked memory stay as long as alone: what a call takes beside them is `submit`.
  auto const locked = memory_type::page_locked;
  all.machine.links.push_back({"", to::device, locked, 1e-5, 1e10, 0.5});
  all.paths.back().factors.push_back({to::device, locked, 16, 3, 0.1});
  all.paths.back().factors.push_back({to::device, locked, 256, 0.5, 0.1});
  costs const with_locked{all};
  auto const moved = [&](std::size_t size) {
    return with_locked.copies_of(2, dispatch::facts_in(locked, {.size = size}, {{1e5}}));
  };
  CHECK(moved(16).before.seconds == Approx(2e-5));
  CHECK(moved(16).submit.seconds == Approx(4e-5));
  CHECK(moved(16).submit.half == Approx(4e-6));
  CHECK(moved(256).before.seconds == Approx(1e-5));
  CHECK(moved(256).submit.seconds == 0);
  auto const call = dispatch::facts_in(locked, {.size = 16}, {{1e5}});
  auto const said = with_locked.predict(2, call);
  CHECK(said.total.seconds == Approx(with_locked.seconds(2, call)));
  CHECK_THAT(said.describe(), contains(": submit 40 us, copies in 20 us, work "));
  for (auto const& bad : {dispatch::copy_factor{to::device, pageable, 16, 3, 0},
                          {to::device, pageable, 512, 0, 0},
                          {to::host, pageable, 0, 1, 0}}) {
    auto wrong = all;
    wrong.paths.back().factors.push_back(bad);
    CHECK_THAT(message_of([&] { costs{wrong}; }), contains("sizes that rise from 1"));
  }
}

TEST_CASE("bad work has one line with its value and what is allowed", "[dispatch]") {
  auto const refused = [](dispatch::work amount) {
    return message_of([&] { dispatch::require_work("saxpy", amount); });
  };
  CHECK(refused({0, 0, 0}) == "nothing was thrown");
  CHECK(refused({5, 0, 0}) ==
        "saxpy: work() at size 5 says 0 bytes and 0 flops: a call with elements needs one of them");
  CHECK(refused({5, NAN, 0}) ==
        "saxpy: work() at size 5 says bytes = nan: a finite number of at least 0 is needed");
  CHECK_THAT(refused({5, 1, -2}), contains("flops = -2: a finite number"));
  CHECK_THAT(refused({5, INFINITY, 1}), contains("bytes = inf: a finite number"));
}

TEST_CASE("a path that is there twice or missing is named", "[dispatch]") {
  auto all = test::saxpy_measurements();
  costs const of{all};
  CHECK(message_of([&] { of.index_of(on::device{0}); }) ==
        "the costs of saxpy have no path device{0}: there are host{1}, host{4}");
  all.paths.push_back(all.paths[0]);
  CHECK_THAT(message_of([&] { costs{all}; }), contains("host{1} is there twice"));
}

TEST_CASE("a crossover is a region of sizes, never, always or several", "[dispatch]") {
  auto all = test::saxpy_measurements();
  auto const between = [&](auto second, double spread) {
    all.paths[1] = test::path_of(on::host{4}, second, spread);
    return dispatch::find_crossover(costs{all}, on::host{1}, on::host{4}, dispatch::facts_of_size);
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
  CHECK(dispatch::find_crossover(costs{all}, on::host{1}, on::host{4}).never());
  CHECK(dispatch::find_crossover(costs{all}, on::host{4}, on::host{1}).always());
  all.paths.push_back({.where = on::host{2}, .wrong = "element 5"});
  CHECK_THAT(message_of([&] { dispatch::find_crossover(costs{all}, on::host{4}, on::host{2}); }),
             contains("host{4} and host{2} both compute wrong results for saxpy"));
}

TEST_CASE("regions name the fastest path from size to size, and ties make none", "[dispatch]") {
  auto all = test::saxpy_measurements();
  auto const regions_with = [&](auto second) {
    all.paths[1] = test::path_of(on::host{4}, second);
    return dispatch::find_regions(costs{all});
  };
  auto const two = regions_with([](double n) { return 6e-6 + 0.25e-9 * n; });
  REQUIRE(two.size() == 2);
  CHECK(two[0].path == 0);
  CHECK(two[0].from.size == 0);
  CHECK(two[1].path == 1);
  auto const crossed = dispatch::find_crossover(costs{all}, on::host{1}, on::host{4});
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
  all.machine.links = {{"", dispatch::to::device, memory_type::pageable, 1e-6, 1e9, 0.01}};
  auto const at = [](std::size_t n) {
    auto known = dispatch::facts_of_size(n);
    known.arrays[known.count++] = {.bytes = 4.0 * static_cast<double>(n)};
    return known;
  };
  CHECK(dispatch::find_regions(costs{all}).back().path == 2);
  CHECK(dispatch::find_regions(costs{all}, at).back().path != 2);

  all.paths[0] = {.where = on::host{1}, .wrong = "element 3"};
  CHECK(dispatch::find_regions(costs{all}).front().path != 0);
}
