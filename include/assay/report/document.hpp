// SPDX-License-Identifier: Apache-2.0
/// @file
/// `document`: JSON, for functions that hand it on; what looks into it includes `json_parts.hpp`.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay::report {

/// A JSON document that keeps its members in the order of writing.
using document = nlohmann::ordered_json;

}  // namespace assay::report
