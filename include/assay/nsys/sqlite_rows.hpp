// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nsys. The tables of an export of any version, its names, and the reading of rows.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/utf8.hpp>
#include <assay/nsys/columns.hpp>
#include <assay/nsys/sqlite_database.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/strings.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace assay::trace {

/// The tables of a SQLite file by name. Views and virtual tables, which could run code or be
/// endless, are left out.
class export_tables {
 public:
  explicit export_tables(std::filesystem::path const& path) : file_(database::open(path)) {
    auto list =
        file_.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0",
                      "its list of tables");
    while (list.step()) { columns_.emplace(list.text(), std::vector<std::string>{}); }
    for (auto& [table, columns] : columns_) {
      auto info =
          file_.prepare(concat({"PRAGMA table_info(", quoted(table), ")"}), "table " + table);
      while (info.step()) {
        info.skip();
        columns.emplace_back(info.text());
      }
    }
  }

  bool has(std::string_view table) const { return columns_.contains(table); }
  bool has(std::string_view table, std::string_view column) const {
    auto const known = columns_.find(table);
    return known != columns_.end() &&
           std::find(known->second.begin(), known->second.end(), column) != known->second.end();
  }
  bool empty() const noexcept { return columns_.empty(); }
  /// The tables whose names begin with `known` and go on.
  std::vector<std::string> like(std::string_view known) const {
    std::vector<std::string> found;
    for (auto at = columns_.upper_bound(known);
         at != columns_.end() && at->first.starts_with(known); ++at) {
      found.push_back(at->first);
    }
    return found;
  }

  /// All rows of a table, with these columns; a column that the table lacks is NULL. Nothing where
  /// the file has no such table.
  std::optional<statement> select(std::string const& table,
                                  std::vector<std::string_view> const& wanted) {
    if (!has(table)) { return std::nullopt; }
    return prepare(table, columns_of(table, wanted));
  }

  /// Calls `use(row)` for each row that `select` gives, in less time.
  template <class Use>
  void each_row(std::string const& table, std::vector<std::string_view> const& wanted, Use&& use) {
    if (!has(table)) { return; }
    auto rows =
        prepare(table, concat({statement::row_function, "(?, ", columns_of(table, wanted), ")"}));
    rows.each_row([&] { use(rows); });
  }

  /// Makes room for the rows of a table, as many as the number of its last row says and the file
  /// can hold.
  template <class Row>
  void reserve(std::string const& table, std::vector<Row>& rows) {
    auto last = file_.prepare("SELECT max(rowid) FROM " + quoted(table), "table " + table);
    if (!last.step()) { return; }
    auto const said = static_cast<std::uint64_t>(std::max<std::int64_t>(0, last.integer()));
    rows.reserve(rows.size() + static_cast<std::size_t>(std::min(said, file_.most_rows() / 8)));
  }

 private:
  statement prepare(std::string const& table, std::string const& what) {
    return file_.prepare(concat({"SELECT ", what, " FROM ", quoted(table)}), "table " + table);
  }
  /// The columns for a SELECT, NULL for those that the table lacks.
  std::string columns_of(std::string const& table, std::vector<std::string_view> const& wanted) {
    auto const& all = columns_.at(table);
    std::string list;
    for (auto const column : wanted) {
      auto const known = std::find(all.begin(), all.end(), column) != all.end();
      list += (list.empty() ? "" : ", ") + (known ? quoted(column) : "NULL");
    }
    return list;
  }
  static std::string quoted(std::string_view name) {
    std::string result = "\"";
    for (auto const c : name) { result += c == '"' ? "\"\"" : std::string(1, c); }
    return result + '"';
  }

  database file_;
  std::map<std::string, std::vector<std::string>, std::less<>> columns_;
};

/// An export being read, and the model that it becomes.
struct open_export {
  model into;
  export_tables tables;
  bool ours = false;       ///< written by assay: every row is kept as it is
  std::int64_t shift = 0;  ///< is taken off all times
  std::unordered_map<std::int64_t, string_id> names;

  explicit open_export(std::filesystem::path const& path) : tables(path) {}
  open_export(open_export const&) = delete;

  /// The number of `text` in the model, its bytes that are not UTF-8 replaced.
  string_id intern(std::string_view text) { return into.strings.intern(repaired_utf8(text)); }

  // Times further than 146 years from the epoch and spans longer than 104 days are damage, and sums
  // of them would overflow.
  static constexpr std::int64_t farthest = std::int64_t{1} << 62U;
  static constexpr std::int64_t longest = std::int64_t{1} << 53U;

  /// Moves a span to the times of the model; false, and counted, where it is impossible.
  bool place(span& when) {
    if (!ours && when.begin == 0 && when.end == 0) {
      ++into.lost.zero_stamped;
      return false;
    }
    auto const possible = [](std::int64_t at) { return at > -farthest && at < farthest; };
    if (!possible(when.begin) || !possible(when.end) || when.end < when.begin ||
        when.end - when.begin > longest || !possible(shift)) {
      ++into.lost.out_of_window;
      return false;
    }
    when = {when.begin - shift, when.end - shift};
    return true;
  }
};

/// Reads one row, column by column as `nsys::columns` visits them.
class row_reader {
 public:
  row_reader(statement& row, open_export& in) : row_(row), in_(in) {}

  bool timed() const noexcept { return timed_; }  ///< all moments were there
  std::optional<std::int64_t> call_class() const noexcept { return call_class_; }

