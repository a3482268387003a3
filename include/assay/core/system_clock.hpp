// SPDX-License-Identifier: Apache-2.0
/// @file
/// `system_clock_ns`: the clock of all times in a trace.
#pragma once

#include <assay/core/requirements.hpp>

#include <time.h>

#include <cstdint>

namespace assay {

/// Nanoseconds since 1970 by `CLOCK_REALTIME`, the clock of CUPTI's records on Linux.
inline std::int64_t system_clock_ns() noexcept {
  ::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace assay
