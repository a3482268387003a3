// SPDX-License-Identifier: Apache-2.0
/// @file
/// Aligned plain-text tables.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

/// A table for a terminal. The first column and the `left_aligned` ones are aligned to the left,
/// all others to the right. A label too wide for its column gets a line of its own, so that one
/// long name does not push the numbers off the screen.
class table {
 public:
  explicit table(std::vector<std::string> head, std::vector<std::size_t> left_aligned = {})
      : rows_{std::move(head)}, left_(std::move(left_aligned)) {
    left_.push_back(0);
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
      for (auto& row : rows_) { row.erase(row.begin() + static_cast<std::ptrdiff_t>(column)); }
      std::erase(left_, column);
      for (auto& at : left_) { at -= at > column ? 1 : 0; }
    }
  }

  /// Prints with an indent of two. The labels get the rest of `width` after all other columns.
  void print(std::ostream& out, std::size_t width = 100) const {
    auto const columns = rows_.front().size();
    std::vector<std::size_t> widths(columns, 0);
    std::size_t others = 2;
    for (std::size_t column = 0; column < columns; ++column) {
      for (auto const& row : rows_) {
        widths[column] = std::max(widths[column], row[column].size());
      }
      if (column != 0) { others += 2 + widths[column]; }
    }
    auto const room = width > others + 8 ? width - others : 8;
    widths[0] = std::min(widths[0], room);
    for (auto const& row : rows_) { print_row(out, row, widths); }
  }

 private:
  void print_row(std::ostream& out, std::vector<std::string> const& row,
                 std::vector<std::size_t> const& widths) const {
    std::string line = "  ";
    for (std::size_t column = 0; column < row.size(); ++column) {
      auto const& text = row[column];
      if (column != 0) { line += "  "; }
      if (text.size() > widths[column]) {
        out << "  " << text << '\n';
        line.append(widths[column], ' ');
        continue;
      }
      auto const blank = std::string(widths[column] - text.size(), ' ');
      auto const left = std::find(left_.begin(), left_.end(), column) != left_.end();
      line += left ? text + blank : blank + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }

  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;
};

}  // namespace assay::report
