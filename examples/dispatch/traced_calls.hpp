// SPDX-License-Identifier: Apache-2.0
/// @file
/// `traced_calls`: traces single calls of `dispatch` for the columns `after_*`.
#pragma once

#include "call_stages.hpp"

#include <assay/cli/tracing.hpp>
#include <assay/dispatch/timed_calls.hpp>

#include <functional>
#include <utility>

namespace assay::examples {

/// A function that traces a call and reads its counters: `stages_of` and
/// `kernel_counters`. Without CUPTI it is null. Counters that cannot be read are left out.
inline std::function<dispatch::traced_values(std::function<void()> const&)> traced_calls(
    cli::tracing by) {
  if (by.record == nullptr) { return {}; }
  return [by, readable = by.count != nullptr](std::function<void()> const& call) mutable {
    auto found = stages_of(by.record(call));
    if (!readable) { return found; }
    auto const counted = by.count(kernel_metrics(), call);
    readable = static_cast<bool>(counted.status);  // else each attempt costs time
    for (auto& each : kernel_counters(counted)) { found.push_back(std::move(each)); }
    return found;
  };
}

}  // namespace assay::examples
