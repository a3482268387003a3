// SPDX-License-Identifier: Apache-2.0
/// @file
/// `columns`: the columns of each table and the members of a row that they hold, described once
/// for reading and writing.
///
/// A description calls its visitor once for each column, by the kind of the column. Visitors
/// declare a table, list its columns, read a row or write a row. The readers take any schema: a
/// column that an export lacks reads as NULL, and NULL leaves the member as it is. A comment marks
/// columns that schema 3.16 (nsys 2024.6) does not have.
///
/// - `moment`: a time. Readers leave out rows without one.
/// - `integer`, `bytes`, `kind`, `text`: the member as it is.
/// - `optional`: NULL for the value `absent`, which is zero by default.
/// - `name`, `optional_name`: the number of a name in StringIds.
/// - `label`: the number of a name, and the name in words.
/// - `process`, `thread`: `globalPid` and `globalTid`, NULL for zero.
/// - `call_class`: the API of a call.
/// - `payload`: a number of one of six types.
/// - `extended_payload`: JSON by number or in words, of which a communicator of NCCL is read.
/// - `words`, `constant`: written only.
/// - `unused`: neither read nor written.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/schema.hpp>
#include <assay/trace/model.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay::trace::nsys {

/// `Row` or `Row const`: a description takes a row to be read and a row to be written.
template <class T, class Row>
concept row_of = std::same_as<std::remove_const_t<T>, Row>;

/// A row of NVTX_EVENTS. Its ranges may be one row, or two that a reader matches.
struct nvtx_event {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;
  std::int64_t type = 0;
  std::int64_t range_id = 0;
  std::int64_t domain = 0;
  std::int64_t number = 0;                 ///< counts the events of a file from 1
  std::optional<std::int64_t> end_thread;  ///< packed; nothing: the same thread
  thread_key thread;
  string_id name = 0;
  std::uint32_t category = 0;
  std::uint32_t argb = 0;
  std::uint64_t payload = 0;
};

/// A row of TARGET_INFO_GPU. Exports number devices by `id` and, from 2021 on, as CUDA does.
struct gpu_row {
  device_description device;
  std::int64_t id = 0;
  std::optional<std::int32_t> cuda_id;
  std::uint32_t warps_per_sm = 0;
  std::optional<std::uint32_t> threads_per_sm;
};

inline void placed(auto& visit, auto& row) {
  auto& at = row.where;
  visit.integer("deviceId", at.device);
  visit.integer("contextId", at.context);
  visit.optional("greenContextId", at.green_context);
  visit.integer("streamId", at.stream);
  visit.optional("correlationId", at.correlation);
  visit.process("globalPid", at.process);
  visit.optional("graphNodeId", at.graph_node);
}

inline void timed(auto& visit, auto& row) {
  visit.moment("start", row.when.begin);
  visit.moment("end", row.when.end);
}

void columns(auto& visit, row_of<kernel_run> auto& run) {
  timed(visit, run);
  placed(visit, run);
  visit.name("demangledName", run.name);
  visit.name("shortName", run.short_name);
  visit.optional_name("mangledName", run.mangled_name);
  visit.integer("registersPerThread", run.registers_per_thread);
  visit.integer("gridX", run.grid[0]);
  visit.integer("gridY", run.grid[1]);
  visit.integer("gridZ", run.grid[2]);
  visit.integer("blockX", run.block[0]);
  visit.integer("blockY", run.block[1]);
  visit.integer("blockZ", run.block[2]);
  visit.integer("staticSharedMemory", run.static_shared_bytes);
  visit.integer("dynamicSharedMemory", run.dynamic_shared_bytes);
  visit.integer("localMemoryPerThread", run.local_bytes_per_thread);
  visit.optional("graphId", run.graph);        // after 3.16
  visit.optional("clusterX", run.cluster[0]);  // after 3.16
  visit.optional("clusterY", run.cluster[1]);
  visit.optional("clusterZ", run.cluster[2]);
  visit.words("name", run.name);  // only in files of assay: saves queries a join
}

void columns(auto& visit, row_of<memory_copy> auto& copy) {
  timed(visit, copy);
  placed(visit, copy);
  visit.bytes("bytes", copy.bytes);
  visit.kind("copyKind", copy.kind, copy_kind::unified_device_to_device);
  visit.kind("srcKind", copy.from, memory_kind::unknown);
  visit.kind("dstKind", copy.to, memory_kind::unknown);
  visit.optional("srcDeviceId", copy.from_device, -1);
  visit.optional("dstDeviceId", copy.to_device, -1);
  visit.optional("virtualAddress", copy.address);
}

void columns(auto& visit, row_of<memset_operation> auto& fill) {
  timed(visit, fill);
  placed(visit, fill);
  visit.integer("value", fill.value);
  visit.bytes("bytes", fill.bytes);
  visit.kind("memKind", fill.kind, memory_kind::unknown);
}

