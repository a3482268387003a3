// SPDX-License-Identifier: Apache-2.0
/// @file
/// SQLite files as the reader and the writer of traces use them; needs SQLite 3.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace assay::trace {

/// A refusal in the words of SQLite; readers and writers add the name of the file.
class database_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The size of a row, and so of a string, beyond which a file is refused.
inline constexpr int most_bytes_of_a_row = 1 << 26;

/// A prepared statement. Columns are read and parameters are bound from left to right.
class statement {
 public:
  /// The SQL function of `each_row`.
  static constexpr char const* row_function = "assay_row";

  /// `most_rows`: a file with more of them is corrupted.
  statement(sqlite3* in, std::string const& sql, std::string about, std::uint64_t most_rows)
      : about_(std::move(about)), rows_left_(most_rows) {
    sqlite3_stmt* made = nullptr;
    auto const code = sqlite3_prepare_v2(in, sql.c_str(), -1, &made, nullptr);
    prepared_.reset(made);
    if (code != SQLITE_OK) { throw database_error(concat({about_, ": ", sqlite3_errmsg(in)})); }
  }

  /// Goes to the next row; false at the end.
  bool step() {
    column_ = 0;
    auto const code = sqlite3_step(prepared_.get());
    if (code == SQLITE_DONE) { return false; }
    if (code != SQLITE_ROW) { throw database_error(concat({about_, ": ", reason(code)})); }
    count_row();
    return true;
  }

  /// Calls `use()` at each row of `SELECT assay_row(?, COLUMNS) FROM`, with the columns to be read.
  /// SQLite hands columns to a function in less time than a caller takes to fetch them, and least
  /// to an aggregate one, whose rows all come in one step.
  void each_row(std::function<void()> const& use) {
    receiver to{*this, use, {}};
    bound(sqlite3_bind_pointer(prepared_.get(), next(), &to, row_function, nullptr));
    try {
      (void)step();
    } catch (database_error const&) {
      if (to.failed != nullptr) { std::rethrow_exception(to.failed); }
      throw;
    }
    given_ = nullptr;
  }
  /// The body of `row_function`, for SQLite to call; `finish` is its end, without a value.
  static void finish(sqlite3_context*) noexcept {}
  static void receive(sqlite3_context* in, int, sqlite3_value** arguments) noexcept {
    auto* const to = static_cast<receiver*>(sqlite3_value_pointer(arguments[0], row_function));
    if (to == nullptr) { return; }
    to->row.given_ = arguments + 1;
    to->row.column_ = 0;
    try {
      to->row.count_row();
      to->use();
    } catch (...) {  // must not pass through SQLite
      to->failed = std::current_exception();
      sqlite3_result_error(in, "the reader of a row failed", -1);
    }
  }

  /// Columns; NULL and text without digits are 0.
  std::int64_t integer() { return sqlite3_value_int64(cell(column_++)); }
  double real() { return sqlite3_value_double(cell(column_++)); }
  int type() const { return sqlite3_value_type(cell(column_)); }
  /// Goes past the next column if that is NULL.
  bool skip_null() { return type() == SQLITE_NULL && ++column_ > 0; }
  void skip() { ++column_; }
  /// Valid until the next step. Numbers are given as their digits.
  std::string_view text() {
    auto const found = peek_text();
    skip();
    return found;
  }
  std::string_view peek_text() {
    auto const* bytes = sqlite3_value_blob(cell(column_));
    auto const size = static_cast<std::size_t>(sqlite3_value_bytes(cell(column_)));
    return bytes == nullptr ? std::string_view{}
                            : std::string_view{static_cast<char const*>(bytes), size};
  }
  /// A number, or a text that is the digits of one.
  std::optional<std::int64_t> whole() { return whole(type()); }
  std::optional<std::int64_t> whole(int type) {
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) { return integer(); }
    auto const digits = type == SQLITE_TEXT ? text() : (skip(), std::string_view{});
    std::int64_t number = 0;
    auto const* const end = digits.data() + digits.size();
    auto const [stop, error] = std::from_chars(digits.data(), end, number);
    if (digits.empty() || error != std::errc{} || stop != end) { return std::nullopt; }
    return number;
  }

  /// Binds the next parameters; texts are not copied. SQLite has signed integers only, so that the
  /// upper half of unsigned ones comes out negative.
  void bind(std::integral auto value) {
    bound(sqlite3_bind_int64(prepared_.get(), next(), static_cast<std::int64_t>(value)));
  }
  void bind(std::nullopt_t) { bound(sqlite3_bind_null(prepared_.get(), next())); }
  void bind(std::string_view value) {
    bound(sqlite3_bind_text64(prepared_.get(), next(), value.empty() ? "" : value.data(),
                              value.size(), SQLITE_STATIC, SQLITE_UTF8));
  }

  /// Runs an INSERT with the values that were bound.
  void insert() {
    (void)step();
    sqlite3_reset(prepared_.get());
    bound_ = 0;
  }
  template <class... Values>
  void insert(Values const&... values) {
    (bind(values), ...);
    insert();
  }

 private:
  struct receiver {
    statement& row;
    std::function<void()> const& use;
    std::exception_ptr failed;
  };
  // Values may be read since a connection, opened without a mutex, belongs to one thread.
  sqlite3_value* cell(int column) const {
    return given_ != nullptr ? given_[column] : sqlite3_column_value(prepared_.get(), column);
  }
  struct finalize {
    void operator()(sqlite3_stmt* of) const noexcept { sqlite3_finalize(of); }
  };
  int next() noexcept { return ++bound_; }
  void count_row() {
    if (rows_left_-- == 0) { throw database_error(about_ + ": more rows than the file can hold"); }
  }
  std::string reason(int code) const {
    if (code == SQLITE_TOOBIG) { return "a row is larger than the limit"; }
    if (code == SQLITE_INTERRUPT) { return "more to do than its size allows: it is corrupted"; }
    return sqlite3_errmsg(sqlite3_db_handle(prepared_.get()));
  }
  void bound(int code) {
    if (code != SQLITE_OK) { throw database_error(concat({about_, ": ", reason(code)})); }
  }

  std::unique_ptr<sqlite3_stmt, finalize> prepared_;
  std::string about_;
  std::uint64_t rows_left_;
  sqlite3_value** given_ = nullptr;  ///< the columns of a row of `each_row`
  int column_ = 0;
  int bound_ = 0;
};

