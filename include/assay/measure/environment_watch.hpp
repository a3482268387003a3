// SPDX-License-Identifier: Apache-2.0
/// @file
/// Watching a place while a comparison runs: its waits, its disturbances, its description.
#pragma once

#include <assay/machine/host_ceilings.hpp>
#include <assay/machine/host_environment.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace assay::measure {

/// Watches the state of a place from the start of a comparison to its end.
struct environment_watch {
  std::function<void()> settle;  ///< waits for work that the last epoch left behind
  /// Called at the end of an epoch, before its subjects end; returns why its times are not trusted.
  std::function<std::vector<std::string>()> vetoes;
  std::function<void(comparison&)> describe;  ///< adds the description of the place
  std::function<std::uint64_t()> throttle_bits = [] { return std::uint64_t{0}; };
};

/// Adds the hooks of a watch to options. They run before the caller's own hooks, and
/// `throttle_bits` is replaced.
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
  chosen.throttle_bits = place.throttle_bits;
  return chosen;
}

/// The watch over the host, which only describes it.
inline environment_watch host_watch() {
  return {[] {}, [] { return std::vector<std::string>{}; },
          [known = machine::host_environment({}, {})](comparison& into) {
            machine::fill_unknown(into.where, known);
          }};
}

/// The host's limits, measured once in a process.
inline std::vector<ceiling> host_ceilings() {
  // Never destroyed: destructors of static objects may compare.
  static auto const& measured = *new ceiling(machine::host_copy_ceiling(
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()))));
  return {measured};
}

}  // namespace assay::measure
