// SPDX-License-Identifier: Apache-2.0
/// @file
/// `poll_until`: a wait with a limit for what can only be asked.
#pragma once

#include <assay/core/requirements.hpp>

#include <chrono>
#include <thread>

namespace assay {

/// The pause after a question of a wait that has taken so long. A pause of 100 us ends some 60 us
/// late, as timers have slack: it adds less than 0.1 % to the wait.
constexpr std::chrono::microseconds pause_after(std::chrono::duration<double> waited) {
  return std::chrono::microseconds{waited < std::chrono::milliseconds{200} ? 0 : 100};
}

/// Asks until `done()` is true; returns false when the limit has passed.
template <class Done>
bool poll_until(Done&& done, std::chrono::duration<double> limit) {
  using clock = std::chrono::steady_clock;
  for (auto const begin = clock::now(); !done();) {
    std::chrono::duration<double> const waited = clock::now() - begin;
    if (waited > limit) { return false; }
    if (auto const pause = pause_after(waited); pause.count() > 0) {
      std::this_thread::sleep_for(pause);
    } else {
      std::this_thread::yield();
    }
  }
  return true;
}

}  // namespace assay
