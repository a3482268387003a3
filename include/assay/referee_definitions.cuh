// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to referee.cuh: candidates that enqueue work on a stream.
#pragma once

#include <assay/referee.cuh>
#include <assay/referee/device_candidate_place.cuh>

#include <memory>

namespace assay {

ASSAY_INLINE int serve_device_problem(problem const& of, on::device place) {
  return referee_detail::serve_on(
      of, [place] { return std::make_unique<referee_detail::device_candidate_place>(place); });
}

}  // namespace assay
