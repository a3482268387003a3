// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to device_watch.hpp: the watch through NVML, and ceilings that are measured once.
#pragma once

#include <assay/machine/device_ceilings.hpp>
#include <assay/machine/device_environment.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/machine/memory_scrub.hpp>
#include <assay/measure/device_watch.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::measure {

ASSAY_INLINE environment_watch device_watch(on::device place) {
  // Described now, because a device that fails later does not answer.
  auto known = machine::host_environment({}, {});
  machine::describe_device(place, known);
  auto const nvml = std::make_shared<machine::nvml_watch>(machine::watch(place));
  auto const freed = std::make_shared<machine::memory_scrub>(place);
  return {[freed] { freed->wait(); },
          [nvml, freed] {
            freed->mark();
            return nvml->sample();
          },
          [nvml, known](comparison& into) {
            nvml->describe(into.where);
            for (auto note : {nvml->note(), nvml->sharing_note()}) {
              if (!note.empty()) { into.notes.push_back(std::move(note)); }
            }
            machine::fill_unknown(into.where, known);
          },
          [nvml] { return nvml->throttle_bits(); }};
}

namespace detail {

/// Values by device that the process measures once. Threads that ask meanwhile wait.
template <class T>
class measured_once {
 public:
  template <class Measure>
  T get(int device, Measure&& measure) {
    std::lock_guard const lock{measuring_};
    auto found = known_.find(device);
    if (found == known_.end()) { found = known_.emplace(device, measure()).first; }
    return found->second;
  }

 private:
  std::mutex measuring_;
  std::map<int, T> known_;
};

}  // namespace detail

ASSAY_INLINE std::vector<ceiling> device_ceilings(on::device place) {
  // Never destroyed: destructors of static objects may compare.
  static auto& known = *new detail::measured_once<ceiling>;
  return {known.get(place.id, [&] { return machine::device_copy_ceiling(place); })};
}

}  // namespace assay::measure
