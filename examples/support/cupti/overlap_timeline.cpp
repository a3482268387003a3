// SPDX-License-Identifier: Apache-2.0
#include "../overlap_timeline.hpp"

#include <assay/trace/recorder.hpp>

namespace assay::examples {

overlap_timeline timeline_of(trace::link_stamps& stamps, stream const& where, int device,
                             std::function<void()> const& once) {
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
