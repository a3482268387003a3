// SPDX-License-Identifier: Apache-2.0
/// @file
/// A clock that only subjects move on, so that a seed repeats a comparison.
#pragma once

#include <chrono>

namespace assay::test {

struct virtual_clock {
  using duration = std::chrono::duration<double>;
  using time_point = std::chrono::time_point<virtual_clock, duration>;
  inline static double seconds = 0;
  static time_point now() { return time_point{duration{seconds}}; }
};

}  // namespace assay::test