namespace detail {

/// Refuses a file that SQLite would read in part only: a file cut off within a page, and a file
/// with changes in a log beside it. SQLite ignores such a log in a file opened as immutable.
inline void require_whole_database(std::filesystem::path const& path, std::uint64_t bytes) {
  std::array<char, 100> head{};
  std::ifstream{path, std::ios::binary}.read(head.data(), head.size());
  auto const number = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + size; ++i) {
      value = value << 8U | static_cast<unsigned char>(head[i]);
    }
    return value;
  };
  constexpr std::string_view magic{"SQLite format 3", 16};
  if (bytes > 0 && std::string_view{head.data(), magic.size()} != magic) {
    throw database_error(std::string{head[0] == '{' ? "it is JSON, not an export of nsys"
                                                    : "file is not a database"} +
                         "; `nsys export --type sqlite REPORT.nsys-rep` makes an export");
  }
  auto const page = number(16, 2) == 1 ? 65536 : number(16, 2);
  auto const pages = number(24, 4) == number(92, 4) ? number(28, 4) : 0;
  auto const wanted =
      pages > 0 ? pages * page : (bytes + page - 1) / std::max<std::uint64_t>(page, 1) * page;
  if (page >= 512 && bytes < wanted) {
    throw database_error(concat(
        {"it is cut off: it has ", std::to_string(bytes), " bytes of ", std::to_string(wanted)}));
  }
  auto const real = std::filesystem::canonical(path).string();
  auto const refuse = [](std::string const& beside) {
    throw database_error(concat({"changes to it are in ", beside,
                                 ": let sqlite3 open the file once, or export the trace anew"}));
  };
  std::error_code none;
  auto const size = std::filesystem::file_size(real + "-wal", none);
  if (!none && size > 0) { refuse(real + "-wal"); }
  // A journal that is done with has no magic number, or no bytes.
  std::array<char, 8> journal{};
  std::ifstream{real + "-journal", std::ios::binary}.read(journal.data(), journal.size());
  if (std::string_view{journal.data(), 8} == "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") {
    refuse(real + "-journal");
  }
}

}  // namespace detail

/// An open SQLite file.
class database {
 public:
  /// Opens an existing file, never writes to it or beside it, and refuses a file that would take
  /// long or much memory to read. Throws `read_error` unless the path names a regular file.
  static database open(std::filesystem::path const& path) {
    auto const bytes = require_readable(path);
    detail::require_whole_database(path, bytes);
    database opened{uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
    auto* const connection = opened.connection_.get();
    // Views, triggers and functions in the files of others do not run.
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, most_bytes_of_a_row);
    // A row takes more than four bytes, and fewer than 200 steps of SQLite's machine to read. A
    // tree of pages that points into itself would take steps without end.
    opened.most_rows_ = bytes / 4;
    *opened.steps_left_ = static_cast<std::int64_t>((1'000'000 + bytes * 16) / steps_at_once);
    sqlite3_progress_handler(
        connection, steps_at_once,
        [](void* left) { return --*static_cast<std::int64_t*>(left) < 0 ? 1 : 0; },
        opened.steps_left_.get());
    opened.run("PRAGMA cell_size_check = ON");
    sqlite3_create_function_v2(connection, statement::row_function, -1,
                               SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr, nullptr,
                               &statement::receive, &statement::finish, nullptr);
    return opened;
  }

  /// Opens an empty file to be filled at once, with no journal: a crash leaves a broken file.
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

  /// Errors begin with `about`.
  statement prepare(std::string const& sql, std::string about) {
    return {connection_.get(), sql, std::move(about), most_rows_};
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
