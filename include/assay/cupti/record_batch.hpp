// SPDX-License-Identifier: Apache-2.0
/// @file
/// `record_batch`: records the trace of one batch of a pipeline.
#pragma once

#include <assay/cupti/recorder.hpp>
#include <assay/cupti/recorder_options.hpp>
#include <assay/pipeline.hpp>
#include <assay/rig.hpp>
#include <assay/trace/model.hpp>

namespace assay::trace {

/// The trace of one batch of a rig that has run before.
///
/// A batch before this one is recorded and left out, as `record_warm` says. Blocks until both have
/// drained; throws the exceptions of `recorder::start` and of the rig.
template <class Pipeline, class Resource>
model record_batch(rig<Pipeline, Resource>& real, recorder_options const& options = {},
                   int arena = 0) {
  return record_warm(options, [&] { real.run(arena); });
}

/// The trace of one batch of a pipeline, on a rig of its own.
template <class... Choices>
model record_batch(pipeline<Choices...> const& what, recorder_options const& options = {}) {
  rig real{what};
  real.run();
  return record_batch(real, options);
}

}  // namespace assay::trace
