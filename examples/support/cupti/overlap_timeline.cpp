// SPDX-License-Identifier: Apache-2.0
#include "../traced_stages.hpp"
#include "../overlap_timeline.hpp"

#include <assay/cupti/recorder.hpp>

namespace assay::examples {

overlap_timeline timeline_of(trace::link_stamps& stamps, stream const& where, int device,
                             std::function<void()> const& once) {
  trace::recorder tracer;
  tracer.start();
  auto const status = tracer.status();
  (void)tracer.stop();
  if (status.what != trace::recorder_status::kind::recording) {
    return {{}, {}, false, status.text};
  }
  auto const seen = trace::trace_stages(stamps, where, device, once);
  return {trace::overlap_of(seen.by_trace), trace::overlap_of(seen.by_events), true, ""};
}

}  // namespace assay::examples
