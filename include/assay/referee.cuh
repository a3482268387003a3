// SPDX-License-Identifier: Apache-2.0
/// @file
/// `serve_device_problem`: problems on a device for the referee.
#pragma once

#include <assay/core/place.hpp>
#include <assay/referee.hpp>

namespace assay {

/// Serves a problem with its arrays on a device: `int main() { return
/// assay::serve_device_problem(of); }`. Candidates enqueue their work on the stream that they are
/// given.
int serve_device_problem(problem const& of, on::device place = {});

}  // namespace assay

#ifndef ASSAY_COMPILED
#include <assay/referee_definitions.cuh>
#endif
