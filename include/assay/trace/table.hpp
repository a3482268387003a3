// SPDX-License-Identifier: Apache-2.0
/// @file
/// `table`: the result of a report; rows of typed cells, with a format for each column.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/strings.hpp>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The format of the cells of a column, with decimals as in `nsys stats`.
enum class cell_format : std::uint8_t { text, integer, one_decimal, three_decimals };

/// A column: its name, with the unit in brackets, and its format.
struct column {
  std::string name;
  cell_format format = cell_format::integer;
  bool operator==(column const&) const = default;
};

/// The columns that a text names, with commas between them. A name may end in its format: `:t` for
/// text, `:1` and `:3` for numbers of decimals; other columns hold integers.
inline std::vector<column> parse_columns(std::string_view text) {
  std::vector<column> all;
  while (!text.empty()) {
    auto const comma = text.find(", ");
    auto name = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 2);
    auto format = cell_format::integer;
    for (auto const& [end, meant] :
         {std::pair{":t", cell_format::text}, std::pair{":1", cell_format::one_decimal},
          std::pair{":3", cell_format::three_decimals}}) {
      if (!name.ends_with(end)) { continue; }
      name.remove_suffix(2);
      format = meant;
    }
    all.push_back({std::string{name}, format});
  }
  return all;
}

/// A name that a table already keeps.
struct table_text {
  string_id number = 0;
};

/// Rows of typed cells, each of eight bytes, since a trace of a million kernels is one table.
class table {
 public:
  /// `name` names the report on the command line, `title` in its output.
  table(std::string name, std::string title, std::vector<column> columns)
      : name_{std::move(name)}, title_{std::move(title)}, columns_{std::move(columns)} {}

  std::string const& name() const noexcept { return name_; }
  std::string const& title() const noexcept { return title_; }
  std::vector<column> const& columns() const noexcept { return columns_; }
  std::size_t rows() const noexcept { return columns_.empty() ? 0 : cells_.size() / width(); }

  /// Keeps a name, to be added to many rows at no further cost.
  table_text keep(std::string_view text) { return {strings_.intern(text)}; }

  /// Adds a row: a string, `table_text`, number or `std::nullopt` for each column. Throws
  /// `std::invalid_argument` for another number of cells, or one that its column cannot hold.
  template <class... Cells>
  void add(Cells const&... cells) {
    if (sizeof...(cells) != width()) {
      throw std::invalid_argument(concat({"a row of ", name_, " has ", std::to_string(width()),
                                          " cells, not ", std::to_string(sizeof...(cells))}));
    }
    row_.resize(width());
    std::size_t at = 0;
    (put(at++, cells), ...);
    cells_.insert(cells_.end(), row_.begin(), row_.end());
  }

  /// True if a cell has no value.
  bool missing(std::size_t row, std::size_t column) const {
    auto const bits = cell(row, column);
    switch (columns_.at(column).format) {
      case cell_format::text:
        return bits == 0;
      case cell_format::integer:
        return bits == no_integer;
      default:
        return std::isnan(std::bit_cast<double>(bits));
    }
  }

  /// A cell of a column of text; empty where missing.
  std::string_view text(std::size_t row, std::size_t column) const {
    return strings_[static_cast<string_id>(expect(row, column, cell_format::text))];
  }

  /// A cell of a column of integers; the lowest number where missing.
  std::int64_t integer(std::size_t row, std::size_t column) const {
    return std::bit_cast<std::int64_t>(expect(row, column, cell_format::integer));
  }

  /// A cell of any column of numbers; NaN where missing.
  double number(std::size_t row, std::size_t column) const {
    if (missing(row, column)) { return std::numeric_limits<double>::quiet_NaN(); }
    if (columns_.at(column).format == cell_format::integer) {
      return static_cast<double>(integer(row, column));
    }
    if (columns_[column].format == cell_format::text) { refuse(column, "a number"); }
    return std::bit_cast<double>(cell(row, column));
  }

  /// The index of the column with this name; throws `std::invalid_argument`.
  std::size_t column_of(std::string_view name) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].name == name) { return i; }
    }
    throw std::invalid_argument(concat({name_, " has no column '", name, "'"}));
  }

 private:
  static constexpr auto no_integer =
      std::bit_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());

  std::size_t width() const noexcept { return columns_.size(); }
  std::uint64_t cell(std::size_t row, std::size_t column) const {
    return cells_.at(row * width() + column);
  }
  std::uint64_t expect(std::size_t row, std::size_t column, cell_format format) const {
    if (columns_.at(column).format != format) {
      refuse(column, format == cell_format::text ? "text" : "integers");
    }
    return cell(row, column);
  }
  [[noreturn]] void refuse(std::size_t column, std::string const& what) const {
    throw std::invalid_argument(
        concat({"column '", columns_[column].name, "' of ", name_, " does not hold ", what}));
  }

  void put(std::size_t at, std::nullopt_t) {
    auto const format = columns_[at].format;
    row_[at] = format == cell_format::text      ? 0
               : format == cell_format::integer ? no_integer
                                                : std::bit_cast<std::uint64_t>(std::nan(""));
  }
  void put(std::size_t at, table_text value) {
    if (columns_[at].format != cell_format::text) { refuse(at, "text"); }
    row_[at] = value.number;
  }
  template <class Text>
  requires std::convertible_to<Text const&, std::string_view>
  void put(std::size_t at, Text const& value) {
    put(at, keep(value));
  }
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>)
  void put(std::size_t at, Number value) {
    auto const format = columns_[at].format;
    if (format == cell_format::text) { refuse(at, "a number"); }
    if (format != cell_format::integer) {
      row_[at] = std::bit_cast<std::uint64_t>(static_cast<double>(value));
    } else if constexpr (std::integral<Number>) {
      row_[at] = std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    } else {
      if (std::abs(value) >= 0x1p62 || value != std::trunc(value)) { refuse(at, "fractions"); }
      row_[at] = std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
  }
  template <class Value>
  void put(std::size_t at, std::optional<Value> const& value) {
    value ? put(at, *value) : put(at, std::nullopt);
  }

  std::string name_;
  std::string title_;
  std::vector<column> columns_;
  string_table strings_;
  std::vector<std::uint64_t> cells_;
  std::vector<std::uint64_t> row_;
};

}  // namespace assay::trace
