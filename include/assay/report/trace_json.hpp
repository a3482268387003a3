// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables of a trace as JSON; needs nlohmann_json.
#pragma once

#include <assay/report/json_values.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/table.hpp>

#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>

namespace assay::report {

/// Writes a table as an array with one object per row, keyed by the names of the columns. Numbers
/// have the decimals of the other formats; a cell without a value is null. Rows are written one by
/// one, since a document of a million rows would not fit. Bytes that are not UTF-8 are replaced.
inline void json_table(std::ostream& out, trace::table const& of) {
  auto const quoted = [](std::string const& text) {
    return document(text).dump(-1, ' ', false, document::error_handler_t::replace);
  };
  auto const& columns = of.columns();
  out << '[';
  for (std::size_t row = 0; row < of.rows(); ++row) {
    out << (row == 0 ? "\n  {" : ",\n  {");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out << (i == 0 ? "" : ", ") << quoted(columns[i].name) << ": ";
      if (of.missing(row, i)) {
        out << "null";
      } else if (columns[i].format == trace::cell_format::text) {
        out << quoted(std::string{of.text(row, i)});
      } else {
        out << (std::isfinite(of.number(row, i)) ? detail::cell_text(of, row, i) : "null");
      }
    }
    out << '}';
  }
  out << (of.rows() == 0 ? "]" : "\n]") << '\n';
}

}  // namespace assay::report
