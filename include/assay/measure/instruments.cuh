// SPDX-License-Identifier: Apache-2.0
/// @file
/// The instruments of a device: events, the SM clock, NVML, the rate of a device copy.
#pragma once

#include <assay/measure/device_watch.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/memory/async.hpp>
#include <assay/pipeline.hpp>

#include <concepts>
#include <memory>
#include <vector>

namespace assay {

/// The default memory of a device: the driver's own stream-ordered allocator.
template <>
struct default_memory<on::device> {
  using type = mr::async;
};

namespace measure {

/// Two timed events for each lane, recorded before its first item and after its last, and the SM
/// clock of each cell.
std::unique_ptr<batch_timer> device_batch_timer(on::device place, int lanes);

template <std::same_as<on::device> Place>
struct instruments<Place> {
  static std::unique_ptr<batch_timer> timer(on::device place, int lanes) {
    return device_batch_timer(place, lanes);
  }
  static environment_watch watch(on::device place) { return device_watch(place); }
  static std::vector<ceiling> ceilings(on::device place) { return device_ceilings(place); }
};

}  // namespace measure
}  // namespace assay

#ifndef ASSAY_COMPILED
#include <assay/measure/instruments_definitions.cuh>
#endif
