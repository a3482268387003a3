// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to device_watch.hpp: the watch through NVML, and ceilings that are measured once.
#pragma once

#include <assay/core/device.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/machine/device_environment.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/machine/memory_scrub.hpp>
#include <assay/measure/device_watch.hpp>

#include <forward_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::measure {

namespace detail {

/// A device from the start of a comparison to its end.
struct watched_device {
  machine::nvml_watch clocks;
  machine::memory_scrub freed;
  environment known;

  explicit watched_device(on::device place)
      : clocks(machine::watch(place)), freed(place), known(machine::host_environment({}, {})) {
    // Described now, because a device that fails later does not answer.
    machine::describe_device(place, known);
  }

  void describe(comparison& into) const {
    clocks.describe(into.where);
    for (auto note : {clocks.note(), clocks.sharing_note()}) {
      if (!note.empty()) { into.notes.push_back(std::move(note)); }
    }
    machine::fill_unknown(into.where, known);
  }
};

/// Values by device that the process measures once. Threads that ask meanwhile wait.
template <class T>
class measured_once {
 public:
  template <class Measure>
  T get(int device, Measure&& measure) {
    std::lock_guard const lock{measuring_};
    for (auto const& [known, value] : known_) {
      if (known == device) { return value; }
    }
    return known_.emplace_front(device, measure()).second;
  }

 private:
  std::mutex measuring_;
  std::forward_list<std::pair<int, T>> known_;
};

}  // namespace detail

ASSAY_INLINE environment_watch device_watch(on::device place) {
  std::shared_ptr<detail::watched_device> const of{new detail::watched_device{place}};
  return {[of] { of->freed.wait(); },
          [of] {
            of->freed.mark();
            return of->clocks.sample();
          },
          [of](comparison& into) { of->describe(into); },
          [of] { return of->clocks.throttle_bits(); }};
}

ASSAY_INLINE std::vector<ceiling> device_ceilings(on::device place) {
  // Never destroyed: destructors of static objects may compare.
  static auto& known = *new detail::measured_once<ceiling>;
  return {known.get(place.id, [&] { return machine::device_copy_ceiling(place); })};
}

}  // namespace assay::measure
