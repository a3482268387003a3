// SPDX-License-Identifier: Apache-2.0
/// @file
/// `work_in_bursts`: the load that a second process puts on a machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

namespace assay::benchmark {

/// Calls `work` again and again for 1 to 50 ms, then sleeps for 1 to 200 ms if `pauses`, until the
/// process is killed.
template <class Work>
[[noreturn]] void work_in_bursts(std::uint64_t seed, bool pauses, Work work) {
  std::mt19937_64 random{seed};
  auto const milliseconds = [&](double most) {
    return std::chrono::duration<double, std::milli>{
        std::uniform_real_distribution<double>{1, most}(random)};
  };
  for (;;) {
    auto const end = std::chrono::steady_clock::now() + milliseconds(50);
    while (std::chrono::steady_clock::now() < end) { work(); }
    if (pauses) { std::this_thread::sleep_for(milliseconds(200)); }
  }
}

}  // namespace assay::benchmark
