// SPDX-License-Identifier: Apache-2.0
/// @file
/// `memory_scrub`: memory that one epoch freed must not slow the next epoch.
#pragma once

#include <assay/core/device.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

namespace assay::machine {

/// Seconds for which a device is still busy with memory that was freed.
///
/// A device clears freed memory in the background. An H200 takes 2.2 ms per GiB, and meanwhile
/// copies run at 86 to 90 % of their rate (`benchmarks/memory_scrub.cu`). This returns an eighth
/// more, and at most one second.
inline double clearing_seconds(std::size_t freed_bytes) noexcept {
  return std::min(1.0, 2.5e-3 / (1U << 30U) * static_cast<double>(freed_bytes));
}

/// Waits until the device has cleared the memory that an epoch freed. Without the wait, the first
/// cells of the next epoch are slow. Only memory that went back to the driver counts.
class memory_scrub {
 public:
  explicit memory_scrub(on::device place) : place_(place) {}

  /// Records the free memory now, before anything is freed.
  void mark() { before_ = free_bytes(); }

  /// Sleeps until all memory freed since `mark` is cleared; returns at once without a mark.
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
