// SPDX-License-Identifier: Apache-2.0
/// @file
/// The verdict of the referee as one line of JSON; needs nlohmann_json.
#pragma once

#include <assay/referee/charge.hpp>

#include <string>

namespace assay::report {

/// `{"candidate", "outcome", "charges", "ratio", "low", "high", "seconds_per_call", "seconds"}`,
/// without a line break. `ratio` is the candidate's time over the reference's.
std::string json_line(referee_result const& of);

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/referee/json_definitions.hpp>
#endif
