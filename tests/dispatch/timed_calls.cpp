// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include <assay/dispatch/timed_calls.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <thread>
#include <tuple>

using namespace assay;
using dispatch::direction;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// A call of 65536 elements whose arrays are pageable, with the predicted times on all paths.
dispatch::timed_calls::call predicted_call(dispatch::costs const& of) {
  dispatch::timed_calls::call made{dispatch::facts_of_size(1 << 16)};
  made.known.arrays[0] = {.bytes = 4e5};
  made.known.arrays[1] = {.bytes = 4e5, .way = direction::inout};
  made.known.count = 2;
  for (std::size_t p = 0; p < of.paths().size(); ++p) {
    for (auto& half : made.halves) { half.push_back(of.seconds(p, made.known)); }
  }
  return made;
}

/// Takes 13 ms, and 39 ms at every third call.
struct delayed {
  std::span<float const> x;
  static constexpr std::string_view name = "delayed";
  dispatch::work work() const { return {.size = x.size(), .bytes = 4.0}; }
  auto arrays() const { return std::tuple{dispatch::in(x)}; }
  void run(on::host, float const*) const {
    static int calls = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds{++calls % 3 == 0 ? 39 : 13});
  }
};

}  // namespace

TEST_CASE("means hold the delays of few calls", "[dispatch]") {
  dispatch::measurements made{.task = "delayed", .paths = {}};
  made.paths.push_back({.where = on::host{1}, .knots = {{1, 13e-3, 0.01}, {2, 13e-3, 0.01}}});
  auto const timed = dispatch::time_calls<delayed>(
      dispatch::costs{made},
      {.sizes = {1, 2},
       .count = 1,
       .make = [](setup& arrays,
                  std::size_t size) { return delayed{{arrays.random<float>(size).data(), size}}; },
       .means = true});
  REQUIRE(timed.calls.size() == 1);
  // One call in five is a long one at least, of those that are timed. The median is 13 ms.
  for (auto const& half : timed.calls[0].halves) { CHECK(half.at(0) > 17e-3); }
}

TEST_CASE("resident arrays need no copies, and the others stay in their order", "[dispatch]") {
  auto known = dispatch::facts_of_size(10);
  for (double const bytes : {1.0, 2.0, 3.0, 4.0}) {
    auto const memory = bytes == 2 || bytes == 4 ? memory_type::device : memory_type::pageable;
    known.arrays[known.count++] = {.bytes = bytes, .way = direction::in, .memory = memory};
  }
  forget_resident_arrays(known);
  REQUIRE(known.count == 2);
  CHECK(known.arrays[0].bytes == 1);
  CHECK(known.arrays[1].bytes == 3);
}

TEST_CASE("errors of predictions are shares of the measured times, beside the noise",
          "[dispatch]") {
  dispatch::costs const of{test::device_measurements()};
  auto call = predicted_call(of);
  for (auto& half : call.halves) { half[0] *= 1.25; }  // predicted 20 % too short
  call.halves[0][1] *= 1.1;
  call.halves[1][1] *= 0.9;
  call.halves[0][2] = call.halves[1][2] = inf;
  auto const found = call_errors(of, {{call, call}});
  REQUIRE(found.size() == 4);  // the third path is impossible
  CHECK(found[0].path == 0);
  CHECK(found[0].of_prediction == Approx(-0.2));
  CHECK(found[0].of_noise == 0);
  CHECK_FALSE(found[0].held);
  CHECK(found[1].path == 1);
  CHECK(std::abs(found[1].of_prediction) < 1e-12);
  CHECK(found[1].of_noise == Approx(0.1));
  CHECK(found[1].held);
}

TEST_CASE("items of a prediction stand beside the stages of a trace", "[dispatch]") {
  dispatch::costs const of{test::device_measurements()};
  CHECK(dispatch::traced_path(of) == 1U);
  auto call = predicted_call(of);
  CHECK(stage_pairs(of, {{call}}).empty());  // no trace
  call.traced = {{"copies_in_seconds", 2e-6},
                 {"work_seconds", 3e-6},
                 {"copies_back_seconds", 4e-6},
                 {"idle_seconds", 5e-6}};
  auto const found = stage_pairs(of, {{call}});
  REQUIRE(found.size() == 3);
  CHECK(found[0].stage == "copies_in");
  CHECK(found[0].traced == 2e-6);
  CHECK(found[0].predicted == Approx(2 * (1e-8 + 4e-7)));
  CHECK(found[1].stage == "work");
  CHECK(found[2].stage == "copies_back");
  CHECK(found[2].predicted == Approx(1e-8 + 4e-7));

  auto wrong = test::device_measurements();
  for (std::size_t p = 1; p < 3; ++p) {
    wrong.paths[p] = {wrong.paths[p].where, {}, 1, "element 3"};
  }
  CHECK_FALSE(dispatch::traced_path(dispatch::costs{wrong}));
}
