// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to sqlite_write.hpp: the definition of its function.
#pragma once

#include <assay/core/atomic_file.hpp>
#include <assay/core/concat.hpp>
#include <assay/nsys/columns.hpp>
#include <assay/nsys/schema.hpp>
#include <assay/nsys/sqlite_database.hpp>
#include <assay/nsys/sqlite_write.hpp>
#include <assay/trace/model.hpp>
#include <assay/version.hpp>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay::trace {

/// Binds one row, column by column as `nsys::columns` visits them.
class row_writer {
 public:
  row_writer(statement& to, model const& from) : to_(to), from_(from) {}

  void moment(std::string_view, std::int64_t at) { to_.bind(at); }
  template <class T>
  void integer(std::string_view, T value) {
    to_.bind(value);
  }
  void bytes(std::string_view, std::uint64_t value) { to_.bind(value); }
  void text(std::string_view, std::string const& value) { to_.bind(value); }
  void kind(std::string_view, auto value, auto) { to_.bind(static_cast<std::uint32_t>(value)); }
  void name(std::string_view, string_id value) { to_.bind(value); }
  template <class T>
  void optional(std::string_view, T const& value, std::type_identity_t<T> absent = {}) {
    value == absent ? to_.bind(std::nullopt) : to_.bind(value);
  }
  template <class T>
  void optional(std::string_view, std::optional<T> const& value) {
    value ? to_.bind(*value) : to_.bind(std::nullopt);
  }
  void optional_name(std::string_view column, string_id value) { optional(column, value); }
  void label(std::string_view, std::string_view, string_id value) {
    to_.bind(value);
    to_.bind(from_.strings[value]);
  }
  void words(std::string_view, string_id value) { to_.bind(from_.strings[value]); }
  void process(std::string_view column, std::uint32_t value) { thread(column, {value, 0}); }
  void thread(std::string_view, thread_key const& key) {
    key == thread_key{} ? to_.bind(std::nullopt) : to_.bind(nsys::pack(key));
  }
  void call_class(std::string_view, api layer) {
    to_.bind(layer == api::runtime  ? nsys::runtime_class
             : layer == api::driver ? nsys::driver_class
                                    : nsys::os_class);
  }
  void payload(std::uint64_t value) { optional({}, value); }
  void extended_payload(std::string_view, std::string_view, std::uint64_t) {}
  void constant(std::string_view, std::int64_t value) { to_.bind(value); }
  void unused(std::string_view) {}

 private:
  statement& to_;
  model const& from_;
};

/// Fills an empty SQLite file with a model.
class nsys_writer {
 public:
  nsys_writer(std::string const& file, model const& from)
      : file_(database::fill(file)), from_(from) {}

  void write() {
    file_.run("BEGIN");
    write_about();
    write_enumerations();
    auto strings = create("StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL");
    for (std::size_t i = 0; i < from_.strings.size(); ++i) {
      auto const number = static_cast<string_id>(i);
      strings.insert(number, from_.strings[number]);
    }
    auto gpus = create<nsys::gpu_row>("TARGET_INFO_GPU");
    for (auto const& each : from_.devices) {
      auto const warps = each.warp_size == 0 ? 0 : each.max_threads_per_sm / each.warp_size;
      insert(gpus, nsys::gpu_row{each, each.id, each.id, warps, each.max_threads_per_sm});
    }
    nsys::each_table(from_, [&]<class Row>(std::string const& table, std::vector<Row> const& rows) {
      auto to = create<Row>(table);
      for (auto const& each : rows) { insert(to, each); }
    });
    auto cuda = create<api_call>("CUPTI_ACTIVITY_KIND_RUNTIME");
    auto system = create<api_call>("OSRT_API");
    for (auto const& call : from_.calls) { insert(call.layer == api::os ? system : cuda, call); }
    write_ranges();
    file_.run("COMMIT");
  }

 private:
  /// Makes a table, and the statement that fills all columns of the table.
  statement create(std::string const& table, std::string const& columns) {
    file_.run(concat({"CREATE TABLE ", table, " (", columns, ")"}));
    std::string places = "?";
    for (auto const c : columns) { places += c == ',' ? ", ?" : ""; }
    return file_.prepare(concat({"INSERT INTO ", table, " VALUES (", places, ")"}),
                         "table " + table);
  }
  template <class Row>
  statement create(std::string const& table) {
    auto const all = nsys::columns_of<Row>();
    file_.run(concat({"CREATE TABLE ", table, " (", all.declared, ")"}));
    return file_.prepare(
        concat({"INSERT INTO ", table, " (", all.written, ") VALUES (", all.places, ")"}),
        "table " + table);
  }

