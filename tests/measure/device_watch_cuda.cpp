// SPDX-License-Identifier: Apache-2.0
/// @file
/// Limits of devices are measured once, whoever asks.
#include <assay/measure/device_watch_definitions.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

TEST_CASE("threads that ask at the same time get one measurement of each device") {
  assay::measure::detail::measured_once<std::string> known;
  std::atomic<int> measured{0};
  std::atomic<int> agreeing{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, device = i % 4] {
      auto const got = known.get(device, [&] {
        ++measured;
        return "device " + std::to_string(device);
      });
      agreeing += got == "device " + std::to_string(device) ? 1 : 0;
    });
  }
  for (auto& each : threads) { each.join(); }
  CHECK(measured == 4);
  CHECK(agreeing == 8);
}

TEST_CASE("a measurement that failed is tried again") {
  assay::measure::detail::measured_once<int> known;
  CHECK_THROWS(known.get(0, []() -> int { throw std::runtime_error("no memory"); }));
  CHECK(known.get(0, [] { return 5; }) == 5);
  CHECK(known.get(0, [] { return 6; }) == 5);
}
