// SPDX-License-Identifier: Apache-2.0
/// @file
/// `profiler_hold`: CUPTI's profiler interface for as long as somebody counts. Internal to
/// counters.hpp.
#pragma once

#include <assay/cupti/api.hpp>

#include <mutex>
#include <utility>

namespace assay::trace {

/// Initialises CUPTI's profiler interface if nobody has, and deinitialises it with the last holder:
/// until then its hooks in the driver stay, and everything after counting would run with them.
///
/// Thread safe. Throws `cupti_error`.
class profiler_hold {
 public:
  explicit profiler_hold(cupti_api api) : api_(std::move(api)) {
    std::lock_guard const alone{shared().guard};
    CUpti_Profiler_Initialize_Params begin{};
    begin.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
    if (shared().holders == 0) {
      api_.check(api_->profiler_initialize(&begin), "cuptiProfilerInitialize");
    }
    ++shared().holders;
  }
  profiler_hold(profiler_hold const&) = delete;
  profiler_hold& operator=(profiler_hold const&) = delete;
  ~profiler_hold() {
    std::lock_guard const alone{shared().guard};
    CUpti_Profiler_DeInitialize_Params end{};
    end.structSize = CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE;
    // Nothing is left to do about a failure.
    if (--shared().holders == 0) { (void)api_->profiler_deinitialize(&end); }
  }

 private:
  struct state {
    std::mutex guard;
    int holders = 0;
  };
  static state& shared() {
    static auto* const only = new state;  // never destroyed
    return *only;
  }

  cupti_api api_;
};

}  // namespace assay::trace
