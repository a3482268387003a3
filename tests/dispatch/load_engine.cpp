// assay-test-flags: -fsanitize=thread
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Engines that heed load: the queue of a device of host memory, and a watcher that writes while
/// 16 threads call.

#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include <assay/dispatch/device_engine.hpp>
#include <assay/dispatch/load.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
using dispatch::path;
using test::contains;
using test::device_saxpy;
using test::message_of;

namespace {

using queue_engine =
    dispatch::device_engine<load::own_queue, test::fake_task_link, test::fake_memory>;

/// A call takes 100 s on the device and 250 s on the host, so that no test is late.
queue_engine slow_engine(test::fake_device& device) {
  auto all = test::device_measurements();
  for (auto& each : all.paths) {
    bool const host = each.where.host() != nullptr;
    for (auto& knot : each.knots) { knot.seconds = host ? 250 : 100; }
  }
  return {dispatch::costs{all}, test::fake_task_link{device}, test::fake_memory{&device}, {}};
}

/// What a watcher sees on a machine whose load comes and goes.
std::atomic<int> seen = 0;
std::atomic<bool> loaded = false;
struct fake_watch {
  double period_seconds = 1e-3;
  static constexpr std::string_view name = "fake_watch";
  bool operator==(fake_watch const&) const = default;
  auto bound(dispatch::costs const& of) const {
    return dispatch::watched_choice{of,
                                    period_seconds,
                                    {.others_on_device =
                                         [] {
                                           ++seen;
                                           return loaded.load();
                                         },
                                     .two_kernels = [] { return std::pair{3e-3, 5e-3}; }}};
  }
};

using watched_engine = dispatch::device_engine<fake_watch, test::fake_task_link, test::fake_memory>;

watched_engine engine_that_watches(test::fake_device& device) {
  return {dispatch::costs{test::device_measurements()}, test::fake_task_link{device},
          test::fake_memory{&device}, fake_watch{}};
}

void wait_for_polls(int count) {
  int const before = seen;
  while (seen < before + count) { std::this_thread::sleep_for(std::chrono::milliseconds{1}); }
}

}  // namespace

TEST_CASE("an engine that ignores load is not said to be forced", "[dispatch]") {
  std::vector<float> const x(5, 1.0F);
  std::vector<float> y(5, 1.0F);
  dispatch::engine const ignores{dispatch::costs{test::saxpy_measurements()}, load::ignored{}};
  ignores(test::saxpy{2.0F, x, y});
  CHECK(ignores.last().describe().find("(by") == std::string::npos);
  dispatch::engine const forced{dispatch::costs{test::saxpy_measurements()},
                                dispatch::choose::always{on::host{1}}};
  forced(test::saxpy{2.0F, x, y});
  CHECK_THAT(forced.last().describe(), test::contains("(by choose::always"));
}

TEST_CASE("a call waits for own work on its stream, and on a device for that of all",
          "[dispatch]") {
  test::fake_device device{7};
  auto const run = slow_engine(device);
  auto const other = device.make_stream();
  auto const data = [&](float value) {
    auto* const all = reinterpret_cast<float*>(device.memory(1000 * sizeof(float)));
    device.hold(all, 1000 * sizeof(float), memory_type::page_locked);
    std::fill(all, all + 1000, value);
    return std::span{all, 1000};
  };
  auto const x = data(3);
  auto const y = data(1), z = data(1);
  auto const where = [&](test::fake_stream on, std::span<float> to) {
    run(on, device_saxpy{{2.0F, x, to}});
    return run.last().where();
  };
  CHECK(where(device.caller(), y) == path{on::device{0}});
  CHECK(run.last().describe().find("100 s [99, 101]") != std::string::npos);
  CHECK(where(device.caller(), y) == path{on::device{0}});
  auto const queued = run.last().predictions;
  REQUIRE(queued.size() == 2);
  CHECK_THAT(queued[1].describe(), contains(": 200 s [199, 201]: queue 100 s, "));
  CHECK_THAT(queued[0].describe(), contains(": 350 s [348, 352]: queue 100 s, "));
  // 200 s until the device is free: the host is done before, except for calls on the same stream.
  CHECK(where(other, z) == path{on::host{1}});
  CHECK(z[0] == 7.0F);
  CHECK(run.last().predictions[0].describe() == "host{1}: 250 s [248, 252]: work 250 s");
  CHECK(where(device.caller(), y) == path{on::device{0}});
  // Once the stream is seen to be idle, nothing is left of its predicted work.
  device.synchronize(device.caller());
  CHECK(y[0] == 19.0F);
  CHECK(where(device.caller(), y) == path{on::device{0}});
  CHECK_THAT(run.last().describe(), contains("device{0}: 100 s "));
  device.synchronize(device.caller());
}

TEST_CASE("a call that fails leaves no predicted work", "[dispatch]") {
  test::fake_device device{7};
  auto const run = slow_engine(device);
  std::vector<float> const x(1000, 3.0F);
  std::vector<float> y(1000, 1.0F);
  CHECK_THAT(message_of([&] { run(device.caller(), device_saxpy{{2.0F, x, y}, 0, 1000}); }),
             contains("the launch fails as asked for"));
  auto const other = device.make_stream();
  run(other, device_saxpy{{2.0F, x, y}});
  CHECK_THAT(run.last().describe(), contains("device{0}: 100 s "));
  device.synchronize(other);
}

TEST_CASE("an engine follows what its watcher sees, and ends with it", "[dispatch]") {
  loaded = false;
  std::vector<float> const x(100'003, 3.0F);
  std::vector<float> y(x.size(), 1.0F);
  {
    test::fake_device device{7};
    auto const run = engine_that_watches(device);
    auto const where = [&] {
      run(device.caller(), device_saxpy{{2.0F, x, y}});
      device.synchronize(device.caller());
      return run.last().where();
    };
    wait_for_polls(2);
    CHECK(where() == path{on::device{0}});
    loaded = true;
    wait_for_polls(3);
    CHECK(where() == path{on::host{1}});
    CHECK_THAT(run.last().describe(), contains("host{1}: 100 us"));
  }
  int const polls = seen;
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  CHECK(seen == polls);
}

TEST_CASE("16 threads call while a watcher writes", "[dispatch]") {
  test::fake_device device{7};
  auto const run = engine_that_watches(device);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 16; ++caller) {
    callers.emplace_back([&, caller] {
      auto const stream = device.make_stream();
      for (int i = 0; i < 20; ++i) {
        loaded = i % 4 < 2;
        auto const size = static_cast<std::size_t>(caller % 2 == 0 ? 100 + i : 40'000 + i);
        std::vector<float> const x(size, 3.0F);
        std::vector<float> y(size, 1.0F);
        run(stream, device_saxpy{{2.0F, x, y}});
        wrong += run.last().predictions.size() == 2 ? 0 : 1;
        device.synchronize(stream);
        wrong += y == std::vector<float>(size, 7.0F) ? 0 : 1;
      }
    });
  }
  for (auto& each : callers) { each.join(); }
  CHECK(wrong == 0);
}
