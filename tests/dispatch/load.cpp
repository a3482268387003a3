// SPDX-License-Identifier: Apache-2.0
// What watching is worth on a machine whose device is shared in known slices of time.
#include "catch.hpp"
#include "dispatch/saxpy.hpp"

#include <assay/dispatch/load.hpp>
#include <assay/stats/random_source.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <stdexcept>
#include <utility>

using namespace assay;
using dispatch::costs;
using test::contains;
using test::message_of;

namespace {

/// A machine of 16 cores and a device, which another process uses in slices.
struct shared_machine {
  stats::random_source random{11};
  double device_slice = 0;  // of a process that never pauses; 0 for none
  double device_share = 1;  // of the time in which that process works

  double alone(dispatch::path const& where, double n) const {
    if (where.device() != nullptr) { return 8e-6 + 2e-11 * n; }
    int const t = where.host()->threads;
    return fork(t) + 1e-9 * n / std::pow(t, 0.9);
  }
  static double fork(int threads) { return threads == 1 ? 0 : 1e-6 * (3 + threads); }

  /// The mean time of a call under load. Calls come at any moment of a slice of the others.
  double mean(dispatch::path const& where, double n) const {
    double const idle = alone(where, n);
    if (where.host() != nullptr || device_slice == 0) { return idle; }
    double const waits = 0.5 * device_slice + std::floor(idle / device_slice) * device_slice;
    return idle + device_share * waits;
  }

  double uniform() { return static_cast<double>(random.next() >> 11U) * 0x1p-53; }

  /// What a watcher would see.
  dispatch::load_sources sources() {
    return {.others_on_device = [this] { return device_slice > 0; },
            .two_kernels =
                [this] {
                  double const slice = uniform() < device_share ? device_slice : 0;
                  return std::pair{10e-6 + uniform() * slice, 10e-6 + slice};
                }};
  }

  costs measured() const {
    dispatch::measurements made{.task = "synthetic", .paths = {}};
    for (int const t : {1, 4, 8, 16}) { add(made, on::host{t}); }
    add(made, on::device{0});
    return costs{made};
  }

  /// The regret of choices at sizes of all octaves.
  template <class Pick>
  double regret(costs const& of, Pick const& pick) const {
    double chosen = 0, best = 0;
    for (double n = 100; n < 1e8; n *= 1.1) {
      auto const known = dispatch::facts_of_size(static_cast<std::size_t>(n));
      double least = INFINITY;
      for (auto const& each : of.paths()) { least = std::min(least, mean(each.where, n)); }
      best += least;
      chosen += mean(of.paths()[pick(known)].where, n);
    }
    return chosen / best - 1;
  }

 private:
  void add(dispatch::measurements& to, dispatch::path const& where) const {
    dispatch::path_costs each{.where = where};
    for (double n = 64; n <= 1 << 27; n *= 2) { each.knots.push_back({n, alone(where, n), 0.01}); }
    to.paths.push_back(each);
  }
};

struct regrets {
  double ignored = 0, watched = 0;
};
/// After 0.6 s, in which a watcher asks at 0, 0.2, 0.4 and 0.6 s, or after more time.
regrets after_600_ms(shared_machine machine, int polls = 4) {
  auto const of = machine.measured();
  dispatch::loaded_choice const choice{of};
  dispatch::load_watcher watcher{choice.board(), machine.sources()};
  for (int i = 0; i < polls; ++i) { REQUIRE(watcher.poll()); }
  return {machine.regret(of, load::ignored{}.bound(of)), machine.regret(of, choice)};
}

}  // namespace

TEST_CASE("on an idle machine watched choices are those of the model", "[dispatch]") {
  auto const found = after_600_ms({});
  CHECK(found.ignored < 0.01);
  CHECK(found.watched == found.ignored);
}

TEST_CASE("beside a process that never leaves the device, regret is at most 10 % after 0.6 s",
          "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (double const slice : {1e-3, 1.5e-3, 2e-3, 2.4e-3, 3e-3}) {
    double mean = 0, worst = 0, ignored = INFINITY;
    for (std::uint64_t i = 0; i < 20; ++i) {
      auto const found =
          after_600_ms({.random = stats::random_source{seed + i}, .device_slice = slice});
      mean += found.watched / 20;
      worst = std::max(worst, found.watched);
      ignored = std::min(ignored, found.ignored);
    }
    std::cout << "device, slices of " << 1e3 * slice << " ms: ignored " << 100 * ignored
              << " %, watched " << 100 * mean << " %, at most " << 100 * worst << " %\n";
    CHECK(mean <= 0.10);
    CHECK(worst <= 0.20);
    CHECK(ignored >= 0.5);
  }
}

TEST_CASE("beside bursts on the device, regret is at most 10 % after 4 s", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  for (double const share : {0.2, 0.5, 0.8}) {
    double mean = 0, ignored = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      auto const found = after_600_ms(
          {.random = stats::random_source{seed + i}, .device_slice = 2e-3, .device_share = share},
          20);
      mean += found.watched / 200;
      ignored += found.ignored / 200;
    }
    std::cout << "device, bursts in " << 100 * share << " % of the time: ignored " << 100 * ignored
              << " %, watched " << 100 * mean << " %\n";
    CHECK(mean <= 0.10);
    CHECK(mean < 0.5 * ignored);
  }
}

