// SPDX-License-Identifier: Apache-2.0
/// @file
/// Watching a place while a comparison runs: its waits, its disturbances, its description.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>

#include <cstdint>
#include <functional>
#include <string>
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
options watched(options chosen, environment_watch const& place);

/// The watch over the host, which only describes it.
environment_watch host_watch();

/// The host's limits, measured once in a process.
std::vector<ceiling> host_ceilings();

}  // namespace assay::measure

#ifndef ASSAY_COMPILED
#include <assay/measure/environment_watch_definitions.hpp>
#endif
