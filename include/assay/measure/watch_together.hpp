// SPDX-License-Identifier: Apache-2.0
/// @file
/// Watching several places as one.
#pragma once

#include <assay/measure/environment_watch.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

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
          [places](comparison& into) { places->front().second.describe(into); },
          [places] { return places->front().second.throttle_bits(); }};
}

}  // namespace assay::measure
