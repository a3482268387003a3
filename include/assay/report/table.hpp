// SPDX-License-Identifier: Apache-2.0
/// @file
/// Aligned plain-text tables, and the lines of a long text that matter.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <ostream>
#include <string>
#include <string_view>
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

namespace detail {

/// The sections of a text, which empty lines separate.
inline std::vector<std::vector<std::string>> sections_of(std::string_view text) {
  std::vector<std::vector<std::string>> all(1);
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size());
    if (end == 0) {
      all.emplace_back();
    } else {
      all.back().emplace_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

/// The title of a section, without what is in parentheses.
inline std::string title_of_section(std::vector<std::string> const& lines) {
  auto const title = lines.front().substr(0, lines.front().find_first_of(",("));
  return title.substr(0, title.find_last_not_of(' ') + 1);
}

/// The lines of a section of which so many have room: an entry that goes on is not cut. None where
/// that would leave no more than its head.
inline std::size_t fitting(std::vector<std::string> const& lines, std::size_t room) {
  if (lines.size() <= room) { return lines.size(); }
  auto const begins_entry = [](std::string const& line) {
    auto const at = line.find_first_not_of(' ');
    return at <= 2 || line.compare(at, 2, "- ") == 0;
  };
  if (room-- == 0) { return 0; }  // a line says that the section goes on
  while (room > 0 && !begins_entry(lines[room])) { --room; }
  return room > 2 ? room : 0;
}

}  // namespace detail

/// At most `most` lines of a text whose sections are separated by empty lines, 10 or more. The
/// first section comes first, then those whose titles begin with `important`, then the others. The
/// last line names all that is left out and `option`, which prints it.
inline std::string excerpt(std::string const& text, std::size_t most, std::string_view option,
                           std::vector<std::string_view> const& important = {}) {
  if (static_cast<std::size_t>(std::ranges::count(text, '\n')) <= most) { return text; }
  auto const all = detail::sections_of(text);
  std::vector<std::size_t> order(all.size()), kept(all.size(), 0);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    auto const begins = [&](auto const& title) {
      return !all[i].empty() && all[i].front().starts_with(title);
    };
    return i == 0 ? -1 : std::ranges::find_if(important, begins) - important.begin();
  });
  auto room = most - 4;  // an empty line, and what is left out
  for (auto const i : order) {
    if (room < 2 || all[i].empty()) { continue; }
    kept[i] = detail::fitting(all[i], room - (i == 0 ? 0 : 1));
    if (kept[i] == 0) { continue; }
    room -= kept[i] + (i == 0 ? 0U : 1U) + (kept[i] < all[i].size() ? 1U : 0U);
  }
  std::string out, left_out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& lines = all[i];
    if (kept[i] > 0 && i > 0) { out += '\n'; }
    for (std::size_t k = 0; k < kept[i]; ++k) { out += lines[k] + '\n'; }
    if (kept[i] == lines.size()) { continue; }
    if (kept[i] > 0) { out += "  ...\n"; }
    left_out += concat({left_out.empty() ? "" : ", ", std::to_string(lines.size() - kept[i]),
                        " lines of ", detail::title_of_section(lines)});
  }
  return concat(
      {out, "\n",
       wrapped(concat({"Left out, and printed with ", option, ": ", left_out, "."}), "", "  ")});
}

}  // namespace assay::report
