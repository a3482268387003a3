// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calibration with device paths, on a device of host memory.

#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include <assay/dispatch/device_bench.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/measure/regret.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace assay;
using dispatch::path;
using measure::calibrate;
using test::contains;
using test::device_saxpy;
using test::message_of;

namespace {

test::fake_device& the_device() {
  static test::fake_device device{7};
  return device;
}

}  // namespace

namespace assay::dispatch {

/// The device of a calibration, as <assay/dispatch/device.hpp> defines it for CUDA.
template <task T>
class device_paths : public device_bench<T, test::fake_task_link, test::fake_memory> {
 public:
  explicit device_paths(on::device)
      : device_bench<T, test::fake_task_link, test::fake_memory>(test::fake_task_link{the_device()},
                                                                 the_device().caller(),
                                                                 test::fake_memory{&the_device()}) {
  }
  void describe(measurements& to, bool staged) const {
    to.device = staged ? "a fake with staging" : "a fake";
    to.machine = {{}, test::device_measurements().machine.links, {1e-6, 1e-6, 1e-6}};
  }
  static std::shared_ptr<arrays::array_store> page_locked_arrays(std::uint64_t seed) {
    return std::make_shared<arrays::host_array_store>(seed);
  }
};

}  // namespace assay::dispatch

namespace {

auto make(std::size_t left_out = 0) {
  return [=](setup& arrays, std::size_t size) -> device_saxpy {
    return {test::make_saxpy(arrays, size), left_out};
  };
}

std::vector<path> const host_and_device{on::host{1}, on::device{0}};

}  // namespace

TEST_CASE("device paths are verified and timed, and the file names the device", "[measure]") {
  auto const costs =
      calibrate<device_saxpy>({on::host{1}, on::device{0}, {on::device{0}, "staged"}},
                              {.sizes = {1, 2000}, .budget_seconds = 5, .make = make()});
  CHECK(costs.measured().device == "a fake with staging");
  CHECK(costs.measured().machine.links.size() == 8);
  CHECK(costs.measured().machine.sync.seconds == 1e-6);
  CHECK(costs.device() == on::device{0});
  for (auto const& each : costs.paths()) {
    CHECK(each.wrong.empty());
    CHECK(each.knots.size() >= 12);
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
  // Arrays at home: no path is impossible, and none copies.
  auto const at_home = measure::time_calls<device_saxpy>(
      costs, {.sizes = {1, 2000}, .count = 5, .make = make(), .memory = std::nullopt});
  for (auto const& each : at_home.calls) {
    CHECK(each.known.count == 0);
    CHECK(each.known.amount.bytes > 0);
    for (std::size_t p = 0; p < 3; ++p) { CHECK(std::isfinite(each.halves[0][p])); }
    CHECK(std::isfinite(costs.seconds(0, each.known)));
  }
  CHECK(the_device().live_bytes == 0);
}

TEST_CASE("a device path that leaves elements out is found, and is not chosen", "[measure]") {
  // y is what host{1} left there, unless its first content is on the device again.
  auto const costs = calibrate<device_saxpy>(
      host_and_device, {.sizes = {1, 2000}, .budget_seconds = 5, .make = make(1)});
  CHECK(costs.paths()[0].wrong.empty());
  CHECK_THAT(costs.paths()[1].wrong, contains("element 0 of array 1 differs from that of host{1}"));
}

TEST_CASE("paths that a calibration cannot run have one line", "[measure]") {
  auto const refused = [](std::vector<path> const& paths) {
    return message_of(
        [&] { calibrate<device_saxpy>(paths, {.sizes = {1, 2000}, .make = make()}); });
  };
  CHECK_THAT(refused({on::device{0}, on::device{1}}), contains("are two devices"));
  CHECK_THAT(refused({{on::device{0}, "pinned"}}), contains("there is no such transfer"));
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
