// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether a workload can run with a copy strategy on a device.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/core/place.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace assay::workloads {

/// Why `work` cannot run with a copy strategy on a device, in one line that names the strategy;
/// nothing where it can: device and compiled code have the instructions, and a block's shared
/// memory is enough.
///
/// A workload says so by `require_on(place, work, strategy)`, which throws
/// `std::invalid_argument`; a rig whose pipeline names the strategy throws the same.
template <class Work, copy_strategy Strategy>
std::optional<std::string> refusal(on::device place, Work const& work, Strategy how) {
  try {
    require_on(place, work, how);
  } catch (std::invalid_argument const& error) { return error.what(); }
  return {};
}

}  // namespace assay::workloads
