// SPDX-License-Identifier: Apache-2.0
/// @file
/// `poll_until`: a wait with a limit for what can only be asked.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <thread>

namespace assay {

/// Asks until `done()` is true; returns false when the limit has passed. From 20 ms on it pauses
/// for 100 us between two questions, which adds less than 1 % to the wait.
template <class Done>
bool poll_until(Done&& done, std::chrono::duration<double> limit) {
  using clock = std::chrono::steady_clock;
  for (auto const begin = clock::now(); !done();) {
    std::chrono::duration<double> const waited = clock::now() - begin;
    if (waited > limit) { return false; }
    if (waited > std::chrono::milliseconds{20}) {
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    } else {
      std::this_thread::yield();
    }
  }
  return true;
}

}  // namespace assay
