// SPDX-License-Identifier: Apache-2.0
// assay-test-flags: -fsanitize=thread
/// @file
/// The engine of device paths on a device of host memory, whose streams run as late as they may.

#include "catch.hpp"
#include "dispatch/fake_device.hpp"

#include <assay/core/range_log.hpp>
#include <assay/dispatch/device_engine.hpp>

#include <atomic>
#include <cstddef>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace assay;
namespace choose = dispatch::choose;
using dispatch::path;
using test::contains;
using test::device_saxpy;
using test::message_of;

namespace {

using always_engine =
    dispatch::device_engine<choose::always, test::fake_task_link, test::fake_memory>;
using model_engine =
    dispatch::device_engine<choose::by_model, test::fake_task_link, test::fake_memory>;

template <class Engine, class C>
Engine engine_on(test::fake_device& device, C const& policy) {
  return Engine{dispatch::costs{test::device_measurements()}, test::fake_task_link{device},
                test::fake_memory{&device}, policy};
}

/// An array in memory of a type.
std::span<float> array_in(test::fake_device& device, memory_type type, std::size_t size,
                          float value) {
  auto* const data = reinterpret_cast<float*>(device.memory(size * sizeof(float)));
  device.hold(data, size * sizeof(float), type);
  std::fill(data, data + size, value);
  return {data, size};
}

bool all_are(std::span<float const> data, float value) {
  return std::all_of(data.begin(), data.end(), [value](float each) { return each == value; });
}

struct only_on_host : test::saxpy {};

}  // namespace

TEST_CASE("a call and its copies are in ranges", "[dispatch]") {
  test::fake_device device{1};
  auto const x = array_in(device, memory_type::page_locked, 100, 3.0F);
  auto const y = array_in(device, memory_type::device, 100, 1.0F);
  auto const on_device = engine_on<always_engine>(device, choose::always{on::device{0}});
  auto const on_host = engine_on<always_engine>(device, choose::always{on::host{1}});
  auto const z = array_in(device, memory_type::page_locked, 100, 1.0F);
  range_log::start();
  on_device(device.caller(), device_saxpy{{2.0F, x, y}});
  on_host(device.caller(), device_saxpy{{2.0F, x, z}});
  auto const recorded = range_log::stop();
  std::vector<std::string> names;
  for (auto const& thread : recorded.threads) {
    for (auto const& each : thread.ranges) { names.emplace_back(each.name); }
  }
  CHECK(names == std::vector<std::string>{"call on device", "copy to device", "call on host"});
}

