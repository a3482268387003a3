// SPDX-License-Identifier: Apache-2.0
/// @file
/// `watch_together`: one watch over the devices of all ranks.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// One watch over several named places. It waits for all of them, returns the reasons of each with
/// its name, and the throttle bits of any, and describes the first.
inline measure::environment_watch watch_together(
    std::vector<std::pair<std::string, measure::environment_watch>> all) {
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
          [places](measure::comparison& into) { places->front().second.describe(into); },
          [places] {
            std::uint64_t bits = 0;
            for (auto const& [name, place] : *places) { bits |= place.throttle_bits(); }
            return bits;
          }};
}

}  // namespace assay::examples
