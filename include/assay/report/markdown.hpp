// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison in Markdown, for a pull request: its verdict, a table, and details behind lines.
#pragma once

#include <assay/measure/comparison.hpp>

#include <string>

namespace assay::report {

/// The comparison in Markdown; a saved result, where there is one, stands beside it.
std::string markdown(measure::comparison const& all, measure::comparison const* baseline = nullptr);

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/report/markdown_definitions.hpp>
#endif
