// SPDX-License-Identifier: Apache-2.0
/// @file
/// Aligned plain-text tables.
#pragma once

#include <assay/report/escape.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

/// Prints cells in columns; row 0 is the head. `cell(row, column)` is the text, and columns are
/// aligned to the left or to the right. A cell of the first column that does not fit into `width`
/// beside the others gets a line of its own, so that one long name does not push the numbers off
/// the screen. With `ruled` there is a line of dashes below the head, and no limit.
template <class Cell>
void print_aligned(std::ostream& out, std::size_t rows, std::vector<bool> const& left,
                   Cell const& cell, bool ruled, std::size_t width = 0) {
  std::string const indent(ruled ? 1 : 2, ' ');
  std::vector<std::size_t> widths(left.size(), 0);
  for (std::size_t column = 0; column < left.size(); ++column) {
    for (std::size_t row = 0; row < rows; ++row) {
      widths[column] = std::max(widths[column], characters(cell(row, column)));
    }
  }
  if (!ruled) {
    auto others = indent.size();
    for (std::size_t column = 1; column < left.size(); ++column) { others += 2 + widths[column]; }
    widths[0] = std::min(widths[0], width > others + 8 ? width - others : 8);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line = indent, dashes = indent;
    for (std::size_t column = 0; column < left.size(); ++column) {
      std::string text = cell(row, column);
      if (characters(text) > widths[column]) {
        out << indent << text << '\n';
        text.clear();
      }
      if (column != 0) { line += "  ", dashes += "  "; }
      auto const blank = std::string(widths[column] - characters(text), ' ');
      line += left[column] ? text + blank : blank + text;
      dashes.append(widths[column], '-');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
    if (ruled && row == 0) { out << dashes << '\n'; }
  }
}

}  // namespace detail

/// A table for a terminal. The first column and the `left_aligned` ones are aligned to the left,
/// all others to the right.
class table {
 public:
  explicit table(std::vector<std::string> head, std::vector<std::size_t> const& left_aligned = {})
      : rows_{std::move(head)}, left_(rows_.front().size()) {
    left_.at(0) = true;
    for (auto const column : left_aligned) { left_.at(column) = true; }
  }

  /// Adds a row; missing cells at its end stay empty. A row may not be longer than the head.
  void add(std::vector<std::string> cells) {
    cells.resize(rows_.front().size());
    rows_.push_back(std::move(cells));
  }

  bool empty() const noexcept { return rows_.size() == 1; }

  /// Drops every column that is empty below the head. Keeps the first one.
  void drop_empty_columns() {
    for (auto column = rows_.front().size(); column-- > 1;) {
      auto const used = std::any_of(rows_.begin() + 1, rows_.end(),
                                    [&](auto const& row) { return !row[column].empty(); });
      if (used) { continue; }
      auto const drop = [at = static_cast<std::ptrdiff_t>(column)](auto& from) {
        from.erase(from.begin() + at);
      };
      for (auto& row : rows_) { drop(row); }
      drop(left_);
    }
  }

  /// Prints with an indent of two. The labels get the rest of `width` after all other columns.
  void print(std::ostream& out, std::size_t width = 100) const {
    detail::print_aligned(
        out, rows_.size(), left_,
        [&](std::size_t row, std::size_t column) -> auto const& { return rows_[row][column]; },
        false, width);
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

}  // namespace assay::report