TEST_CASE("load comes into a prediction, and leaves it when the others leave", "[dispatch]") {
  shared_machine machine{.device_slice = 2e-3};
  auto const of = machine.measured();
  dispatch::loaded_choice const choice{of};
  auto sources = machine.sources();
  sources.two_kernels = [] { return std::pair{1.05e-3, 2.05e-3}; };
  dispatch::load_watcher watcher{choice.board(), sources};
  CHECK(watcher.poll());
  auto now = choice.board().read(0);
  // A free device takes 50 us for a short kernel at most, so the others have slices of 2 ms.
  CHECK(now.device_wait == Approx(1e-3));
  CHECK(now.device_factor == Approx(2));
  CHECK(now.stream_queue == 0);
  auto const known = dispatch::facts_of_size(1 << 20);
  CHECK(of.predict(4, known, now).describe() ==
        "device{0}: 1.1 ms [0.1, 2.1]: load 1.0 ms, work 29 us");
  CHECK(of.seconds(4, known, now) == Approx(1e-3 + 2 * of.seconds(4, known)));
  CHECK(of.best(known) == 4);
  CHECK(of.best(known, now) == 3);
  CHECK(choice(known) == 3);
  static_assert(noexcept(choice(known)) && noexcept(of.best(known, now)));

  machine.device_slice = 0;
  CHECK(watcher.poll());
  CHECK(choice.board().read(0) == dispatch::load_now{});
  CHECK(choice(known) == 4);
}

TEST_CASE("a device is not probed while own work is predicted to run there", "[dispatch]") {
  shared_machine machine{.device_slice = 2e-3};
  auto const of = machine.measured();
  dispatch::loaded_choice const choice{of};
  auto sources = machine.sources();
  int probes = 0;
  sources.two_kernels = [&] { return std::pair{++probes * 1e-3, 50e-6}; };
  dispatch::load_watcher watcher{choice.board(), sources};
  choice.board().own.begun(7, 1000);
  CHECK(watcher.poll());
  CHECK(probes == 0);
  CHECK(choice.board().read(0).device_wait == 0);
  choice.board().own.finished(7);
  CHECK(watcher.poll());
  CHECK(probes == 1);
  CHECK(choice.board().read(0).device_wait == Approx(0.475e-3));
  CHECK(watcher.poll());
  CHECK(choice.board().read(0).device_wait == Approx(0.25 * (0.95e-3 + 1.95e-3)));
}

TEST_CASE("own work ends when predicted or when told, by stream", "[dispatch]") {
  dispatch::own_work own;
  CHECK(own.left(1).device == 0);
  own.begun(1, 100);
  own.begun(2, 300);
  own.begun(2, 200);  // ends before what is there already
  auto left = own.left(1);
  CHECK((left.stream > 99 && left.stream <= 100));
  CHECK((left.device > 299 && left.device <= 300));
  own.finished(2);
  left = own.left(2);
  CHECK(left.stream == 0);
  CHECK((left.device > 99 && left.device <= 100));
  own.begun(2, INFINITY);
  CHECK(own.left(2).stream > 1e6);
  own.begun(3, 1e-9);
  CHECK(own.left(3).stream == 0);
}

TEST_CASE("the end of one stream's work leaves that of another in its slot", "[dispatch]") {
  for (std::size_t other = 2; other < 100; ++other) {
    dispatch::own_work own;
    own.begun(1, 300);
    own.begun(other, 1);
    own.finished(other);
    INFO("stream " << other);
    CHECK(own.left(1).device > 299);
    own.finished(1);
    CHECK(own.left(1).device == 0);
  }
}

TEST_CASE("a source that fails ends the watch, and no load is left", "[dispatch]") {
  shared_machine machine{.device_slice = 2e-3};
  auto const of = machine.measured();
  dispatch::loaded_choice const choice{of};
  auto sources = machine.sources();
  dispatch::load_watcher watcher{choice.board(), sources};
  CHECK(watcher.poll());
  CHECK(choice.board().read(0).device_wait > 0);
  sources.two_kernels = []() -> std::pair<double, double> {
    throw std::runtime_error("the device is gone");
  };
  dispatch::load_watcher failing{choice.board(), sources};
  CHECK(!failing.poll());
  CHECK(choice.board().read(0) == dispatch::load_now{});
}

TEST_CASE("NVML's processes say whether others are there, and its use where they are hidden",
          "[dispatch]") {
  using dispatch::others_use;
  CHECK(!others_use({.processes = 1, .busy = 0.99}));
  CHECK(others_use({.processes = 2, .busy = 0.0}));
  CHECK(others_use({.processes = 0, .busy = 0.28}));
  CHECK(!others_use({.processes = 0, .busy = 0.0}));
  CHECK(others_use({}));
}

TEST_CASE("load policies have names, and refuse what cannot be", "[dispatch]") {
  CHECK(describe(load::ignored{}) == "load::ignored");
  CHECK(describe(load::own_queue{}) == "load::own_queue");
  CHECK(describe(load::watched{}) == "load::watched");
  CHECK(describe(load::watched{0.05}) == "load::watched{period_seconds=0.05}");
  costs const of{test::saxpy_measurements()};
  for (double const period : {0.0, -1.0, 1e-4, double{NAN}, double{INFINITY}}) {
    CHECK_THAT(message_of([&] { load::watched{period}.bound(of); }),
               contains("it is 0.001 s at least"));
  }
}