  template <class Row>
  void insert(statement& to, Row const& row) {
    row_writer writer{to, from_};
    nsys::columns(writer, row);
    to.insert();
  }

  void write_about() {
    auto meta = create("META_DATA_EXPORT", "name TEXT NOT NULL, value TEXT");
    meta.insert("EXPORT_PRODUCT_NAME", "assay");
    meta.insert("EXPORT_PRODUCT_VERSION", std::string_view{version});
    meta.insert("EXPORT_SCHEMA_VERSION", nsys::schema_version);
    auto trace = create("ASSAY_TRACE", "name TEXT NOT NULL, value");
    trace.insert("source", from_.source);
    trace.insert("window_begin", from_.window.begin);
    trace.insert("window_end", from_.window.end);
    nsys::each_loss(from_.lost, [&](auto const& name, auto count) { trace.insert(name, count); });
    auto notes = create("ASSAY_NOTES", "name TEXT NOT NULL, value TEXT NOT NULL");
    for (auto const& [name, note] : from_.notes) { notes.insert(name, note); }
    create("ANALYSIS_DETAILS",
           "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, "
           "stopTime INTEGER NOT NULL")
        .insert(nsys::virtual_machine, from_.window.length(), from_.window.begin, from_.window.end);
    create("TARGET_INFO_SYSTEM_ENV", "name TEXT NOT NULL, value TEXT NOT NULL")
        .insert("Hostname", from_.host);
    auto start = create("TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT");
    if (from_.epoch_ns == 0) { return; }
    auto const seconds = static_cast<std::time_t>(from_.epoch_ns / 1'000'000'000);
    std::tm parts{};
    std::string utc(20, '\0');
    ::gmtime_r(&seconds, &parts);
    utc.resize(std::strftime(utc.data(), utc.size(), "%Y-%m-%dT%H:%M:%S", &parts));
    start.insert(from_.epoch_ns, utc);
  }

  void write_enumerations() {
    std::string const columns = "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT";
    nsys::each_enumeration([&](std::string const& table, std::string const& prefix,
                               auto const& names, auto const& label) {
      auto to = create(table, columns);
      for (std::size_t i = 0; i < names.size(); ++i) {
        to.insert(static_cast<std::int64_t>(i), prefix + std::string{names[i]}, label(i));
      }
    });
    auto types = create("ENUM_NSYS_EVENT_TYPE", columns);
    for (auto const& each : nsys::event_types) { types.insert(each.id, each.name, each.name); }
  }

  void write_ranges() {
    auto to = create<nsys::nvtx_event>("NVTX_EVENTS");
    std::int64_t number = 0;
    std::map<string_id, std::int64_t> domains{{0, 0}};
    for (auto const& range : from_.ranges) {
      auto const [domain, fresh] =
          domains.emplace(range.domain, static_cast<std::int64_t>(domains.size()));
      nsys::nvtx_event event;
      event.begin = range.when.begin;
      event.domain = domain->second;
      if (fresh) {
        event.type = nsys::domain_type;
        event.name = range.domain;
        event.number = ++number;
        insert(to, event);
      }
      auto const mark = range.style == range_style::mark;
      event.type = mark                                   ? nsys::mark_type
                   : range.style == range_style::push_pop ? nsys::push_pop_type
                                                          : nsys::start_end_type;
      if (range.ended && !mark) { event.end = range.when.end; }
      if (range.end_thread != range.thread) { event.end_thread = nsys::pack(range.end_thread); }
      event.thread = range.thread;
      event.name = range.name;
      event.category = range.category;
      event.argb = range.argb;
      event.payload = range.payload;
      event.number = ++number;
      insert(to, event);
    }
  }

  database file_;
  model const& from_;
};

ASSAY_INLINE void write_nsys(model const& trace, std::filesystem::path const& path) {
  atomic_file file{path};
  if (file.in_place()) { throw file_error(path, "a database needs a regular file"); }
  try {
    nsys_writer{file.name(), trace}.write();
  } catch (database_error const& error) { throw file_error(path, error.what()); }
  file.commit();
}

}  // namespace assay::trace
