// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reports by name: those of `nsys stats`, and our own.
#pragma once

#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <string_view>
#include <vector>

namespace assay::trace {

/// The names of the reports that `nsys stats` prints by default, and of all reports that it has
/// not.
std::vector<std::string_view> default_reports();

/// Makes the report with this name. Throws `std::invalid_argument` that names those there are.
table make_report(std::string_view name, view const& rows);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/nsys/reports_definitions.hpp>
#endif