void columns(auto& visit, row_of<graph_launch> auto& launch) {
  timed(visit, launch);
  placed(visit, launch);
  visit.integer("graphId", launch.graph);
  visit.integer("graphExecId", launch.executable);
}

void columns(auto& visit, row_of<synchronization> auto& wait) {
  timed(visit, wait);
  placed(visit, wait);
  visit.kind("syncType", wait.kind, sync_kind::context);
  visit.integer("eventId", wait.event);
}

/// CUPTI_ACTIVITY_KIND_RUNTIME and OSRT_API; the latter has a correlation only in files of assay.
void columns(auto& visit, row_of<api_call> auto& call) {
  timed(visit, call);
  visit.call_class("eventClass", call.layer);
  visit.thread("globalTid", call.thread);
  visit.optional("correlationId", call.correlation);
  visit.name("nameId", call.name);
  visit.integer("returnValue", call.result);
  visit.unused("callchainId INTEGER");
}

void columns(auto& visit, row_of<overhead> auto& cost) {
  timed(visit, cost);
  visit.constant("eventClass", overhead_class);
  visit.thread("globalTid", cost.thread);
  visit.optional("correlationId", cost.correlation);
  visit.name("nameId", cost.name);
  visit.constant("overheadType", 0);
}

void columns(auto& visit, row_of<memory_event> auto& event) {
  visit.moment("start", event.at);
  placed(visit, event);
  visit.thread("globalTid", event.thread);
  visit.kind("memoryOperationType", event.operation, memory_operation::release);
  visit.kind("memKind", event.kind, memory_kind::unknown);
  visit.integer("address", event.address);
  visit.bytes("bytes", event.bytes);
  visit.optional("localMemoryPoolAddress", event.pool);
  visit.optional("localMemoryPoolUtilizedSize", event.pool_used_bytes);
  visit.optional("localMemoryPoolSize", event.pool_reserved_bytes);
}

void columns(auto& visit, row_of<host_page_fault> auto& fault) {
  visit.moment("start", fault.at);
  visit.process("globalPid", fault.process);
  visit.integer("address", fault.address);
  visit.integer("CpuInstruction", fault.instruction);
}

void columns(auto& visit, row_of<device_page_faults> auto& faults) {
  visit.moment("start", faults.at);
  visit.process("globalPid", faults.process);
  visit.integer("deviceId", faults.device);
  visit.integer("address", faults.address);
  visit.integer("numberOfPageFaults", faults.count);
}

void columns(auto& visit, row_of<thread_name> auto& named) {
  visit.name("nameId", named.name);
  visit.unused("priority INTEGER");
  visit.thread("globalTid", named.thread);
}

void columns(auto& visit, row_of<nvtx_event> auto& event) {
  visit.moment("start", event.begin);
  visit.optional("end", event.end);
  visit.integer("eventType", event.type);
  visit.optional("rangeId", event.range_id);
  visit.optional("category", event.category);
  visit.optional("color", event.argb);
  visit.thread("globalTid", event.thread);
  visit.optional("endGlobalTid", event.end_thread);
  visit.integer("domainId", event.domain);
  visit.label("textId", "text", event.name);
  visit.payload(event.payload);
  visit.extended_payload("jsonTextId", "jsonText", event.payload);
  visit.unused("binaryData TEXT");
  visit.optional("eventId", event.number);  // after 3.25
}

void columns(auto& visit, row_of<gpu_row> auto& row) {
  auto& gpu = row.device;
  visit.constant("vmId", virtual_machine);
  visit.integer("id", row.id);
  visit.optional("cuDevice", row.cuda_id);
  visit.text("name", gpu.name);
  visit.integer("l2CacheSize", gpu.l2_bytes);
  visit.integer("totalMemory", gpu.memory_bytes);
  visit.integer("memoryBandwidth", gpu.memory_bytes_per_second);
  visit.integer("clockRate", gpu.clock_hertz);
  visit.integer("smCount", gpu.sm_count);
  visit.integer("maxShmemPerSm", gpu.shared_bytes_per_sm);
  visit.integer("maxRegistersPerSm", gpu.registers_per_sm);
  visit.integer("threadsPerWarp", gpu.warp_size);
  visit.integer("maxWarpsPerSm", row.warps_per_sm);
  visit.integer("maxThreadsPerBlock", gpu.max_threads_per_block);
  visit.integer("computeMajor", gpu.compute_major);
  visit.integer("computeMinor", gpu.compute_minor);
  visit.optional("assayMaxThreadsPerSm", row.threads_per_sm);
}

