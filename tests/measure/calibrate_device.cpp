// SPDX-License-Identifier: Apache-2.0
// assay-grouped: no, since it adds to the library
/// @file
/// Calibration with device paths, on a device of host memory.

#include "catch.hpp"
#include "dispatch/fake_device_paths.hpp"

#include <assay/measure/calibrate.hpp>
#include <assay/measure/regret.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace assay;
using dispatch::path;
using measure::calibrate;
using test::contains;
using test::device_saxpy;
using test::message_of;
using test::the_device;

namespace {

auto make(std::size_t left_out = 0) {
  return [=](setup& arrays, std::size_t size) -> device_saxpy {
    return {test::make_saxpy(arrays, size), left_out};
  };
}

std::vector<path> const host_and_device{on::host{1}, on::device{0}};

}  // namespace

TEST_CASE("device paths are verified and timed, and the file names the device", "[measure]") {
  auto const costs = calibrate<device_saxpy>(
      host_and_device, {.sizes = {1, 2000}, .budget_seconds = 1, .make = make()});
  CHECK(costs.measured().device == "a fake");
  REQUIRE(costs.measured().links.size() == 2);
  for (auto const& each : costs.measured().links) {
    CHECK(each.latency_seconds + 1000 * (each.seconds_per_byte_in + each.seconds_per_byte_back) >
          0);
  }
  CHECK(costs.device() == on::device{0});
  for (auto const& each : costs.paths()) {
    CHECK(each.wrong.empty());
    CHECK(each.knots.size() == 12);
  }
  for (auto const memory : {memory_type::pageable, memory_type::page_locked, memory_type::device}) {
    auto const timed = measure::time_calls<device_saxpy>(
        costs, {.sizes = {1, 2000}, .count = 5, .make = make(), .memory = memory});
    REQUIRE(timed.calls.size() == 5);
    for (auto const& each : timed.calls) {
      CHECK(each.known.arrays[1].memory == memory);
      CHECK(std::isinf(each.halves[0][0]) == (memory == memory_type::device));
      CHECK(std::isinf(costs.seconds(0, each.known)) == (memory == memory_type::device));
      CHECK(std::isfinite(each.halves[1][1]));
      CHECK(std::isfinite(costs.seconds(1, each.known)));
    }
  }
  // Resident arrays: no path is impossible, and none copies.
  auto const resident = measure::time_calls<device_saxpy>(
      costs, {.sizes = {1, 2000}, .count = 5, .make = make(), .memory = std::nullopt});
  for (auto const& each : resident.calls) {
    CHECK(each.known.count == 0);
    CHECK(each.known.amount.bytes > 0);
    for (std::size_t p = 0; p < 2; ++p) { CHECK(std::isfinite(each.halves[0][p])); }
    CHECK(std::isfinite(costs.seconds(0, each.known)));
  }
  CHECK(the_device().live_bytes == 0);
}

TEST_CASE("mixed calls have each array in any memory, and the results are right", "[measure]") {
  std::optional<device_saxpy> task;
  auto const kept = [&](setup& arrays, std::size_t size) {
    return task.emplace(device_saxpy{test::make_saxpy(arrays, size)});
  };
  dispatch::task_bench<device_saxpy> bench{host_and_device, kept, test::fresh_seed()};
  bench.mix();
  std::map<memory_type, int> seen;
  for (int i = 0; i < 300; ++i) {
    bench.open(100);
    auto const& known = bench.known();
    REQUIRE(known.count == 2);
    int home = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      ++seen[known.arrays[k].memory];
      if (known.arrays[k].memory == memory_type::device) {
        ++home;
        CHECK(known.arrays[k].newest == 0);
      }
    }
    std::vector<float> const y{task->y.begin(), task->y.end()};
    auto const before = the_device().copies.load();
    (void)bench.seconds(1, 1);
    bool const y_stays = known.arrays[1].memory == memory_type::device;
    for (std::size_t e = 0; e < y.size(); ++e) {
      CHECK(task->y[e] == (y_stays ? y[e] : y[e] + 2 * task->x[e]));
    }
    auto const first = the_device().copies.load();
    (void)bench.seconds(1, 1);
    // x goes in, y goes in and back; `upload` copied both to the device once.
    int const y_moves = y_stays ? 0 : 2;
    int const x_moves = known.arrays[0].memory == memory_type::device ? 0 : 1;
    CHECK(the_device().copies - first == x_moves + y_moves);
    CHECK(first - before == x_moves + y_moves + (home > 0 ? 2 : 0));
    CHECK(bench.wrong(1) == std::nullopt);
  }
  for (auto const each : {memory_type::device, memory_type::page_locked, memory_type::pageable}) {
    CHECK(seen[each] > 150);  // 200 of 600 are expected, and 11 is a standard deviation
  }
  dispatch::task_bench<device_saxpy> host{{on::host{1}}, make(), 1};
  CHECK(host.host_memories().empty());
  CHECK_THAT(message_of([&] { host.mix(); }), contains("there is no device path"));
}

