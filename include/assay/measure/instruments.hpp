// SPDX-License-Identifier: Apache-2.0
/// @file
/// What measures batches on a place: here for the host; `instruments.cuh` has the device.
#pragma once

#include <assay/core/place.hpp>
#include <assay/measure/ceilings.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/environment.hpp>
#include <assay/measure/options.hpp>
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

/// Watches the state of a place from the start of a comparison to its end.
struct environment_watch {
  std::function<void()> settle;  ///< waits out what the last epoch left behind
  /// Looks at the end of an epoch, its subjects still there; why its times cannot be trusted.
  std::function<std::vector<std::string>()> vetoes;
  std::function<void(comparison&)> describe;  ///< adds what is known of the place
};

/// Watches several places, each by its name, as one: waits for all, is told what any objects to,
/// and describes the first.
inline environment_watch watch_together(
    std::vector<std::pair<std::string, environment_watch>> all) {
  if (all.empty()) { throw std::invalid_argument("watch_together: no place to watch"); }
  auto const places = std::make_shared<decltype(all)>(std::move(all));
  return {[places] {
            for (auto const& [name, place] : *places) { place.settle(); }
          },
          [places] {
            std::vector<std::string> reasons;
            for (auto const& [name, place] : *places) {
              for (auto const& reason : place.vetoes()) { reasons.push_back(name + ": " + reason); }
            }
            return reasons;
          },
          [places](comparison& into) { places->front().second.describe(into); }};
}

/// Options whose epochs begin when `place` has settled, and end with what it objects to; what they
/// have asked for already comes after.
inline options watched(options chosen, environment_watch const& place) {
  chosen.at_epoch_begin = [place, asked = chosen.at_epoch_begin](epoch const& now) {
    place.settle();
    if (asked) { asked(now); }
  };
  chosen.at_epoch_end = [place, asked = chosen.at_epoch_end](epoch const& now) {
    auto reasons = place.vetoes();
    for (auto& more : asked ? asked(now) : std::vector<std::string>{}) {
      reasons.push_back(std::move(more));
    }
    return reasons;
  };
  return chosen;
}

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

  static environment_watch watch(on::host) {
    return {
        [] {}, [] { return std::vector<std::string>{}; },
        [known = host_environment({}, {})](comparison& into) { fill_unknown(into.where, known); }};
  }

  static std::vector<ceiling> ceilings(on::host) {
    static ceiling const measured =
        host_copy_ceiling(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    return {measured};
  }
};

}  // namespace assay::measure
