// SPDX-License-Identifier: Apache-2.0
/// @file
/// `own_work`: when an engine's own work on a device ends, as predicted.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace assay::dispatch {

/// The predicted ends of an engine's own work on a device, by stream. Any thread may call any
/// member. Streams that share a slot count as one.
class own_work {
 public:
  struct ends {
    double stream = 0;  ///< seconds until the work of this stream ends
    double device = 0;  ///< until all work ends
  };

  ends left(std::size_t stream) const noexcept {
    std::int64_t last = 0;
    for (auto const& each : ends_) { last = std::max(last, each.load(std::memory_order_relaxed)); }
    if (last == 0) { return {}; }  // a look at the clock costs as much as all the rest
    auto const at = now();
    auto const seconds = [at](std::int64_t end) {
      return 1e-9 * static_cast<double>(std::max(end, at) - at);
    };
    return {seconds(ends_[slot(stream)].load(std::memory_order_relaxed)), seconds(last)};
  }
  /// Work was enqueued, and ends in so many seconds.
  void begun(std::size_t stream, double seconds) noexcept {
    // A prediction of years is no reason for an overflow.
    auto const end = now() + static_cast<std::int64_t>(1e9 * std::min(seconds, 1e8));
    auto& mine = ends_[slot(stream)];
    auto before = mine.load(std::memory_order_relaxed);
    while (before < end) {
      if (!mine.compare_exchange_weak(before, end, std::memory_order_relaxed)) { continue; }
      latest_[slot(stream)].store(stream, std::memory_order_relaxed);
      return;
    }
  }
  /// No work of the stream is left, whatever was predicted. Work of another stream in its slot that
  /// ends later stays.
  void finished(std::size_t stream) noexcept {
    if (latest_[slot(stream)].load(std::memory_order_relaxed) != stream) { return; }
    ends_[slot(stream)].store(0, std::memory_order_relaxed);
  }

 private:
  static std::int64_t now() noexcept {
    auto const since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
  static std::size_t slot(std::size_t stream) noexcept {
    return (stream * 0x9E3779B97F4A7C15U) >> 60U;  // the upper bits are the well mixed ones
  }
  std::array<std::atomic<std::int64_t>, 16> ends_{};   // nanoseconds of the clock
  std::array<std::atomic<std::size_t>, 16> latest_{};  // the streams of these ends
};

}  // namespace assay::dispatch
