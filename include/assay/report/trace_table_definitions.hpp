// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to trace_table.hpp: the definitions of its functions.
#pragma once

#include <assay/chrome/json_text.hpp>
#include <assay/core/csv.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/report/table.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/trace/table.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

namespace detail {

/// `fixed`, but with exact ties rounded away from zero, as `nsys stats` rounds them.
inline std::string rounded(double value, int decimals) {
  auto const scale = decimals == 1 ? 10.0 : 1000.0;
  auto const scaled = value * scale;
  auto const tie = std::abs(scaled) < 0x1p50 && std::fma(value, scale, -scaled) == 0 &&
                   std::abs(scaled - std::trunc(scaled)) == 0.5;
  return fixed(tie ? std::round(scaled) / scale : value, decimals);
}

/// Appends the text of a cell; nothing for a cell without a value.
inline void append_cell(std::string& to, trace::table const& of, std::size_t row,
                        std::size_t column) {
  if (of.missing(row, column)) { return; }
  auto const format = of.columns()[column].format;
  if (format == trace::cell_format::text) {
    to += of.text(row, column);
  } else if (format == trace::cell_format::integer) {
    std::array<char, 24> digits{};
    auto const number = of.integer(row, column);
    to.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  } else {
    to += rounded(of.number(row, column), format == trace::cell_format::one_decimal ? 1 : 3);
  }
}

inline std::string cell_text(trace::table const& of, std::size_t row, std::size_t column) {
  std::string text;
  append_cell(text, of, row, column);
  return text;
}

}  // namespace detail

ASSAY_INLINE void text(std::ostream& out, trace::table const& of, std::size_t widest) {
  out << " ** " << of.title() << " (" << of.name() << "):\n\n";
  std::vector<bool> left;
  for (auto const& each : of.columns()) { left.push_back(each.format == trace::cell_format::text); }
  detail::print_aligned(
      out, of.rows() + 1, left,
      [&](std::size_t row, std::size_t column) {
        return row == 0 ? of.columns()[column].name
                        : shortened(detail::cell_text(of, row - 1, column), widest);
      },
      true);
}

ASSAY_INLINE void csv_table(std::ostream& out, trace::table const& of) {
  auto const& columns = of.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out << (i == 0 ? "" : ",") << assay::csv::field(std::string_view{columns[i].name});
  }
  out << '\n';
  std::string line;
  for (std::size_t row = 0; row < of.rows(); ++row) {
    line.clear();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i != 0) { line += ','; }
      auto const quoted = columns[i].format == trace::cell_format::text &&
                          of.text(row, i).find_first_of(",\"\r\n") != std::string_view::npos;
      if (quoted) {
        line += assay::csv::field(of.text(row, i));
      } else {
        detail::append_cell(line, of, row, i);
      }
    }
    line += '\n';
    out << line;
  }
}

ASSAY_INLINE void json_table(std::ostream& out, trace::table const& of) {
  auto const& columns = of.columns();
  out << '[';
  for (std::size_t row = 0; row < of.rows(); ++row) {
    out << (row == 0 ? "\n  {" : ",\n  {");
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out << (i == 0 ? "" : ", ") << trace::quoted(columns[i].name) << ": ";
      if (of.missing(row, i)) {
        out << "null";
      } else if (columns[i].format == trace::cell_format::text) {
        out << trace::quoted(of.text(row, i));
      } else {
        out << (std::isfinite(of.number(row, i)) ? detail::cell_text(of, row, i) : "null");
      }
    }
    out << '}';
  }
  out << (of.rows() == 0 ? "]" : "\n]") << '\n';
}

}  // namespace assay::report
