// SPDX-License-Identifier: Apache-2.0
/// @file
/// `traced_stages`: when the stages of a transfer worked, seen by events and by the recorder at
/// once.
#pragma once

#include <assay/core/range_log.hpp>
#include <assay/core/stream.hpp>
#include <assay/trace/link_stamps.hpp>
#include <assay/trace/recorder.hpp>
#include <assay/trace/stage_overlap.hpp>
#include <assay/trace/view.hpp>

#include <cstdint>

namespace assay::trace {

/// One run, seen by both.
struct traced_stages {
  stage_spans by_events, by_trace;
};

/// Records `once()`, which restarts the stamps, runs a job on device `device` and waits for it.
///
/// It is called twice and the second call is told: the first copy of a recording waits some 0.3 ms
/// for the tracer, which events take for a part of it. In between the stamps are calibrated on
/// `where`, since the tracer adds to what events hold. Throws what `recorder::start` and `once` do;
/// `by_trace` is empty where CUDA cannot be recorded.
template <class Once>
traced_stages trace_stages(link_stamps& stamps, stream const& where, std::int32_t device,
                           Once const& once) {
  std::int64_t begin = 0;
  auto const recorded = record({}, [&] {
    once();
    stamps.calibrate(where);
    begin = realtime_ns();
    once();
  });
  span const second{begin - recorded.epoch_ns, recorded.window.end};
  return {stamps.spans(), stages_of(select(recorded, {.window = second}), device)};
}

}  // namespace assay::trace
