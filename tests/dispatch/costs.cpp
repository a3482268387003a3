// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it replaces operator new
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/dispatch/choose.hpp>
#include <assay/dispatch/costs.hpp>
#include <assay/dispatch/load.hpp>
#include <assay/dispatch/sampling_definitions.hpp>
#include <assay/dispatch/timing.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <new>
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
                           dispatch::path{on::device{7}}}) {
    CHECK(dispatch::parse_path(each.describe()) == each);
  }
  for (auto const* text :
       {"", "host", "host{", "host{0}", "host{-1}", "host{4", "host{4}x", "host{4}/pinned",
        "device{}", "device{0}/", "device{0}pinned", "gpu{0}"}) {
    CHECK_FALSE(dispatch::parse_path(text));
  }
}

TEST_CASE("a curve goes through its knots, and its interval widens beyond them", "[dispatch]") {
  dispatch::curve const line{{{2, 1e-6, 0.1}, {4, 2e-6, 0.3}, {8, 4e-6, 0.1}}};
  for (double const log_size : {0.0, 1.0, 1.5, 3.0, 5.0}) {  // 0 and 5 are beyond the knots
    CHECK(std::exp2(line.log_seconds(log_size)) == Approx(0.5e-6 * std::exp2(log_size)));
  }
  CHECK(line.half_width(2) == Approx(0.3));
  CHECK(line.half_width(2.5) == Approx(0.2));
  CHECK(line.half_width(5) == Approx(0.1 + 1));
  CHECK(line.half_width(0) == Approx(0.1 + 0.5));
  CHECK(line.covers(3));
  CHECK_FALSE(line.covers(3.01));
  // Noise at the ends cannot make more work faster.
  dispatch::curve const falling{{{1, 2e-6, 0}, {2, 1e-6, 0}}};
  CHECK(std::exp2(falling.log_seconds(10)) == Approx(1e-6));
  using knots = std::vector<dispatch::knot>;
  for (auto const& bad :
       {knots{}, knots{{1, 1, 0}}, knots{{2, 1, 0}, {2, 1, 0}}, knots{{0.5, 1, 0}, {2, 1, 0}},
        knots{{1, 0, 0}, {2, 1, 0}}, knots{{1, 1, -1}, {2, 1, 0}}, knots{{1, 1, 0}, {2, NAN, 0}},
        knots{{1, 1, NAN}, {2, 1, 0}}}) {
    CHECK_THAT(message_of([&] { dispatch::curve{bad}; }), contains("2 or more are needed"));
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

TEST_CASE("one outlier of a long call counts for nothing, nor does one slow moment of two",
          "[dispatch]") {
  using dispatch::detail::merged;
  CHECK(merged(10, {{2, 2, 2}, {600}}).seconds == 2);
  CHECK(merged(10, {{2, 2, 600}, {2}, {600}}).seconds == 2);
  CHECK(merged(10, {{600, 600, 2}, {2}}).seconds == 2);
  CHECK(merged(10, {{3, 3, 3, 3, 3, 3, 3, 3, 3}, {2, 2, 2}}).seconds == 2);
  // A slow moment of many times weighs as much as one of three.
  CHECK(merged(10, {{3, 3, 3, 3, 3, 3, 3, 3, 3}, {2, 2, 2}, {2, 2, 2}}).seconds == 2);
  CHECK(merged(10, {{2}}).spread == 0.5);                                         // of one moment
  CHECK(merged(10, {{2, 2, 2}, {600}}).spread == Approx(0.5 * std::log2(300.)));  // told
}

TEST_CASE("a prediction has items, an interval, and a flag beyond the calibrated sizes",
          "[dispatch]") {
  costs const of{test::saxpy_measurements()};
  // docs: prediction
  auto const said = of.predict(1, dispatch::facts_of_size(1 << 18));
  CHECK(said.describe() == "host{4}: 72 us [71, 72]: work 72 us");
  // docs: end
  CHECK(said.total.seconds == Approx(6e-6 + 0.25e-9 * (1 << 18)));
  CHECK(said.total.low < said.total.seconds);
  CHECK(said.total.high > said.total.seconds);
  CHECK_FALSE(said.extrapolated);
  auto const beyond = of.predict(1, dispatch::facts_of_size(std::size_t{1} << 24));
  CHECK(beyond.extrapolated);
  CHECK(beyond.total.high / beyond.total.low > 15);  // 4 octaves: a factor of 4 up and down
  CHECK_THAT(beyond.describe(), contains("outside the calibrated sizes"));
  CHECK(of.predict(0, dispatch::facts_of_size(16)).describe() ==
        "host{1}: 16 ns [16, 16]: work 16 ns");
  CHECK(of.predict(0, dispatch::facts_of_size(0)).total.seconds > 0);
}

TEST_CASE("the least predicted time is chosen, without an allocation", "[dispatch]") {
  costs const of{test::saxpy_measurements()};
  auto const small = dispatch::facts_of_size(100);
  auto const large = dispatch::facts_of_size(1 << 20);
  static_assert(noexcept(of.choose(small)));
  auto const always = dispatch::choose::always{on::host{4}}.bound(of);
  auto const from = dispatch::choose::threshold{1000, on::host{1}, on::host{4}}.bound(of);
  auto const queued = load::own_queue{}.bound(of);
  auto const before = allocations;
  bool const right = of.choose(small) == dispatch::path{on::host{1}} &&
                     of.choose(large) == dispatch::path{on::host{4}} && queued(large) == 1 &&
                     always(small) == 1 && from(large) == 1;
  CHECK(allocations == before);
  CHECK(right);
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

TEST_CASE("copies follow the memory of each array", "[dispatch]") {
  auto all = test::saxpy_measurements();
  all.paths.push_back(test::path_of(on::device{0}, [](double n) { return 1e-5 + 1e-11 * n; }));
  all.links = {{memory_type::pageable, 1e-5, 1e-10, 5e-11},
               {memory_type::page_locked, 2e-6, 2e-11, 3e-11}};
  costs const of{all};
  auto known = dispatch::facts_of_size(1 << 20);
  known.count = 1;
  auto& array = known.arrays[0];
  array = {.bytes = 1e7, .way = dispatch::direction::inout};
  double const alone = of.seconds(2, dispatch::facts_of_size(1 << 20));
  double const on_host = of.seconds(1, known);
  CHECK(on_host == of.seconds(1, dispatch::facts_of_size(1 << 20)));
  CHECK(of.seconds(2, known) == Approx(alone + 2e-5 + 1e-3 + 5e-4));
  CHECK(of.best(known) == 1);
  CHECK_THAT(of.predict(2, known).describe(),
             contains("copies in 1.0 ms, work 20 us, copies back 510 us"));
  CHECK(of.predict(2, known).total.seconds == Approx(of.seconds(2, known)));
  // Each copy has a latency, and an empty array copies nothing.
  known.count = 4;
  known.arrays[1] = {.bytes = 1e6};
  known.arrays[2] = {
      .bytes = 1e6, .way = dispatch::direction::out, .memory = memory_type::page_locked};
  known.arrays[3] = {.bytes = 0, .memory = memory_type::managed};
  CHECK(of.seconds(2, known) == Approx(alone + 3e-5 + 1.1e-3 + 5e-4 + 2e-6 + 3e-5));
  CHECK(of.predict(2, known).items.back().memory == "mixed");

  known.count = 1;
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
  CHECK(std::isfinite(of.seconds(1, known)));
}

TEST_CASE("where every path is impossible, the best one still computes right results",
          "[dispatch]") {
  auto all = test::saxpy_measurements();
  all.paths[0] = {.where = on::device{0}, .wrong = "at size 64: element 0 is wrong"};
  costs const with_host{all};
  auto const on_device =
      dispatch::facts_in(memory_type::device, {.size = 1000}, {{.bytes = 4000, .newest = 0}});
  CHECK(with_host.best(on_device) == 1);  // an engine says that the host cannot reach the array
  CHECK(std::isinf(with_host.seconds(1, on_device)));
  all.paths[0] = {.where = on::host{1}, .wrong = "at size 64: element 0 is wrong"};
  all.paths[1] = test::path_of(on::device{0}, [](double n) { return 1e-5 + 1e-11 * n; });
  costs const with_device{all};
  auto const managed = dispatch::facts_in(memory_type::managed, {.size = 1000}, {{.bytes = 4000}});
  CHECK(with_device.best(managed) == 1);
  CHECK(with_device.choose(managed) == dispatch::path{on::device{0}});
  dispatch::array_fact const one{1.0};
  CHECK(message_of([&] {
          dispatch::facts_in(memory_type::pageable, {.size = 1},
                             {one, one, one, one, one, one, one, one, one});
        }) == "9 arrays: a call has at most 8");
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
