// SPDX-License-Identifier: Apache-2.0
/// @file
/// The reason why a workload cannot run with a copy strategy on a device.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/core/place.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace assay::workloads {

/// The reason why `work` cannot run with a copy strategy on a device, in one line that names the
/// strategy. Nothing if device and compiled code have the instructions and enough shared memory.
///
/// The `require_on(place, work, strategy)` of a workload throws `std::invalid_argument` with that
/// reason. A rig with such a pipeline throws the same.
template <class Work, copy_strategy Strategy>
std::optional<std::string> why_unsupported(on::device place, Work const& work, Strategy how) {
  try {
    require_on(place, work, how);
  } catch (std::invalid_argument const& error) { return error.what(); }
  return {};
}

}  // namespace assay::workloads
