// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing a trace as a SQLite file in nsys' schema; needs SQLite 3.
#pragma once

#include <assay/core/file.hpp>
#include <assay/nsys/schema.hpp>
#include <assay/nsys/sqlite_database.hpp>
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

namespace assay::trace {

/// Fills an empty SQLite file with a model.
class nsys_writer {
 public:
  nsys_writer(std::string const& file, model const& from)
      : file_(database::fill(file)), from_(from) {}

  void write() {
    file_.run("BEGIN");
    file_.run(std::string{nsys::tables});
    write_about();
    write_enumerations();
    write_names();
    write_devices();
    write_kernels();
    write_other_work();
    write_calls();
    write_ranges();
    write_rest();
    file_.run("COMMIT");
  }

 private:
  /// `INSERT INTO TABLE (COLUMNS) VALUES (?, ...)`
  statement into(std::string const& table, std::string const& columns) {
    std::string places = "?";
    for (auto const c : columns) { places += c == ',' ? ", ?" : ""; }
    return file_.prepare("INSERT INTO " + table + " (" + columns + ") VALUES (" + places + ")",
                         "table " + table);
  }

  std::string_view text(string_id number) const { return from_.strings[number]; }

  // What the model tells by 0 is NULL in the schema.
  template <class T>
  static std::optional<T> unless_zero(T value) {
    return value == T{} ? std::nullopt : std::optional<T>{value};
  }
  static std::optional<std::int64_t> process(std::uint32_t number) {
    return number == 0 ? std::nullopt : std::optional{nsys::pack({number, 0})};
  }
  static std::optional<std::int64_t> thread(thread_key const& key) {
    return key == thread_key{} ? std::nullopt : std::optional{nsys::pack(key)};
  }

  static constexpr auto place_columns =
      "start, end, deviceId, contextId, greenContextId, streamId, correlationId, globalPid, "
      "graphNodeId";
  template <class Row, class... Values>
  static void insert_placed(statement& to, Row const& row, Values const&... values) {
    auto const& at = row.where;
    to.insert(row.when.begin, row.when.end, at.device, at.context, unless_zero(at.green_context),
              at.stream, unless_zero(at.correlation), process(at.process),
              unless_zero(at.graph_node), values...);
  }

