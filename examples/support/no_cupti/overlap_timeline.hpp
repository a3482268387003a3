// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlap of a transfer's stages by the timeline, where the build has no CUPTI: unknown.
#pragma once

#include <assay/trace/link_stamps.hpp>

#include <string>

namespace assay::examples {

/// Stands where `support/cupti/overlap_timeline.hpp` does in a build with CUPTI.
struct overlap_timeline {
  trace::stage_overlap by_trace, by_events;
  bool found = false;
  std::string why;
};

template <class Once>
overlap_timeline timeline_of(trace::link_stamps&, stream const&, int, Once const&) {
  return {{}, {}, false, "this program was built without CUPTI, which records timelines"};
}

}  // namespace assay::examples
