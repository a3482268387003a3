// SPDX-License-Identifier: Apache-2.0
/// @file
/// `serve_device_problem`: problems on a device for the referee.
#pragma once

#include <assay/referee.hpp>
#include <assay/referee/device_candidate_place.cuh>

#include <memory>
#include <utility>

namespace assay {

/// Serves a problem with its arrays on a device: `int main() { return
/// assay::serve_device_problem(of); }`. Candidates enqueue their work on the stream that they are
/// given.
inline int serve_device_problem(problem const& of, on::device place = {}) {
  return referee_detail::serve_on(
      of, {}, [place] { return std::make_unique<referee_detail::device_candidate_place>(place); });
}

/// A candidate on a device as a program of its own; see `serve_candidate`.
inline int serve_device_candidate(problem const& of, candidate_function work,
                                  on::device place = {}) {
  return referee_detail::serve_on(of, std::move(work), [place] {
    return std::make_unique<referee_detail::device_candidate_place>(place);
  });
}

}  // namespace assay
