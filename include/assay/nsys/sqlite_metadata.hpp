// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to nsys. The origin, the names and the time window of an export.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/utf8.hpp>
#include <assay/nsys/columns.hpp>
#include <assay/nsys/sqlite_devices.hpp>
#include <assay/nsys/sqlite_rows.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/overlap.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::trace {

/// Reads all tables but the tables of events: `read` before the events, `finish` after the events.
class metadata_reader {
 public:
  explicit metadata_reader(open_export& in) : in_(in), devices_(in) {}

  void read() {
    require_export();
    read_origin();
    if (auto row = in_.tables.select("StringIds", {"id", "value"})) {
      while (row->step()) {
        auto const id = row->integer();
        in_.names[id] = in_.intern(row->text());
      }
    }
    devices_.read();
  }

  void finish() {
    if (in_.ours) { return read_own(); }
    note_newer_tables();
    devices_.renumber();
    read_window();
    call_index const calls{in_.into};
    each_device_table(in_.into, [&]<class Row>(std::vector<Row> const& rows) {
      for (auto const& each : rows) {
        if constexpr (std::is_same_v<Row, memory_copy>) {  // no call asks for a page to migrate
          if (direction_of(each.kind) == copy_direction::migration) { continue; }
        }
        in_.into.lost.unmatched += calls.find(each.where) == no_row ? 1U : 0U;
      }
    });
  }

 private:
  // Every export has one of these tables, however little was traced.
  void require_export() {
    if (in_.tables.empty()) { throw database_error("it has no tables"); }
    for (auto const* table : {"StringIds", "META_DATA_EXPORT", "CUPTI_ACTIVITY_KIND_KERNEL",
                              "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "OSRT_API"}) {
      if (in_.tables.has(table)) { return; }
    }
    throw database_error("it is no export of nsys: no StringIds, no META_DATA_EXPORT, no events");
  }

  void read_origin() {
    std::string product = "an export of nsys";
    std::string version;
    std::string schema;
    auto absolute = false;
    if (auto row = in_.tables.select("META_DATA_EXPORT", {"name", "value"})) {
      while (row->step()) {
        std::string const name{row->text()};
        auto const value = repaired_utf8(row->text());
        if (name == "EXPORT_PRODUCT_NAME") { product = value; }
        if (name == "EXPORT_PRODUCT_VERSION") { version = " " + value; }
        if (name == "EXPORT_SCHEMA_VERSION") { schema = ", schema " + value; }
        if (name == "EXPORT_PARAM_TIME_NORMALIZE") { absolute = value == "true"; }
      }
    }
    in_.ours = product == "assay" && in_.tables.has("ASSAY_TRACE");
    in_.into.source = product + version + schema;
    if (auto row = in_.tables.select("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
        row && row->step()) {
      in_.into.epoch_ns = row->integer();
    }
    auto about = in_.tables.select("TARGET_INFO_SYSTEM_ENV", {"name", "value"});
    while (about && about->step()) {
      if (about->text() == "Hostname") { in_.into.host = repaired_utf8(about->text()); }
    }
    // On request, nsys counts time from 1970 and not from the start of the session.
    if (absolute) { in_.shift = in_.into.epoch_ns; }
    if (auto row = in_.tables.select("ASSAY_NOTES", {"name", "value"})) {
      while (row->step()) {
        auto name = repaired_utf8(row->text());
        in_.into.notes.emplace_back(std::move(name), repaired_utf8(row->text()));
      }
    }
  }

  // A schema of the future may have `_V2` of a table, which would read as a trace without data.
  void note_newer_tables() {
    auto const note = [&](std::string const& known, auto const&) {
      for (auto const& table : in_.tables.like(known)) {
        in_.into.notes.emplace_back("table " + table,
                                    concat({"not read, since only ", known, " is known"}));
      }
    };
    nsys::each_table(in_.into, note);
    for (auto const* known : {"CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API", "NVTX_EVENTS", "StringIds",
                              "PROFILER_OVERHEAD"}) {
      note(known, 0);
    }
  }

  // The table in which assay keeps the members of a model that the schema has no place for.
  void read_own() {
    auto& lost = in_.into.lost;
    auto row = in_.tables.select("ASSAY_TRACE", {"name", "value"});
    while (row && row->step()) {
      std::string const name{row->text()};
      if (name == "source") {
        in_.into.source = repaired_utf8(row->text());
        continue;
      }
      auto const value = row->integer();
      if (name == "window_begin") { in_.into.window.begin = value; }
      if (name == "window_end") { in_.into.window.end = value; }
      nsys::each_loss(lost, [&](auto const& known, std::uint64_t& count) {
        if (name == known) { count = static_cast<std::uint64_t>(value); }
      });
    }
  }

  void read_window() {
    span all{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    if (auto row = in_.tables.select("ANALYSIS_DETAILS", {"duration"}); row && row->step()) {
      all = {0, std::clamp<std::int64_t>(row->integer(), 0, open_export::longest)};
    }
    auto const widen = [&](auto const& rows) {
      for (auto const& each : rows) { all = around(all, each.when); }
    };
    each_device_table(in_.into, widen);
    widen(in_.into.synchronizations);
    widen(in_.into.calls);
    widen(in_.into.ranges);
    in_.into.window = all.begin <= all.end ? all : span{};
  }

  open_export& in_;
  device_reader devices_;
};

}  // namespace assay::trace
