// SPDX-License-Identifier: Apache-2.0
/// @file
/// The processor's counter of time, as nanoseconds of the system's clock.
#pragma once

#include <assay/core/platform.hpp>

#include <time.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace assay {

namespace detail {

inline std::int64_t clock_ns(clockid_t which) noexcept {
  timespec now{};
  ::clock_gettime(which, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace detail

/// Nanoseconds since 1970 by the clock that CUPTI stamps its records with on Linux.
inline std::int64_t realtime_ns() noexcept { return detail::clock_ns(CLOCK_REALTIME); }

/// One moment by the counter and by a clock.
struct tick_anchor {
  std::int64_t ticks = 0;
  std::int64_t at = 0;  ///< nanoseconds

  /// Reads both; what interrupts one try leaves the others. Off by half the time of a read of the
  /// clock at most, some 20 ns.
  static tick_anchor now(clockid_t clock) noexcept {
    constexpr int tries = 3;
    tick_anchor best;
    for (std::int64_t least = 0, i = 0; i < tries; ++i) {
      auto const before = config::ticks_before();
      auto const at = detail::clock_ns(clock);
      auto const taken = config::ticks_after() - before;
      if (i == 0 || taken < least) {
        least = taken;
        best = {before + taken / 2, at};
      }
    }
    return best;
  }
  bool operator==(tick_anchor const&) const = default;
};

/// Whether the counter can stand for the system's clock: it runs at one rate, and the kernel, which
/// compares the counters of all cores, keeps its own clock by it. Asked once.
inline bool ticks_are_steady() noexcept {
  static bool const steady = [] {
    if (!config::has_steady_ticks()) { return false; }
    char source[32]{};  // ends in a 0
    std::FILE* const file =
        std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == nullptr) { return true; }  // containers may hide it
    (void)std::fread(source, 1, sizeof source - 1, file);
    std::fclose(file);
    return std::strncmp(source, "tsc", 3) == 0 || std::strncmp(source, "kvm-clock", 9) == 0 ||
           std::strncmp(source, "hyperv", 6) == 0;
  }();
  return steady;
}

/// Nanoseconds a tick between two moments, by a clock that nobody sets (`CLOCK_MONOTONIC`). Where
/// they do not tell, since the counter was set back, that of a processor of 2.5 GHz: it is only
/// used up to the next anchor.
inline double nanoseconds_per_tick(tick_anchor const& first, tick_anchor const& last) noexcept {
  constexpr double usual = 0.4;
  if (last.ticks <= first.ticks || last.at <= first.at) { return usual; }
  return static_cast<double>(last.at - first.at) / static_cast<double>(last.ticks - first.ticks);
}

/// Turns ticks into times of the clock that the anchors were taken by: on the straight line between
/// the anchors on both sides, beyond them at `ns_per_tick`.
///
/// So between anchors a tenth of a millisecond apart a clock that is being slewed, by 500 parts in
/// a million at most, adds 12 ns to what the anchors are off. Where the clock was set between two
/// anchors the time runs on from the first, and jumps at the second, as the clock did.
class tick_times {
 public:
  /// `anchors` in the order of their ticks, at least one.
  tick_times(std::vector<tick_anchor> anchors, double ns_per_tick)
      : anchors_(std::move(anchors)), rate_(ns_per_tick) {}

  /// Quick when asked in the order of time.
  std::int64_t operator()(std::int64_t ticks) noexcept {
    while (near_ + 1 < anchors_.size() && anchors_[near_ + 1].ticks <= ticks) { ++near_; }
    while (near_ > 0 && anchors_[near_].ticks > ticks) { --near_; }
    auto const& from = anchors_[near_];
    auto const passed = static_cast<double>(ticks - from.ticks);
    auto rate = rate_;
    if (passed > 0 && near_ + 1 < anchors_.size()) {
      auto const& to = anchors_[near_ + 1];
      auto const between = static_cast<double>(to.ticks - from.ticks);
      auto const by_clock = static_cast<double>(to.at - from.at);
      constexpr double slewed = 1e-3, apart_ns = 1000;  // twice what the kernel slews by
      if (std::abs(by_clock - between * rate_) <= apart_ns + slewed * between * rate_) {
        rate = by_clock / between;
      }
    }
    return from.at + std::llround(passed * rate);
  }

 private:
  std::vector<tick_anchor> anchors_;
  double rate_;
  std::size_t near_ = 0;
};

}  // namespace assay
