// SPDX-License-Identifier: Apache-2.0
/// @file
/// SQLite files, as the readers and writers of traces use them; needs SQLite 3.
#pragma once

#include <assay/core/file.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::trace {

/// What SQLite refused, in its words; readers and writers add the file's name.
class database_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How much of a file is read before it is refused.
struct read_limits {
  std::uint64_t rows = 200'000'000;              ///< of one table
  std::size_t row_bytes = std::size_t{1} << 26;  ///< of one row, and so of one string
};

/// A prepared statement: columns are read from left to right, parameters bound likewise.
class statement {
 public:
  statement(sqlite3* in, std::string const& sql, std::string about)
      : about_(std::move(about)), rows_left_(~std::uint64_t{0}) {
    sqlite3_stmt* made = nullptr;
    auto const code = sqlite3_prepare_v2(in, sql.c_str(), -1, &made, nullptr);
    prepared_.reset(made);
    if (code != SQLITE_OK) { throw database_error(about_ + ": " + sqlite3_errmsg(in)); }
  }
  void limit_rows(std::uint64_t rows) noexcept { rows_left_ = rows; }

  /// The next row, false at the end.
  bool step() {
    column_ = 0;
    auto const code = sqlite3_step(prepared_.get());
    if (code == SQLITE_DONE) { return false; }
    if (code != SQLITE_ROW) { throw database_error(about_ + ": " + reason(code)); }
    if (rows_left_-- == 0) {
      throw database_error(about_ + ": more rows than the limit, or than the file can hold");
    }
    return true;
  }

  /// Columns: NULL and what is no number count as 0.
  std::int64_t integer() { return sqlite3_column_int64(prepared_.get(), column_++); }
  double real() { return sqlite3_column_double(prepared_.get(), column_++); }
  template <class To>
  To number() {
    return static_cast<To>(integer());
  }
  bool null() const { return next_type() == SQLITE_NULL; }
  bool is_text() const { return next_type() == SQLITE_TEXT; }
  void skip() { ++column_; }
  /// Valid until the next step. Numbers as their digits.
  std::string_view text() {
    auto const at = column_++;
    auto const* bytes = sqlite3_column_blob(prepared_.get(), at);
    auto const size = static_cast<std::size_t>(sqlite3_column_bytes(prepared_.get(), at));
    return bytes == nullptr ? std::string_view{}
                            : std::string_view{static_cast<char const*>(bytes), size};
  }

  /// Runs an INSERT with these values in the place of its parameters; texts are not copied.
  template <class... Values>
  void insert(Values const&... values) {
    int at = 0;
    (bind(++at, values), ...);
    (void)step();
    sqlite3_reset(prepared_.get());
  }

 private:
  struct finalize {
    void operator()(sqlite3_stmt* of) const noexcept { sqlite3_finalize(of); }
  };
  int next_type() const { return sqlite3_column_type(prepared_.get(), column_); }
  std::string reason(int code) const {
    if (code == SQLITE_TOOBIG) { return "a row is larger than the limit"; }
    if (code == SQLITE_INTERRUPT) { return "more to do than its size allows: it is corrupted"; }
    return sqlite3_errmsg(sqlite3_db_handle(prepared_.get()));
  }
  void bind(int at, std::int64_t value) { bound(sqlite3_bind_int64(prepared_.get(), at, value)); }
  void bind(int at, std::int32_t value) { bind(at, std::int64_t{value}); }
  void bind(int at, std::uint32_t value) { bind(at, std::int64_t{value}); }
  // SQLite has signed integers only: the largest values of unsigned ones come out negative.
  void bind(int at, std::uint64_t value) { bind(at, static_cast<std::int64_t>(value)); }
  void bind(int at, double value) { bound(sqlite3_bind_double(prepared_.get(), at, value)); }
  void bind(int at, std::nullptr_t) { bound(sqlite3_bind_null(prepared_.get(), at)); }
  void bind(int at, std::string_view value) {
    bound(sqlite3_bind_text64(prepared_.get(), at, value.empty() ? "" : value.data(), value.size(),
                              SQLITE_STATIC, SQLITE_UTF8));
  }
  template <class T>
  requires requires(T const& value) { value.has_value(); }
  void bind(int at, T const& value) {
    if (value.has_value()) {
      bind(at, *value);
    } else {
      bind(at, nullptr);
    }
  }
  void bound(int code) {
    if (code != SQLITE_OK) { throw database_error(about_ + ": " + reason(code)); }
  }

  std::unique_ptr<sqlite3_stmt, finalize> prepared_;
  std::string about_;
  std::uint64_t rows_left_;
  int column_ = 0;
};

/// An open SQLite file.
class database {
 public:
  /// Opens an existing file without ever writing to it or beside it, and refuses what would take
  /// long or much to read. Throws `read_error` for what is no regular file.
  static database open(std::filesystem::path const& path, read_limits const& limits) {
    auto const bytes = require_readable(path);
    database opened{uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
    auto* const connection = opened.connection_.get();
    // Views, triggers and functions of a file that others made are not to be run.
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, static_cast<int>(limits.row_bytes));
    // A row that holds anything takes more than four bytes, and reading it fewer than 200 steps of
    // SQLite's machine; a tree of pages that points into itself would take steps without end.
    opened.most_rows_ = std::min<std::uint64_t>(limits.rows, bytes / 4);
    *opened.steps_left_ = static_cast<std::int64_t>((1'000'000 + bytes * 16) / steps_at_once);
    sqlite3_progress_handler(
        connection, steps_at_once,
        [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; },
        opened.steps_left_.get());
    opened.run("PRAGMA cell_size_check = ON");
    return opened;
  }

  /// Opens an empty file to be filled at once, with no journal: whoever wants it whole or not at
  /// all writes a temporary.
  static database fill(std::string const& name) {
    database opened{name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
    opened.run("PRAGMA journal_mode = OFF");
    opened.run("PRAGMA synchronous = OFF");
    opened.run("PRAGMA locking_mode = EXCLUSIVE");
    return opened;
  }

  void run(std::string const& sql) {
    if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw database_error(sqlite3_errmsg(connection_.get()));
    }
  }

  /// `about` is what errors begin with.
  statement prepare(std::string const& sql, std::string about) {
    statement made{connection_.get(), sql, std::move(about)};
    made.limit_rows(most_rows_);
    return made;
  }

  std::uint64_t most_rows() const noexcept { return most_rows_; }

 private:
  struct close {
    void operator()(sqlite3* of) const noexcept { sqlite3_close_v2(of); }
  };
  static constexpr int steps_at_once = 1000;

  database(std::string const& name, int flags) {
    sqlite3* opened = nullptr;
    auto const code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    connection_.reset(opened);
    if (code != SQLITE_OK) {
      throw database_error(opened == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(opened));
    }
  }

  static std::string uri(std::filesystem::path const& path) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result = "file://";
    for (auto const c : std::filesystem::absolute(path).string()) {
      auto const byte = static_cast<unsigned char>(c);
      if (byte > 0x7f || std::string_view{"?#% "}.find(c) != std::string_view::npos) {
        result += {'%', digits[byte >> 4U], digits[byte & 15U]};
      } else {
        result += c;
      }
    }
    return result + "?mode=ro&immutable=1";
  }

  std::unique_ptr<std::int64_t> steps_left_ = std::make_unique<std::int64_t>(0);
  std::unique_ptr<sqlite3, close> connection_;
  std::uint64_t most_rows_ = ~std::uint64_t{0};
};

}  // namespace assay::trace
