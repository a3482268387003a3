// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables of a trace as text, CSV and JSON, in the formats of `nsys stats`.
#pragma once

#include <assay/trace/table.hpp>

#include <cstddef>
#include <ostream>

namespace assay::report {

/// Prints a table as `nsys stats` does, numbers to the right. Names longer than `widest` characters
/// are cut.
void text(std::ostream& out, trace::table const& of, std::size_t widest = 100);

/// Writes a table as CSV with its head, as `nsys stats --format csv` does.
void csv_table(std::ostream& out, trace::table const& of);

/// Writes a table as an array with one object per row, keyed by the names of the columns. Numbers
/// have the decimals of the other formats; a cell without a value is null. Rows are written one by
/// one, since a document of a million rows would not fit. Bytes that are not UTF-8 are replaced.
void json_table(std::ostream& out, trace::table const& of);

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/report/trace_table_definitions.hpp>
#endif
