// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables of a trace that are printed where none is asked for by name.
#pragma once

#include <assay/nsys/reports.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/view.hpp>

#include <cstddef>
#include <ostream>
#include <string_view>
#include <vector>

namespace assay::examples {

/// The reports that `nsys stats` prints by default, and all reports that it lacks.
inline std::vector<std::string_view> default_reports() {
  constexpr std::size_t printed_by_nsys = 6;  // among `trace::reports`
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < printed_by_nsys; ++i) { names.push_back(trace::reports[i].name); }
  for (auto const& each : trace::own_reports) { names.push_back(each.name); }
  return names;
}

/// Prints the default reports that have data.
inline void print_tables(std::ostream& out, trace::model const& of) {
  trace::view const rows{of};
  for (auto const name : default_reports()) {
    auto const made = trace::make_report(name, rows);
    if (made.rows() == 0) { continue; }
    report::text(out, made);
    out << '\n';
  }
}

}  // namespace assay::examples
