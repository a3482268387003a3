// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to shared_memory.cuh: the dynamic shared memory that kernels were allowed so far.
#pragma once

#include <assay/kernel/kernel_use.hpp>

#include <cstddef>
#include <map>
#include <mutex>

namespace assay::kernel {

/// The largest limit that was set for each kernel on each device.
///
/// The driver has one limit for the whole process. A thread that sets a smaller limit would take
/// shared memory from the launches of other threads, so a limit only rises.
class shared_memory_limits {
 public:
  /// Calls `set()` if `bytes` is above the limit so far. Returns after another thread's `set()` for
  /// as much has returned.
  template <class Set>
  void raise(void const* kernel, int device, std::size_t bytes, Set const& set) {
    std::lock_guard const lock{mutex_};
    auto& limit = limits_[{kernel, device}];
    if (bytes <= limit) { return; }
    set();
    limit = bytes;
  }

  static shared_memory_limits& of_process() {
    static auto* const only = new shared_memory_limits;  // for destructors of static objects too
    return *only;
  }

 private:
  std::mutex mutex_;
  std::map<kernel_use, std::size_t> limits_;
};

}  // namespace assay::kernel
