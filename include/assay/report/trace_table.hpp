// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables of a trace as text, CSV and JSON, in the formats of `nsys stats`.
#pragma once

#include <assay/report/csv.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>
#include <assay/trace/table.hpp>

#include <algorithm>
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

/// True if a byte begins a character of UTF-8. Names that are not UTF-8 only get a worse layout.
constexpr bool begins_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// The number of characters of a text in UTF-8.
inline std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

/// The text on one line; a longer text is cut to `most` characters and ends in an ellipsis.
inline std::string cut(std::string text, std::size_t most) {
  text = printable(text);
  if (characters(text) <= most) { return text; }
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if (begins_character(text[at]) && ++seen == most) { break; }
  }
  return text.substr(0, at) + "\xE2\x80\xA6";
}

inline std::string padded(std::string const& text, std::size_t left, std::size_t width) {
  auto const used = left + characters(text);
  return std::string(left, ' ') + text + std::string(width > used ? width - used : 0, ' ');
}

}  // namespace detail

/// Prints a table as `nsys stats` does: centred heads over dashes, numbers to the right. Names
/// longer than `widest` characters are cut.
inline void text(std::ostream& out, trace::table const& of, std::size_t widest = 100) {
  out << " ** " << of.title() << " (" << of.name() << "):\n\n";
  auto const& columns = of.columns();
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto width = columns[i].name.size();
    for (std::size_t row = 0; row < of.rows(); ++row) {
      width = std::max(width, std::min(widest, detail::characters(detail::cell_text(of, row, i))));
    }
    widths.push_back(width);
  }
  std::string heads, dashes;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto const& name = columns[i].name;
    std::string const before(i == 0 ? 1 : 2, ' ');
    heads += before + detail::padded(name, (widths[i] - name.size()) / 2, widths[i]);
    dashes.append(before).append(widths[i], '-');
  }
  out << heads << '\n' << dashes << '\n';
  for (std::size_t row = 0; row < of.rows(); ++row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      auto const cell = detail::cut(detail::cell_text(of, row, i), widest);
      auto const left = columns[i].format == trace::cell_format::text
                            ? 0
                            : widths[i] - std::min(widths[i], detail::characters(cell));
      line += (i == 0 ? " " : "  ") + detail::padded(cell, left, widths[i]);
    }
    out << line << '\n';
  }
}

/// Writes a table as CSV with its head, as `nsys stats --format csv` does.
inline void csv_table(std::ostream& out, trace::table const& of) {
  auto const& columns = of.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out << (i == 0 ? "" : ",") << csv::field(std::string_view{columns[i].name});
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
        line += csv::field(of.text(row, i));
      } else {
        detail::append_cell(line, of, row, i);
      }
    }
    line += '\n';
    out << line;
  }
}

}  // namespace assay::report
