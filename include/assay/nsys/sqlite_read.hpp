// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reading nsys' SQLite exports, and the same files as assay writes them; needs SQLite 3.
#pragma once

#include <assay/nsys/sqlite_about.hpp>
#include <assay/nsys/sqlite_ranges.hpp>
#include <assay/nsys/sqlite_rows.hpp>
#include <assay/nsys/sqlite_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// Reads what host threads did, and what was sampled.
class host_reader {
 public:
  explicit host_reader(export_rows& in) : in_(in) {}

  void read() {
    read_calls();
    read_memory();
    read_overheads();
    read_counters();
    read_threads();
  }

 private:
  void read_calls() {
    std::vector<std::int64_t> order;
    read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", order);
    auto const middle = order.size();
    read_calls("OSRT_API", order);
    if (!in_.ours || middle == 0 || middle == order.size()) { return; }
    // The rows of the two tables were one, and are numbered as they stood there.
    std::vector<api_call> merged;
    merged.reserve(in_.into.calls.size());
    for (std::size_t a = 0, b = middle; a < middle || b < order.size();) {
      auto const first = b == order.size() || (a < middle && order[a] < order[b]);
      merged.push_back(in_.into.calls[first ? a++ : b++]);
    }
    in_.into.calls = std::move(merged);
  }
  void read_calls(char const* table, std::vector<std::int64_t>& order) {
    auto row = in_.tables.select(table, {"start", "end", "eventClass", "globalTid", "correlationId",
                                         "nameId", "returnValue", in_.ours ? "rowid" : "none"});
    if (!row) { return; }
    in_.tables.reserve(table, in_.into.calls);
    auto const of_system = std::string_view{table} == "OSRT_API";
    while (row->step()) {
      api_call call;
      if (!in_.next_when(*row, call.when)) { continue; }
      auto const unclassed = row->null();
      auto const what = row->integer();
      // The table also tells when the recording of these calls began, as rows of another class.
      if (of_system && !unclassed && what != nsys::os_class) { continue; }
      call.thread = nsys::unpack(row->integer());
      call.correlation = row->number<std::uint32_t>();
      call.name = in_.names.next(*row);
      call.result = row->number<std::int32_t>();
      call.layer = of_system ? api::os : api::driver;
      auto const unsure = unclassed || (what != nsys::runtime_class && what != nsys::driver_class);
      if (!of_system && (unsure ? in_.into.strings[call.name].starts_with("cuda")
                                : what == nsys::runtime_class)) {
        call.layer = api::runtime;
      }
      in_.into.calls.push_back(call);
      if (in_.ours) { order.push_back(row->integer()); }
    }
  }

  void read_memory() {
    auto row = in_.tables.select(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        {"start", "deviceId", "contextId", "greenContextId", "streamId", "correlationId",
         "globalPid", "graphNodeId", "globalTid", "memoryOperationType", "memKind", "address",
         "bytes", "localMemoryPoolAddress", "localMemoryPoolUtilizedSize", "localMemoryPoolSize"});
    while (row && row->step()) {
      memory_event event;
      span when;
      when.begin = when.end = row->integer();
      if (!in_.place(when)) { continue; }
      event.at = when.begin;
      event.where = in_.next_place(*row);
      event.thread = nsys::unpack(row->integer());
      if (event.where.process == 0) { event.where.process = event.thread.process; }
      event.operation = in_.next_of(*row, memory_operation::release, memory_operation::allocate);
      event.kind = in_.next_kind(*row);
      event.address = row->number<std::uint64_t>();
      event.bytes = in_.next_bytes(*row);
      event.pool = row->number<std::uint64_t>();
      event.pool_used_bytes = row->number<std::uint64_t>();
      event.pool_reserved_bytes = row->number<std::uint64_t>();
      in_.into.memory.push_back(event);
    }
  }

  void read_overheads() {
    for (auto const* table : {"CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"}) {
      auto row = in_.tables.select(table, {"start", "end", "globalTid", "correlationId", "nameId"});
      while (row && row->step()) {
        overhead cost;
        if (!in_.next_when(*row, cost.when)) { continue; }
        cost.thread = nsys::unpack(row->integer());
        cost.correlation = row->number<std::uint32_t>();
        cost.name = in_.names.next(*row);
        in_.into.overheads.push_back(cost);
      }
    }
  }

  void read_counters() {
    auto row = in_.tables.select("ASSAY_COUNTERS", {"timestamp", "deviceId", "nameId", "value"});
    while (row && row->step()) {
      counter_sample sample;
      span when;
      when.begin = when.end = row->integer();
      if (!in_.place(when)) { continue; }
      sample.at = when.begin;
      sample.device = row->number<std::int32_t>();
      sample.name = in_.names.next(*row);
      auto const absent = row->null();
      sample.value = row->real();
      if (absent) { sample.value = std::numeric_limits<double>::quiet_NaN(); }
      in_.into.counters.push_back(sample);
    }
  }

  void read_threads() {
    auto row = in_.tables.select("ThreadNames", {"globalTid", "nameId"});
    while (row && row->step()) {
      auto const thread = nsys::unpack(row->integer());
      in_.into.threads.push_back({thread, in_.names.next(*row)});
    }
  }

  export_rows& in_;
};

/// The trace in a SQLite export of nsys, of any schema version, or in a file of `write_nsys`.
/// Nothing is written, nor beside it. Tables and columns that are missing leave their part of the
/// model empty; bytes in names that are not UTF-8 become U+FFFD; rows without a time or with an
/// impossible one are left out and counted. Throws `read_error` with the path and the reason for
/// what is missing, no such file, truncated, corrupted, or beyond `limits`.
inline model read_nsys(std::filesystem::path const& path, read_limits const& limits = {}) {
  try {
    export_rows in{path, limits};
    about_reader about{in};
    about.read();
    work_reader{in}.read();
    host_reader{in}.read();
    range_reader ranges{in};
    ranges.read();
    about.finish();
    ranges.close();
    return std::move(in.into);
  } catch (database_error const& error) { throw read_error(path, error.what()); }
}

}  // namespace assay::trace
