// SPDX-License-Identifier: Apache-2.0
/// @file
/// The overlap of a transfer's stages by the timeline, where the build has CUPTI.
#pragma once

#include <assay/trace/link_stamps.hpp>
#include <assay/trace/recorder.hpp>

#include <string>

namespace assay::examples {

/// What the trace of one more run shows, and what the stamps of the same run do. `once()` restarts
/// the stamps, runs the job and waits for it. `why` says what is missing where `found` is false.
struct overlap_timeline {
  trace::stage_overlap by_trace, by_events;
  bool found = false;
  std::string why;
};

template <class Once>
overlap_timeline timeline_of(trace::link_stamps& stamps, stream const& where, int device,
                             Once const& once) {
  trace::recorder tracer;
  tracer.start();
  auto const status = tracer.status();
  once();                   // the first run under a tracer loads what that needs
  stamps.calibrate(where);  // it adds to what events round a copy hold
  (void)tracer.stop();
  if (status.what != trace::recorder_status::kind::recording) {
    return {{}, {}, false, status.text};
  }
  auto const recorded = trace::record({}, once);
  return {trace::overlap_of(trace::stages_of(recorded, device)), trace::overlap_of(stamps.spans()),
          true, ""};
}

}  // namespace assay::examples