TEST_CASE("a device path copies what is not there, runs and copies back", "[dispatch]") {
  auto const seed = test::fresh_seed();
  INFO("seed " << seed);
  test::fake_device device{seed};
  path const where{on::device{0}};
  auto const run = engine_on<always_engine>(device, choose::always{where});
  for (auto const from : {memory_type::pageable, memory_type::page_locked, memory_type::device}) {
    for (auto const to : {memory_type::pageable, memory_type::page_locked, memory_type::device,
                          memory_type::managed}) {
      for (std::size_t const size : {1U, 997U, 100'003U}) {
        auto const x = array_in(device, from, size, 3.0F);
        auto const y = array_in(device, to, size, 1.0F);
        auto const copies = device.copies.load();
        run(device.caller(), device_saxpy{{2.0F, x, y}});
        auto const in_host = [](memory_type type) {
          return type == memory_type::pageable || type == memory_type::page_locked;
        };
        CHECK(device.copies - copies == in_host(from) + 2 * in_host(to));
        device.synchronize(device.caller());
        CHECK(all_are(y, 7.0F));
        CHECK(run.last().where() == where);
      }
    }
  }
  CHECK(device.live_bytes == 0);
}

TEST_CASE("a device path over page-locked arrays does not wait, and a host path does",
          "[dispatch]") {
  test::fake_device device{7};
  auto const x = array_in(device, memory_type::page_locked, 1000, 3.0F);
  auto const y = array_in(device, memory_type::page_locked, 1000, 1.0F);
  auto const on_device = engine_on<always_engine>(device, choose::always{on::device{0}});
  auto const on_host = engine_on<always_engine>(device, choose::always{on::host{1}});
  on_device(device.caller(), device_saxpy{{2.0F, x, y}});
  on_device(device.caller(), device_saxpy{{2.0F, x, y}});
  CHECK(device.waits_of_host == 0);
  on_host(device.caller(), device_saxpy{{2.0F, x, y}});
  CHECK(device.waits_of_host == 1);
  CHECK(all_are(y, 19.0F));
}

TEST_CASE("the model counts the copies that the memory of each array needs", "[dispatch]") {
  test::fake_device device{7};
  auto const run = engine_on<model_engine>(device, choose::by_model{});
  auto const chosen = [&](memory_type type, std::size_t size) {
    auto const x = array_in(device, type, size, 3.0F);
    auto const y = array_in(device, type, size, 1.0F);
    run(device.caller(), device_saxpy{{2.0F, x, y}});
    device.synchronize(device.caller());
    CHECK(all_are(y, 7.0F));
    return run.last().where();
  };
  CHECK(chosen(memory_type::pageable, 100) == path{on::host{1}});
  CHECK(chosen(memory_type::pageable, 10'000) == path{on::device{0}});
  std::ostringstream text;
  text << run.last();
  CHECK_THAT(text.str(), contains("of it 100 ns to the device (pageable) and 50 ns to the host "
                                  "(pageable); host{1} 10 us"));
  CHECK(chosen(memory_type::device, 100) == path{on::device{0}});
  CHECK_THAT(run.last().describe(), contains("host{1} impossible"));
}

TEST_CASE("a call without elements does nothing on a device path", "[dispatch]") {
  test::fake_device device{7};
  auto const run = engine_on<always_engine>(device, choose::always{on::device{0}});
  device_saxpy empty{};
  empty.fails_at = 0;  // run would throw
  run(device.caller(), empty);
  CHECK(device.copies == 0);
  CHECK(run.last().where() == path{on::device{0}});
}

TEST_CASE("what a path cannot use or a task cannot run is refused in a line", "[dispatch]") {
  test::fake_device device{7};
  auto const x = array_in(device, memory_type::pageable, 5, 3.0F);
  auto const y = array_in(device, memory_type::device, 5, 1.0F);
  auto const on_host = engine_on<always_engine>(device, choose::always{on::host{1}});
  CHECK(message_of([&] { on_host(device.caller(), device_saxpy{{2.0F, x, y}}); }) ==
        "saxpy on host{1}: array 1 is in the memory of device 0, which this path cannot use: copy "
        "it, or name another path");
  CHECK(all_are(y, 1.0F));
  auto const on_device = engine_on<always_engine>(device, choose::always{on::device{0}});
  CHECK(message_of([&] { on_device(device.caller(), only_on_host{{2.0F, x, y}}); }) ==
        "saxpy cannot run on device{0}: it has no run(cudaStream_t, pointers...) const with a "
        "pointer for each array");
  auto known = dispatch::facts_of_size(1);
  known.count = 1;
  known.arrays[0] = {.bytes = 1, .memory = memory_type::device, .newest = 1};
  CHECK_THAT(message_of([&] { dispatch::require_reach("saxpy", on::device{0}, known); }),
             contains("device{0}: array 0 is in the memory of device 1"));

  std::vector<path> const two{on::host{1}, on::device{0}, on::device{1}};
  CHECK(message_of([&] { dispatch::one_device(two); }) ==
        "device{1} and device{0} are two devices: calibrate the paths of each by itself");
}

TEST_CASE("a failed call gives its memory back and leaves nothing under way", "[dispatch]") {
  test::fake_device device{7};
  int failures = test::fake_task_link::drained;
  path const where{on::device{0}};
  auto const run = engine_on<always_engine>(device, choose::always{where});
  auto const x = array_in(device, memory_type::page_locked, 1000, 3.0F);
  std::vector<float> y(1000, 1.0F);
  CHECK_THAT(message_of([&] { run(device.caller(), device_saxpy{{2.0F, x, y}, 0, 1000}); }),
             contains("the launch fails as asked for"));
  CHECK(device.live_bytes == 0);
  CHECK(test::fake_task_link::drained == ++failures);
  for (int i = 1; i <= 2; ++i) {
    device.fail_copy_at = device.copies + i;
    CHECK_THAT(message_of([&] { run(device.caller(), device_saxpy{{2.0F, x, y}}); }),
               contains("the copy fails as asked for"));
    CHECK(device.live_bytes == 0);
    CHECK(test::fake_task_link::drained == ++failures);
  }
  device.fail_copy_at = 0;
  run(device.caller(), device_saxpy{{2.0F, x, y}});
  device.synchronize(device.caller());
  CHECK(y == std::vector<float>(1000, 7.0F));
}

TEST_CASE("8 threads call one engine, each with its own stream", "[dispatch]") {
  test::fake_device device{7};
  path const where{on::device{0}};
  auto const run = engine_on<always_engine>(device, choose::always{where});
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      auto const stream = device.make_stream();
      for (int i = 0; i < 20; ++i) {
        auto const size = static_cast<std::size_t>(1000 * caller + i + 1);
        std::vector<float> const x(size, 3.0F);
        std::vector<float> y(size, 1.0F);
        run(stream, device_saxpy{{2.0F, x, y}});
        device.synchronize(stream);
        wrong += y == std::vector<float>(size, 7.0F) ? 0 : 1;
      }
    });
  }
  for (auto& each : callers) { each.join(); }
  CHECK(wrong == 0);
}

TEST_CASE("a device path that calibration found wrong is not run where the host cannot run",
          "[dispatch]") {
  test::fake_device device{1};
  auto all = test::device_measurements();
  all.paths[1] = {.where = on::device{0}, .wrong = "at size 64: element 0 is wrong"};
  std::swap(all.paths[0], all.paths[1]);
  model_engine const run{dispatch::costs{all}, test::fake_task_link{device},
                         test::fake_memory{&device}, choose::by_model{}};
  auto const x = array_in(device, memory_type::device, 100, 3.0F);
  auto const y = array_in(device, memory_type::device, 100, 1.0F);
  CHECK_THAT(message_of([&] { run(device.caller(), device_saxpy{{2.0F, x, y}, 1}); }),
             contains("saxpy on host{1}: array 0 is in the memory of device 0, which this path"));
  device.synchronize(device.caller());
  CHECK(all_are(y, 1.0F));
}
