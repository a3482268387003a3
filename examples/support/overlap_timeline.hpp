// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlap of a transfer's stages by the timeline, where the build has CUPTI.
#pragma once

#include <assay/core/stream.hpp>

#include <functional>
#include <string>

#include "link_stamps.hpp"
#include "stage_overlap.hpp"

namespace assay::examples {

/// The overlap of one more run, by its trace and by its stamps. `once()` restarts the stamps, runs
/// the job and waits for it. `why` names the missing part if `found` is false.
struct overlap_timeline {
  trace::stage_overlap by_trace, by_events;
  bool found = false;
  std::string why;
};

overlap_timeline timeline_of(trace::link_stamps& stamps, stream const& where, int device,
                             std::function<void()> const& once);

}  // namespace assay::examples
