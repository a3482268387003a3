// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reports by name: those of `nsys stats`, and our own.
#pragma once

#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace assay::trace {

/// A report: its name, and the function that makes it of some rows of a trace.
struct report {
  std::string_view name;
  table (*make)(view const&);
};

/// Every report of `nsys stats` that there is, in the order in which `nsys stats` prints them;
/// those that have a row for each event come last.
std::span<report const> reports();

/// The reports that `nsys stats` has not.
std::span<report const> own_reports();

/// The names of the reports that `nsys stats` prints by default, and of all reports that it has
/// not.
std::vector<std::string_view> default_reports();

/// Makes the report with this name. Throws `std::invalid_argument` that names those there are.
table make_report(std::string_view name, view const& rows);

}  // namespace assay::trace

#ifndef ASSAY_DECLARED
#include <assay/nsys/reports_definitions.hpp>
#endif
