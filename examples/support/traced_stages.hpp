// SPDX-License-Identifier: Apache-2.0
/// @file
/// `traced_stages`: the working times of a transfer's stages, by events and by the recorder at
/// once.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/cupti/recorder.hpp>

#include <cstdint>
#include <utility>

#include "link_stamps.hpp"
#include "stage_overlap.hpp"

namespace assay::trace {

/// One run, seen by both.
struct traced_stages {
  stage_spans by_events, by_trace;
};

/// Records `once()`, which restarts the stamps, runs a job on device `device` and waits for it.
///
/// As `record_warm` does, which calls it twice: events would take the wait before a recording's
/// first copy for a part of it. In between the stamps are calibrated on `where`, since the tracer
/// adds to what events hold. Throws what `recorder::start` and `once` do; `by_trace` is empty where
/// CUDA cannot be recorded.
template <class Once>
traced_stages trace_stages(link_stamps& stamps, stream const& where, std::int32_t device,
                           Once const& once) {
  bool warm = false;
  auto const recorded = record_warm({}, [&] {
    once();
    if (!std::exchange(warm, true)) { stamps.calibrate(where); }
  });
  return {stamps.spans(), stages_of(recorded, device)};
}

}  // namespace assay::trace