/// TARGET_INFO_CUDA_GPU, the table of devices in exports of early 2021.
void columns_of_2021(auto& visit, gpu_row& row) {
  visit.integer("deviceId", row.id);
  visit.text("name", row.device.name);
  visit.integer("numMultiprocessors", row.device.sm_count);
  visit.integer("numThreadsPerWarp", row.device.warp_size);
  visit.integer("maxWarpsPerMultiprocessor", row.warps_per_sm);
  visit.integer("computeCapabilityMajor", row.device.compute_major);
  visit.integer("computeCapabilityMinor", row.device.compute_minor);
}

/// Calls `visit(name, count)` for each count of what a trace lost; ASSAY_TRACE has them by name.
template <class Losses, class Visit>
void each_loss(Losses& lost, Visit&& visit) {
  visit("dropped", lost.dropped);
  visit("zero_stamped", lost.zero_stamped);
  visit("out_of_window", lost.out_of_window);
  visit("unmatched", lost.unmatched);
  visit("unnamed", lost.unnamed);
}

/// Calls `visit(table, rows)` for each table that holds one vector of the model, row by row.
template <class Model, class Visit>
void each_table(Model& of, Visit&& visit) {
  visit("CUPTI_ACTIVITY_KIND_KERNEL", of.kernels);
  visit("CUPTI_ACTIVITY_KIND_MEMCPY", of.copies);
  visit("CUPTI_ACTIVITY_KIND_MEMSET", of.memsets);
  visit("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", of.graph_launches);
  visit("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", of.synchronizations);
  visit("CUDA_GPU_MEMORY_USAGE_EVENTS", of.memory);
  visit("CUDA_UM_CPU_PAGE_FAULT_EVENTS", of.host_faults);
  visit("CUDA_UM_GPU_PAGE_FAULT_EVENTS", of.device_faults);
  visit("CUPTI_ACTIVITY_KIND_OVERHEAD", of.overheads);
  visit("ThreadNames", of.threads);
}

/// Lists the columns of a table.
class column_list {
 public:
  std::string declared;                ///< as CREATE TABLE takes them
  std::string written;                 ///< as INSERT takes them
  std::string places;                  ///< one question mark per column of `written`
  std::vector<std::string_view> read;  ///< in the order of the visits

  void moment(std::string_view name, auto const&) { add(name, required); }
  void integer(std::string_view name, auto const&) { add(name, required); }
  void bytes(std::string_view name, auto const&) { add(name, required); }
  void kind(std::string_view name, auto const&, auto) { add(name, required); }
  void name(std::string_view name, auto const&) { add(name, required); }
  void call_class(std::string_view name, auto const&) { add(name, required); }
  void optional(std::string_view name, auto const&, int = 0) { add(name, "INTEGER"); }
  void optional_name(std::string_view name, auto const&) { add(name, "INTEGER"); }
  void process(std::string_view name, auto const&) { add(name, "INTEGER"); }
  void thread(std::string_view name, auto const&) { add(name, "INTEGER"); }
  void text(std::string_view name, auto const&) { add(name, "TEXT"); }
  void label(std::string_view number, std::string_view words, auto const&) {
    add(number, "INTEGER");
    add(words, "TEXT");
  }
  void payload(auto const&) {
    add("uint64Value", "INTEGER");
    for (std::string_view const name : {"int64Value", "uint32Value", "int32Value"}) {
      read.push_back(name);
      declare(std::string{name} + " INTEGER");
    }
    for (std::string_view const name : {"doubleValue", "floatValue"}) {
      read.push_back(name);
      declare(std::string{name} + " REAL");
    }
  }
  void extended_payload(std::string_view number, std::string_view words, auto const&) {
    for (auto const name : {number, words}) {
      read.push_back(name);
      declare(std::string{name} + (name == number ? " INTEGER" : " TEXT"));
    }
  }
  void words(std::string_view name, auto const&) {
    declare(std::string{name} + " TEXT NOT NULL");
    write(name);
  }
  void constant(std::string_view name, std::int64_t) {
    declare(std::string{name} + " INTEGER NOT NULL");
    write(name);
  }
  void unused(std::string_view declaration) { declare(declaration); }

 private:
  static constexpr std::string_view required = "INTEGER NOT NULL";

  void add(std::string_view name, std::string_view type) {
    declare(concat({name, " ", type}));
    write(name);
    read.push_back(name);
  }
  void declare(std::string_view column) {
    declared += (declared.empty() ? "" : ", ") + std::string{column};
  }
  void write(std::string_view name) {
    written += (written.empty() ? "" : ", ") + std::string{name};
    places += places.empty() ? "?" : ", ?";
  }
};

/// The columns of the table of `Row`.
template <class Row>
column_list columns_of() {
  column_list all;
  Row row;
  columns(all, row);
  return all;
}

}  // namespace assay::trace::nsys
