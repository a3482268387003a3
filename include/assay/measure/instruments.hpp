// SPDX-License-Identifier: Apache-2.0
/// @file
/// What measures batches on a place: here for the host; `instruments.cuh` has the device.
#pragma once

#include <assay/core/place.hpp>
#include <assay/machine/host_ceilings.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/environment_watch.hpp>
#include <assay/submit/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::measure {

/// The instruments of a place, specialised for each:
/// `batch_timer{place, lanes}` times batches on the clocks that only the place has: its `probe()`
/// watches the batch, `gpu_seconds()` is the device time of the last one, and `cell_begin()` and
/// `cell_end()` enclose a cell, whose mean SM clock is then `sm_hertz()`; NaN where there is none.
/// `ceilings(place)` measures the limits that reports divide by, once a process. `watch(place)`
/// returns an `environment_watch`.
template <class Place>
struct instruments;

template <std::same_as<on::host> Place>
struct instruments<Place> {
  class batch_timer {
   public:
    batch_timer(on::host, int /*lanes*/) {}
    submit::no_probe& probe() noexcept { return probe_; }
    double gpu_seconds() const noexcept { return std::numeric_limits<double>::quiet_NaN(); }
    void cell_begin() noexcept {}
    void cell_end() noexcept {}
    double sm_hertz() const noexcept { return std::numeric_limits<double>::quiet_NaN(); }

   private:
    submit::no_probe probe_;
  };

  static environment_watch watch(on::host) { return host_watch(); }

  static std::vector<ceiling> ceilings(on::host) { return host_ceilings(); }
};

}  // namespace assay::measure
