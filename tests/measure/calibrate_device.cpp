// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calibration with device paths, on a device of host memory.

#include "catch.hpp"
#include "dispatch/fake_device.hpp"
#include "dispatch/synthetic_machine.hpp"

#include <assay/dispatch/device_bench.hpp>
#include <assay/measure/calibrate.hpp>
#include <assay/measure/regret.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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

namespace {

test::fake_device& the_device() {
  static test::fake_device device{7};
  return device;
}

/// As `dispatch::detail::page_locked_store`, of the fake.
class fake_store final : public arrays::host_array_store {
 public:
  fake_store(std::uint64_t seed, double share)
      : host_array_store(seed), draw_{stats::random_source{seed}}, share_(share) {}

 private:
  std::byte* allocate_block(std::size_t bytes) override {
    if (draw_.uniform(0, 1) >= share_) { return host_array_store::allocate_block(bytes); }
    return static_cast<std::byte*>(test::fake_block{the_device(), bytes + spread}.get());
  }
  test::draws draw_;
  double share_;
};

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
  static std::shared_ptr<arrays::array_store> page_locked_arrays(std::uint64_t seed, double share) {
    return std::make_shared<fake_store>(seed, share);
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
    // Both ways, for two types of memory, at the sizes of the grid.
    CHECK(each.factors.size() == (each.where.device() != nullptr ? 4 * 6 : 0));
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

TEST_CASE("all calls are timed once before one is timed again", "[measure]") {
  dispatch::costs const of{test::device_measurements()};
  std::vector<std::size_t> sizes;
  auto const noted = [&](setup& arrays, std::size_t size) {
    sizes.push_back(size);
    return make()(arrays, size);
  };
  auto const timed = measure::time_calls<device_saxpy>(
      of, {.sizes = {1, 2000}, .count = 6, .make = noted, .memory = {}, .mixed = true});
  REQUIRE(sizes.size() == 12);
  CHECK(std::equal(sizes.begin(), sizes.begin() + 6, sizes.begin() + 6));
  for (auto const& each : timed.calls) {
    CHECK(each.halves[0].size() == 3);
    CHECK(each.halves[1].size() == 3);
  }
}

TEST_CASE("calls leave no array at home, those that they write, or all", "[measure]") {
  dispatch::task_bench<device_saxpy> bench{host_and_device, make(), test::fresh_seed()};
  using dispatch::at_home;
  for (auto const memory : bench.host_memories()) {
    bench.lie_in(memory);
    bench.open(100);
    for (auto const& [which, moved] :
         {std::pair{at_home::none, 3}, {at_home::written, 1}, {at_home::all, 0}}) {
      bench.leave_at_home(which);
      CHECK(bench.known().arrays[0].memory ==
            (which == at_home::all ? memory_type::device : memory));
      (void)bench.seconds(1, 1);  // may upload
      auto const before = the_device().copies.load();
      (void)bench.seconds(1, 1);
      CHECK(the_device().copies - before == moved);  // x goes in, y goes in and back
    }
  }
}

TEST_CASE("a study times calls of each kind, checks crossovers and sweeps", "[measure]") {
  int traced = 0;
  std::vector<std::string> said;
  measure::study_options<device_saxpy> options{
      .calibrated = {.sizes = {1, 2000}, .budget_seconds = 1, .make = make(), .seed = 7},
      .facts_at =
          [](std::size_t n, memory_type memory) {
            auto known = dispatch::facts_of_size(n);
            auto const bytes = 4.0 * static_cast<double>(n);
            known.arrays[0] = {.bytes = bytes, .memory = memory};
            known.arrays[1] = {.bytes = bytes, .way = dispatch::direction::inout, .memory = memory};
            known.count = 2;
            return known;
          },
      .calls = 4,
      .training = 3,
      .sweep_to = 5,
      .rules = {{"a > 500", {501, on::host{1}, on::device{0}}}},
      .make_other = [](setup& arrays, std::size_t n) { return make()(arrays, n + 1); },
      .traced = 2,
      .trace =
          [&](std::function<void()> const& call) {
            call();
            ++traced;
            return dispatch::traced_values{{"work_seconds", 1e-6}};
          },
      .say = [&](std::string const& what) { said.push_back(what); }};
  auto const found = measure::study_dispatch(host_and_device, options);
  REQUIRE(found.kinds.size() == 5);
  CHECK(found.kinds[4].name == "other shapes");
  CHECK(found.calibration_seconds > 0);
  for (std::size_t k = 0; k < 5; ++k) {
    auto const& each = found.kinds[k];
    CHECK(each.timed.calls.size() == 4);
    CHECK(each.training.calls.size() == 3);
    REQUIRE(each.traced.calls.size() == 2);
    CHECK(each.traced.calls[1].traced.front().first == "work_seconds");
    CHECK(each.timed.calls[1].traced.empty());
    for (auto const& call : each.timed.calls) {
      CHECK(std::isfinite(call.halves[0][0]));
      CHECK(std::isfinite(call.halves[0][1]));
      CHECK(std::isfinite(found.of.seconds(1, call.known)));
    }
    bool const mixed = each.name == "mixed" || each.name == "other shapes";
    CHECK(mixed == (k >= 3));
    CHECK(static_cast<bool>(each.at) == !mixed);
    CHECK(each.checks.size() == (mixed ? 0 : 1));
    CHECK(each.sweep.has_value() == !mixed);
    if (!mixed) { CHECK(each.sweep->last == 5); }
  }
  CHECK(traced == 10);
  CHECK_THAT(said.front(), contains("calibration, 1 s"));
  CHECK(found.kinds[1].at(10).arrays[0].memory == memory_type::page_locked);
  auto const rows = judge_choosers(found);
  CHECK(std::ranges::count(rows, "a > 500", &measure::regret_row::name) == 1);

  auto wrong_size = options;
  wrong_size.make_other = nullptr;
  wrong_size.calibrated.make = options.make_other;
  CHECK_THAT(message_of([&] { measure::study_dispatch(host_and_device, wrong_size); }),
             contains("return the size asked for"));

  options.bisects = false;
  options.sweep_to = 0;
  options.traced = 0;
  auto const brief = measure::study_dispatch(host_and_device, options);
  CHECK(brief.kinds[1].checks.empty());
  CHECK_FALSE(brief.kinds[1].sweep);
  CHECK(brief.kinds[1].traced.calls.empty());
  CHECK(traced == 10);
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