TEST_CASE("the repetitions of a call are spread over the time of all calls", "[measure]") {
  static std::vector<float const*> runs;  // the arrays of each, in order
  struct noted_saxpy : test::saxpy {
    void run(on::host where, float const* from, float* to) const {
      runs.push_back(to);
      saxpy::run(where, from, to);
    }
  };
  auto all = test::saxpy_measurements();
  all.paths.resize(1);
  dispatch::costs const of{all};
  auto const timed = measure::time_calls<noted_saxpy>(
      of, {.sizes = {1000, 2000}, .count = 6, .make = [](setup& arrays, std::size_t size) {
             return noted_saxpy{test::make_saxpy(arrays, size)};
           }});
  CHECK(timed.calls.size() == 6);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());  // a group of calls is one visit
  std::map<float const*, int> visits;
  for (auto const* each : runs) { ++visits[each]; }
  CHECK(visits.size() == 6);
  // 18, but for rounds that end where the next begins. At least 6, if other work takes the time.
  for (auto const& each : visits) { CHECK(each.second >= 5); }
}

TEST_CASE("calls leave no array resident, those that they write, or all", "[measure]") {
  dispatch::task_bench<device_saxpy> bench{host_and_device, make(), test::fresh_seed()};
  using dispatch::resident_arrays;
  for (auto const memory : bench.host_memories()) {
    bench.lie_in(memory);
    bench.open(100);
    for (auto const& [which, moved] : {std::pair{resident_arrays::none, 3},
                                       {resident_arrays::written, 1},
                                       {resident_arrays::all, 0}}) {
      bench.make_resident(which);
      CHECK(bench.known().arrays[0].memory ==
            (which == resident_arrays::all ? memory_type::device : memory));
      (void)bench.seconds(1, 1);  // may upload
      auto const before = the_device().copies.load();
      (void)bench.seconds(1, 1);
      CHECK(the_device().copies - before == moved);  // x goes in, y goes in and back
    }
  }
}

TEST_CASE("a device path that leaves elements out is found, and is not chosen", "[measure]") {
  // y is what host{1} left there, unless its first content is on the device again.
  auto const costs = calibrate<device_saxpy>(
      host_and_device, {.sizes = {1, 2000}, .budget_seconds = 0.5, .make = make(1)});
  CHECK(costs.paths()[0].wrong.empty());
  CHECK_THAT(costs.paths()[1].wrong, contains("element 0 of array 1 differs from that of host{1}"));
  CHECK(costs.measured().links.empty());
}

TEST_CASE("paths that a calibration cannot run have one line", "[measure]") {
  auto const refused = [](std::vector<path> const& paths) {
    return message_of(
        [&] { calibrate<device_saxpy>(paths, {.sizes = {1, 2000}, .make = make()}); });
  };
  CHECK_THAT(refused({on::device{0}, on::device{1}}), contains("are two devices"));
  CHECK(message_of([] {
          calibrate<test::saxpy>(host_and_device, {.sizes = {1, 2000}, .make = test::make_saxpy});
        }) ==
        "saxpy cannot run on device{0}: it has no run(cudaStream_t, pointers...) const with "
        "a pointer for each array");
  auto all = test::saxpy_measurements();
  all.paths.resize(1);
  dispatch::costs const of{all};
  CHECK_THAT(
      message_of([&] {
        measure::time_calls<test::saxpy>(
            of, {.sizes = {1, 2000}, .make = test::make_saxpy, .memory = memory_type::page_locked});
      }),
      contains("there is no device path"));
}
