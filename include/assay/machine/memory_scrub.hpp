// SPDX-License-Identifier: Apache-2.0
/// @file
/// `memory_scrub`: keeps what one epoch frees out of the times of the next.
#pragma once

#include <assay/core/device.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace assay::machine {

/// Seconds for which a device is still busy with memory that was freed.
///
/// It clears that memory in the background, out of the rate of everything else: an H200 takes 2.2
/// ms a GiB, and copies run at 86 to 90 % of their rate meanwhile (`benchmarks/memory_scrub.cu`).
/// An eighth more here, and at most a second.
inline double clearing_seconds(std::size_t freed_bytes) noexcept {
  return std::min(1.0, 2.5e-3 / (1U << 30U) * static_cast<double>(freed_bytes));
}

/// Waits out the clearing of what a device's epoch freed, which would else slow the first cells of
/// the next. It sees only what goes back to the driver: a pool that is kept frees nothing.
class memory_scrub {
 public:
  explicit memory_scrub(on::device place) : place_(place) {}

  /// Notes how much is free now, before anything is freed.
  void mark() { before_ = free_bytes(); }

  /// Sleeps until what has been freed since `mark` is cleared; not at all without a mark.
  void wait() {
    if (before_ == 0) { return; }
    auto const now = free_bytes();
    if (now > before_) {
      std::this_thread::sleep_for(std::chrono::duration<double>(clearing_seconds(now - before_)));
    }
    before_ = 0;
  }

 private:
  std::size_t free_bytes() const {
    device_guard const guard{place_};
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total));
    return free;
  }

  on::device place_;
  std::size_t before_ = 0;
};

}  // namespace assay::machine
