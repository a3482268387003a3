// SPDX-License-Identifier: Apache-2.0
#include "offload/prediction_errors.hpp"
#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

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

}  // namespace

TEST_CASE("errors of predictions are shares of the measured times, beside the noise",
          "[dispatch]") {
  dispatch::costs const of{test::device_measurements()};
  auto call = predicted_call(of);
  for (auto& half : call.halves) { half[0] *= 1.25; }  // predicted 20 % too short
  call.halves[0][1] *= 1.1;
  call.halves[1][1] *= 0.9;
  auto impossible = call;
  impossible.halves[0][1] = impossible.halves[1][1] = inf;
  auto const found = examples::call_errors(of, {{call, impossible}});
  REQUIRE(found.size() == 3);
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
  CHECK(examples::stage_pairs(of, {{call}}).empty());  // no trace
  call.traced = {{"copies_in_seconds", 2e-6},
                 {"work_seconds", 3e-6},
                 {"copies_back_seconds", 4e-6},
                 {"idle_seconds", 5e-6}};
  auto const found = examples::stage_pairs(of, {{call}});
  REQUIRE(found.size() == 3);
  CHECK(found[0].stage == "copies_in");
  CHECK(found[0].traced == 2e-6);
  CHECK(found[0].predicted == Approx(2e-8 + 8e-7));
  CHECK(found[1].stage == "work");
  CHECK(found[2].stage == "copies_back");
  CHECK(found[2].predicted == Approx(1e-8 + 4e-7));

  auto wrong = test::device_measurements();
  wrong.paths[1] = {wrong.paths[1].where, {}, "element 3"};
  CHECK_FALSE(dispatch::traced_path(dispatch::costs{wrong}));
}
