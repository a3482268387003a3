// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables of an export of whatever version: those that it has, the columns that they have.
#pragma once

#include <assay/nsys/sqlite_database.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/utf8.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace assay::trace {

/// The tables of a SQLite file by name. Views and virtual tables, which could run code or be
/// endless, are none.
class export_tables {
 public:
  export_tables(std::filesystem::path const& path, read_limits const& limits)
      : file_(database::open(path, limits)) {
    auto list =
        file_.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0",
                      "its list of tables");
    while (list.step()) { columns_.emplace(list.text(), std::vector<std::string>{}); }
    for (auto& [table, columns] : columns_) {
      auto info = file_.prepare("PRAGMA table_info(" + quoted(table) + ")", "table " + table);
      while (info.step()) {
        info.skip();
        columns.emplace_back(info.text());
      }
    }
  }

  bool has(std::string_view table) const { return columns_.contains(table); }
  bool empty() const noexcept { return columns_.empty(); }

  /// All rows of a table, with these columns; those that the table lacks are NULL. Nothing where
  /// there is no such table.
  std::optional<statement> select(std::string const& table,
                                  std::initializer_list<std::string_view> wanted) {
    auto const found = columns_.find(table);
    if (found == columns_.end()) { return std::nullopt; }
    std::string sql = "SELECT ";
    for (auto const column : wanted) {
      auto const known = column == "rowid" || std::find(found->second.begin(), found->second.end(),
                                                        column) != found->second.end();
      if (sql.size() > 7) { sql += ", "; }
      sql += known ? quoted(column) : "NULL";
    }
    return file_.prepare(sql + " FROM " + quoted(table), "table " + table);
  }

  /// Makes room for the rows of a table, as many as its last row's number says and the file can
  /// hold.
  template <class Row>
  void reserve(std::string const& table, std::vector<Row>& rows) {
    auto last = file_.prepare("SELECT max(rowid) FROM " + quoted(table), "table " + table);
    if (!last.step()) { return; }
    auto const said = static_cast<std::uint64_t>(std::max<std::int64_t>(0, last.integer()));
    rows.reserve(rows.size() + static_cast<std::size_t>(std::min(said, file_.most_rows() / 8)));
  }

 private:
  static std::string quoted(std::string_view name) {
    std::string result = "\"";
    for (auto const c : name) { result += c == '"' ? "\"\"" : std::string(1, c); }
    return result + '"';
  }

  database file_;
  std::map<std::string, std::vector<std::string>, std::less<>> columns_;
};

/// Numbers of names in an export, and what they are in the model.
class export_names {
 public:
  explicit export_names(model& into) : into_(&into) {}

  /// The number of `text` in the model, its bytes that are not UTF-8 replaced.
  string_id intern(std::string_view text) {
    return into_->strings.intern(is_utf8(text) ? text : repaired_utf8(text));
  }

  void add(std::int64_t id, std::string_view text) {
    auto const number = intern(text);
    if (id >= 0 && id < static_cast<std::int64_t>(2 * dense_.size() + 1024)) {
      auto const at = static_cast<std::size_t>(id);
      if (at >= dense_.size()) { dense_.resize(at + 1, unknown); }
      dense_[at] = number;
    } else {
      sparse_[id] = number;
    }
  }

  /// The name that the next column tells, by its number, or in words as some exports do; the empty
  /// one for NULL, and for numbers that the export does not explain, which are counted.
  string_id next(statement& row) {
    if (row.null()) {
      row.skip();
      return 0;
    }
    if (row.is_text()) {
      auto const text = row.text();
      std::int64_t id = 0;
      auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), id);
      auto const number = error == std::errc{} && stop == text.data() + text.size();
      if (auto const known = number ? find(id) : unknown; known != unknown) { return known; }
      return intern(text);
    }
    if (auto const known = find(row.integer()); known != unknown) { return known; }
    ++into_->lost.unnamed;
    return 0;
  }

 private:
  static constexpr string_id unknown = ~string_id{0};

  string_id find(std::int64_t id) const {
    if (id >= 0 && id < static_cast<std::int64_t>(dense_.size())) {
      if (auto const known = dense_[static_cast<std::size_t>(id)]; known != unknown) {
        return known;
      }
    }
    if (sparse_.empty()) { return unknown; }
    auto const found = sparse_.find(id);
    return found == sparse_.end() ? unknown : found->second;
  }

  model* into_;
  std::vector<string_id> dense_;
  std::unordered_map<std::int64_t, string_id> sparse_;
};

}  // namespace assay::trace