  void write_about() {
    auto meta = into("META_DATA_EXPORT", "name, value");
    meta.insert(std::string_view{"EXPORT_PRODUCT_NAME"}, std::string_view{"assay"});
    meta.insert(std::string_view{"EXPORT_PRODUCT_VERSION"}, std::string_view{version});
    meta.insert(std::string_view{"EXPORT_SCHEMA_VERSION"}, nsys::schema_version);
    auto trace = into("ASSAY_TRACE", "name, value");
    auto const value = [&](std::string_view name, auto const& what) { trace.insert(name, what); };
    value("source", std::string_view{from_.source});
    value("window_begin", from_.window.begin);
    value("window_end", from_.window.end);
    value("dropped", from_.lost.dropped);
    value("zero_stamped", from_.lost.zero_stamped);
    value("out_of_window", from_.lost.out_of_window);
    value("unmatched", from_.lost.unmatched);
    value("unnamed", from_.lost.unnamed);
    auto notes = into("ASSAY_NOTES", "name, value");
    for (auto const& [name, note] : from_.notes) {
      notes.insert(std::string_view{name}, std::string_view{note});
    }
    into("ANALYSIS_DETAILS", "globalVid, duration, startTime, stopTime")
        .insert(std::int64_t{1} << 48U, from_.window.length(), from_.window.begin,
                from_.window.end);
    if (from_.epoch_ns == 0) { return; }
    auto const seconds = static_cast<std::time_t>(from_.epoch_ns / 1'000'000'000);
    std::tm parts{};
    std::string utc(20, '\0');
    ::gmtime_r(&seconds, &parts);
    utc.resize(std::strftime(utc.data(), utc.size(), "%Y-%m-%dT%H:%M:%S", &parts));
    into("TARGET_INFO_SESSION_START_TIME", "utcEpochNs, utcTime")
        .insert(from_.epoch_ns, std::string_view{utc});
  }

  void write_enumerations() {
    for (auto const& each : nsys::enumerators) {
      into(std::string{each.table}, "id, name, label").insert(each.id, each.name, each.label);
    }
    auto types = into("ENUM_NSYS_EVENT_TYPE", "id, name, label");
    for (auto const& type : nsys::event_types) { types.insert(type.id, type.name, type.name); }
  }

  void write_names() {
    auto strings = into("StringIds", "id, value");
    for (std::size_t i = 0; i < from_.strings.size(); ++i) {
      auto const number = static_cast<string_id>(i);
      strings.insert(number, text(number));
    }
    auto threads = into("ThreadNames", "nameId, globalTid");
    for (auto const& each : from_.threads) { threads.insert(each.name, thread(each.thread)); }
  }

  void write_devices() {
    auto gpus = into("TARGET_INFO_GPU",
                     "vmId, id, cuDevice, name, l2CacheSize, totalMemory, memoryBandwidth, "
                     "clockRate, smCount, maxShmemPerSm, maxRegistersPerSm, threadsPerWarp, "
                     "maxWarpsPerSm, maxThreadsPerBlock, computeMajor, computeMinor, "
                     "assayMaxThreadsPerSm");
    for (auto const& each : from_.devices) {
      auto const warps = each.warp_size == 0 ? 0 : each.max_threads_per_sm / each.warp_size;
      gpus.insert(std::int64_t{1} << 48U, each.id, each.id, std::string_view{each.name},
                  each.l2_bytes, each.memory_bytes, each.memory_bytes_per_second, each.clock_hertz,
                  each.sm_count, each.shared_bytes_per_sm, each.registers_per_sm, each.warp_size,
                  warps, each.max_threads_per_block, each.compute_major, each.compute_minor,
                  each.max_threads_per_sm);
    }
  }

  void write_kernels() {
    auto rows = into("CUPTI_ACTIVITY_KIND_KERNEL",
                     std::string{place_columns} +
                         ", demangledName, shortName, mangledName, registersPerThread, gridX, "
                         "gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, "
                         "dynamicSharedMemory, localMemoryPerThread, graphId, clusterX, clusterY, "
                         "clusterZ, name");
    for (auto const& run : from_.kernels) {
      insert_placed(rows, run, run.name, run.short_name, unless_zero(run.mangled_name),
                    run.registers_per_thread, run.grid[0], run.grid[1], run.grid[2], run.block[0],
                    run.block[1], run.block[2], run.static_shared_bytes, run.dynamic_shared_bytes,
                    run.local_bytes_per_thread, unless_zero(run.graph), run.cluster[0],
                    run.cluster[1], run.cluster[2], text(run.name));
    }
  }

  void write_other_work() {
    std::string const place = place_columns;
    auto const number = [](auto value) { return static_cast<std::uint32_t>(value); };
    auto const device = [](std::int32_t id) { return id == -1 ? std::nullopt : std::optional{id}; };
    auto copies = into("CUPTI_ACTIVITY_KIND_MEMCPY",
                       place + ", bytes, copyKind, srcKind, dstKind, srcDeviceId, dstDeviceId");
    for (auto const& each : from_.copies) {
      insert_placed(copies, each, each.bytes, number(each.kind), number(each.from), number(each.to),
                    device(each.from_device), device(each.to_device));
    }
    auto sets = into("CUPTI_ACTIVITY_KIND_MEMSET", place + ", bytes, value, memKind");
    for (auto const& each : from_.sets) {
      insert_placed(sets, each, each.bytes, each.value, number(each.kind));
    }
    auto graphs = into("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", place + ", graphId, graphExecId");
    for (auto const& each : from_.graph_launches) {
      insert_placed(graphs, each, each.graph, each.executable);
    }
    auto waits = into("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", place + ", syncType, eventId");
    for (auto const& each : from_.synchronizations) {
      insert_placed(waits, each, number(each.kind), each.event);
    }
  }

  // nsys keeps calls of the system apart; the rows' numbers keep the order of all.
  void write_calls() {
    auto const columns =
        "rowid, start, end, eventClass, globalTid, correlationId, nameId, returnValue";
    auto cuda = into("CUPTI_ACTIVITY_KIND_RUNTIME", columns);
    auto system = into("OSRT_API", columns);
    std::int64_t row = 0;
    for (auto const& call : from_.calls) {
      auto const what = call.layer == api::runtime  ? nsys::runtime_class
                        : call.layer == api::driver ? nsys::driver_class
                                                    : nsys::os_class;
      auto& to = call.layer == api::os ? system : cuda;
      to.insert(++row, call.when.begin, call.when.end, what, thread(call.thread),
                unless_zero(call.correlation), call.name, call.result);
    }
  }

  void write_ranges() {
    auto rows = into("NVTX_EVENTS",
                     "start, end, eventType, globalTid, endGlobalTid, domainId, textId, text, "
                     "category, color, uint64Value, eventId");
    std::int64_t event = 0;
    std::map<string_id, std::int64_t> domains{{0, 0}};
    for (auto const& range : from_.ranges) {
      auto const [domain, fresh] =
          domains.emplace(range.domain, static_cast<std::int64_t>(domains.size()));
      if (fresh) {
        rows.insert(range.when.begin, nullptr, nsys::domain_type, nullptr, nullptr, domain->second,
                    range.domain, text(range.domain), nullptr, nullptr, nullptr, ++event);
      }
      auto const type = range.style == range_style::mark       ? nsys::mark_type
                        : range.style == range_style::push_pop ? nsys::push_pop_type
                                                               : nsys::start_end_type;
      auto const ends = range.ended && range.style != range_style::mark;
      rows.insert(range.when.begin, ends ? std::optional{range.when.end} : std::nullopt, type,
                  thread(range.thread),
                  range.end_thread == range.thread ? std::nullopt
                                                   : std::optional{nsys::pack(range.end_thread)},
                  domain->second, range.name, text(range.name), unless_zero(range.category),
                  unless_zero(range.argb), unless_zero(range.payload), ++event);
    }
  }

  void write_rest() {
    auto events = into("CUDA_GPU_MEMORY_USAGE_EVENTS",
                       "start, deviceId, contextId, greenContextId, streamId, correlationId, "
                       "globalPid, graphNodeId, globalTid, memoryOperationType, memKind, address, "
                       "bytes, localMemoryPoolAddress, localMemoryPoolUtilizedSize, "
                       "localMemoryPoolSize");
    for (auto const& each : from_.memory) {
      auto const& at = each.where;
      events.insert(each.at, at.device, at.context, unless_zero(at.green_context), at.stream,
                    unless_zero(at.correlation), process(at.process), unless_zero(at.graph_node),
                    thread(each.thread), static_cast<std::uint32_t>(each.operation),
                    static_cast<std::uint32_t>(each.kind), each.address, each.bytes,
                    unless_zero(each.pool), unless_zero(each.pool_used_bytes),
                    unless_zero(each.pool_reserved_bytes));
    }
    auto costs = into("CUPTI_ACTIVITY_KIND_OVERHEAD",
                      "start, end, eventClass, globalTid, correlationId, nameId, overheadType");
    for (auto const& each : from_.overheads) {
      costs.insert(each.when.begin, each.when.end, nsys::overhead_class, thread(each.thread),
                   unless_zero(each.correlation), each.name, 0);
    }
    auto samples = into("ASSAY_COUNTERS", "timestamp, deviceId, nameId, value");
    for (auto const& each : from_.counters) {
      samples.insert(each.at, each.device, each.name, each.value);
    }
  }

  database file_;
  model const& from_;
};

/// Writes a trace as a SQLite file in the schema of nsys' exports, whole or not at all; `read_nsys`
/// gives the same model back. Kernels have their names in words too, in the column `name`. Throws
/// `file_error`, and `std::invalid_argument` for threads that the schema has no room for.
inline void write_nsys(model const& trace, std::filesystem::path const& path) {
  new_file file{path};
  if (file.in_place()) { throw file_error(path, "a database needs a regular file"); }
  try {
    nsys_writer{file.name(), trace}.write();
  } catch (database_error const& error) { throw file_error(path, error.what()); }
  file.commit();
}

}  // namespace assay::trace
