// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which copy strategies a test of device 0 can run.
#pragma once

#include "catch.hpp"

#include <assay/workload/concepts.hpp>

namespace assay::test {

/// Whether device 0 runs `work` with a strategy. What it or this build cannot run is left out of a
/// test, and named; racecheck is kept from what it calls a race.
template <class Work, copy_strategy Strategy>
bool runs_here(Work const& work, Strategy how) {
  if (racecheck() && Strategy::capability >= 90) { return false; }
  auto const why = workloads::why_unsupported(on::device{0}, work, how);
  if (why) { WARN("left out: " << *why); }
  return !why;
}

}  // namespace assay::test
