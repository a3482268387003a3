// SPDX-License-Identifier: Apache-2.0
/// @file
/// `lost_processor_time`: for how long the system ran other programs in place of this thread.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <sys/resource.h>

namespace assay {

/// Watches the calling thread from its construction on.
///
/// A thread that wants to run and may not loses its processor to another program; on a busy machine
/// with slices of 4 ms, a call of 1 ms then takes 5 ms in one case of five. Only clear cases count:
/// the thread was switched off, it never waited for anything itself, and no other thread of this
/// process ran meanwhile. A program that keeps its own processors busy pays for that itself.
class lost_processor_time {
 public:
  lost_processor_time() = default;

  /// Seconds since the construction in which other programs ran; nothing where that is not clear.
  std::optional<double> seconds() const {
    auto const wall = std::chrono::duration<double>(steady_clock::now() - begin_).count();
    auto const now = switches_now();
    if (now.ru_nvcsw != switches_.ru_nvcsw) { return {}; }
    if (now.ru_nivcsw == switches_.ru_nivcsw) { return 0; }
    double const own = seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread_;
    double const others = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process_ - own;
    double const lost = std::max(0.0, wall - own);
    constexpr double reading = 50e-6;  // the clocks are read one after another
    if (others < 0.1 * lost + reading) { return lost; }
    return {};
  }

 private:
  using steady_clock = std::chrono::steady_clock;

  static double seconds_of(::clockid_t clock) {
    ::timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  static ::rusage switches_now() {
    ::rusage now{};
    ::getrusage(RUSAGE_THREAD, &now);
    return now;
  }

  ::rusage switches_ = switches_now();
  double process_ = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  double thread_ = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  steady_clock::time_point begin_ = steady_clock::now();
};

}  // namespace assay