  void moment(std::string_view, std::int64_t& at) {
    auto const told = row_.whole();
    timed_ = timed_ && told;
    at = told.value_or(0);
  }
  template <class T>
  void integer(std::string_view, T& member) {
    // SQLite gives 0 for NULL, which most members have anyway; the question takes as long as the
    // value.
    if (member != T{} && row_.skip_null()) { return; }
    member = static_cast<T>(row_.integer());
  }
  template <class T>
  void optional(std::string_view name, T& member, std::type_identity_t<T> = {}) {
    integer(name, member);
  }
  template <class T>
  void optional(std::string_view, std::optional<T>& member) {
    if (!row_.skip_null()) { member = static_cast<T>(row_.integer()); }
  }
  void bytes(std::string_view, std::uint64_t& member) {
    auto const told = row_.integer();
    member = static_cast<std::uint64_t>(in_.ours ? told : std::max<std::int64_t>(0, told));
  }
  template <class Enum>
  void kind(std::string_view, Enum& member, Enum last) {
    if (row_.skip_null()) { return; }
    auto const told = row_.integer();
    if (told >= 0 && told <= static_cast<std::int64_t>(last)) { member = static_cast<Enum>(told); }
  }
  void text(std::string_view, std::string& member) { member = repaired_utf8(row_.text()); }
  /// The name of this number, or in words as some exports have it; the empty one for NULL and for
  /// numbers that the export does not explain, which are counted.
  void name(std::string_view, string_id& member) {
    auto const type = row_.type();
    if (type == SQLITE_NULL) { return row_.skip(); }
    auto const text = type == SQLITE_TEXT ? row_.peek_text() : std::string_view{};
    auto const number = row_.whole(type);
    auto const known = number ? in_.names.find(*number) : in_.names.end();
    if (known != in_.names.end()) {
      member = known->second;
    } else if (type == SQLITE_TEXT) {
      member = in_.intern(text);
    } else {
      ++in_.into.lost.unnamed;
    }
  }
  void optional_name(std::string_view column, string_id& member) { name(column, member); }
  void label(std::string_view number, std::string_view, string_id& member) {
    if (row_.skip_null()) {
      member = in_.intern(row_.text());
    } else {
      name(number, member);
      row_.skip();
    }
  }
  void process(std::string_view, std::uint32_t& member) {
    member = nsys::unpack(row_.integer()).process;
  }
  void thread(std::string_view, thread_key& member) { member = nsys::unpack(row_.integer()); }
  void call_class(std::string_view name, api) { optional(name, call_class_); }
  void payload(std::uint64_t& member) {
    auto found = false;
    for (int i = 0; i < 4; ++i) {
      if (row_.skip_null()) { continue; }
      auto const told = static_cast<std::uint64_t>(row_.integer());
      if (!found) { member = told; }
      found = true;
    }
    for (int i = 0; i < 2; ++i) {
      auto const told = row_.real();
      if (found || !(told >= 1 && told < 0x1p63)) { continue; }
      member = static_cast<std::uint64_t>(std::llround(told));
      found = true;
    }
  }
  /// The communicator in what NCCL tells of a call, as the payload of a range that has no other.
  void extended_payload(std::string_view, std::string_view, std::uint64_t& member) {
    auto const known = row_.skip_null() ? in_.names.end() : in_.names.find(row_.integer());
    auto const told = known == in_.names.end() ? std::string_view{}
                                               : std::string_view{in_.into.strings[known->second]};
    std::string_view const text = row_.text();
    if (member == 0) { member = nsys::communicator_in(told.empty() ? text : told); }
  }
  void words(std::string_view, string_id) {}
  void constant(std::string_view, std::int64_t) {}
  void unused(std::string_view) {}

 private:
  statement& row_;
  open_export& in_;
  bool timed_ = true;
  std::optional<std::int64_t> call_class_;
};

/// The columns of time that rows of this type cannot do without.
template <class Row>
std::vector<std::string_view> moments_of() {
  if constexpr (requires(Row row) { row.when; }) { return {"start", "end"}; }
  if constexpr (requires(Row row) { row.at; } || requires(Row row) { row.begin; }) {
    return {"start"};
  }
  return {};
}

/// Reads a table into `rows`, without the rows that `keep(row, reader)` refuses. A table whose
/// times have other names, as a schema of the future may have, is noted: none of its rows has a
/// time.
template <class Row, class Keep>
void read_table(open_export& in, std::string const& table, std::vector<Row>& rows, Keep&& keep) {
  if (!in.tables.has(table)) { return; }
  for (auto const column : moments_of<Row>()) {
    if (in.tables.has(table, column)) { continue; }
    in.into.notes.emplace_back("table " + table,
                               concat({"not read, since it has no column ", column}));
  }
  in.tables.reserve(table, rows);
  in.tables.each_row(table, nsys::columns_of<Row>().read, [&](statement& row) {
    Row made;
    row_reader reader{row, in};
    nsys::columns(reader, made);
    if (!reader.timed()) {
      ++in.into.lost.zero_stamped;
      return;
    }
    if constexpr (requires { made.when; }) {
      if (!in.place(made.when)) { return; }
    }
    if constexpr (requires { made.at; }) {
      span when{made.at, made.at};
      if (!in.place(when)) { return; }
      made.at = when.begin;
    }
    if (keep(made, reader)) { rows.push_back(made); }
  });
}
template <class Row>
void read_table(open_export& in, std::string const& table, std::vector<Row>& rows) {
  read_table(in, table, rows, [](Row const&, row_reader const&) { return true; });
}

}  // namespace assay::trace
