// SPDX-License-Identifier: Apache-2.0
/// @file
/// `document`: JSON. Code that looks into a document includes `json_values.hpp`.
#pragma once

#include <assay/core/requirements.hpp>

#include <nlohmann/json_fwd.hpp>

namespace assay::report {

/// A JSON document that keeps its members in the order of writing.
using document = nlohmann::ordered_json;

}  // namespace assay::report
