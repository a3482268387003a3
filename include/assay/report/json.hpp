// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison as JSON and back, without loss; needs nlohmann_json.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/document.hpp>

#include <string>
#include <string_view>

namespace assay::report {

/// The machine of a measurement, as every report has it.
document to_json(machine::environment const& where);

/// The whole comparison. Numbers that are not finite become null.
document to_json(measure::comparison const& all);

/// Reads the document of `to_json`. Throws `std::invalid_argument` that names an unknown schema
/// version, or the member that is missing or of the wrong type.
measure::comparison from_json(document const& from);

/// The text of a JSON report, indented, with a line end. Bytes that are not UTF-8 are replaced.
std::string json(measure::comparison const& all);

/// Reads the text of a JSON report. Throws `std::invalid_argument` like `from_json`, and for text
/// that is not JSON.
measure::comparison parse_json(std::string_view text);

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/report/json_definitions.hpp>
#endif
