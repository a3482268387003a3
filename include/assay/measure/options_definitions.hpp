// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to options.hpp: the watch over the host, and its ceilings.
#pragma once

#include <assay/core/place.hpp>
#include <assay/machine/host_ceilings.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace assay::measure {

ASSAY_INLINE options watched(options chosen, environment_watch const& place) {
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
  chosen.throttle_bits = [place, asked = chosen.throttle_bits] {
    return place.throttle_bits() | (asked ? asked() : 0);
  };
  return chosen;
}

ASSAY_INLINE environment_watch host_watch() {
  return {[] {}, [] { return std::vector<std::string>{}; },
          [known = machine::host_environment({}, {})](comparison& into) {
            machine::fill_unknown(into.where, known);
          }};
}

ASSAY_INLINE std::vector<ceiling> host_ceilings() {
  // Never destroyed: destructors of static objects may compare.
  static auto const& measured = *new ceiling(machine::host_copy_ceiling(usable_cores()));
  return {measured};
}

}  // namespace assay::measure
