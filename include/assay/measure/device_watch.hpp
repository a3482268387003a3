// SPDX-License-Identifier: Apache-2.0
/// @file
/// Watching a device while a comparison runs, and the ceilings of the device.
#pragma once

#include <assay/core/place.hpp>
#include <assay/measure/options.hpp>

#include <vector>

namespace assay::measure {

/// The watch over a device. It waits until freed memory is cleared, and objects to an epoch during
/// which heat or a power brake lowered the clocks. It reports clocks and other processes.
environment_watch device_watch(on::device place);

/// The device's limits, measured once in a process.
std::vector<ceiling> device_ceilings(on::device place);

}  // namespace assay::measure

#ifndef ASSAY_DECLARED
#include <assay/measure/device_watch_definitions.hpp>
#endif
