// SPDX-License-Identifier: Apache-2.0
/// @file
/// What devices did, from the tables of an export.
#pragma once

#include <assay/nsys/sqlite_rows.hpp>

#include <cstdint>

namespace assay::trace {

/// Reads kernels, copies, sets, whole graphs and synchronisations.
class work_reader {
 public:
  explicit work_reader(export_rows& in) : in_(in) {}

  void read() {
    read_kernels();
    read_copies();
    read_sets();
    read_graphs();
    read_synchronizations();
  }

 private:
  void read_kernels() {
    auto const table = "CUPTI_ACTIVITY_KIND_KERNEL";
    auto row = in_.tables.select(table, {"start",
                                         "end",
                                         "deviceId",
                                         "contextId",
                                         "greenContextId",
                                         "streamId",
                                         "correlationId",
                                         "globalPid",
                                         "graphNodeId",
                                         "demangledName",
                                         "shortName",
                                         "mangledName",
                                         "gridX",
                                         "gridY",
                                         "gridZ",
                                         "blockX",
                                         "blockY",
                                         "blockZ",
                                         "clusterX",
                                         "clusterY",
                                         "clusterZ",
                                         "registersPerThread",
                                         "staticSharedMemory",
                                         "dynamicSharedMemory",
                                         "localMemoryPerThread",
                                         "graphId"});
    if (!row) { return; }
    in_.tables.reserve(table, in_.into.kernels);
    while (row->step()) {
      kernel_run run;
      if (!in_.next_when(*row, run.when)) { continue; }
      run.where = in_.next_place(*row);
      run.name = in_.names.next(*row);
      run.short_name = in_.names.next(*row);
      run.mangled_name = in_.names.next(*row);
      if (!in_.ours && run.name == 0) {
        run.name = run.short_name != 0 ? run.short_name : run.mangled_name;
      }
      for (auto* const shape : {&run.grid, &run.block, &run.cluster}) {
        for (auto& size : *shape) { size = row->number<std::uint32_t>(); }
      }
      run.registers_per_thread = row->number<std::uint32_t>();
      run.static_shared_bytes = row->number<std::uint32_t>();
      run.dynamic_shared_bytes = row->number<std::uint32_t>();
      run.local_bytes_per_thread = row->number<std::uint32_t>();
      run.graph = row->number<std::uint32_t>();
      in_.into.kernels.push_back(run);
    }
  }

  void read_copies() {
    auto const table = "CUPTI_ACTIVITY_KIND_MEMCPY";
    auto row =
        in_.tables.select(table, {"start", "end", "deviceId", "contextId", "greenContextId",
                                  "streamId", "correlationId", "globalPid", "graphNodeId", "bytes",
                                  "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"});
    if (!row) { return; }
    in_.tables.reserve(table, in_.into.copies);
    while (row->step()) {
      memory_copy copy;
      if (!in_.next_when(*row, copy.when)) { continue; }
      copy.where = in_.next_place(*row);
      copy.bytes = in_.next_bytes(*row);
      copy.kind = in_.next_of(*row, copy_kind::unified_device_to_device, copy_kind::unknown);
      copy.from = in_.next_kind(*row);
      copy.to = in_.next_kind(*row);
      copy.from_device = in_.next_device(*row);
      copy.to_device = in_.next_device(*row);
      in_.into.copies.push_back(copy);
    }
  }

  void read_sets() {
    auto const table = "CUPTI_ACTIVITY_KIND_MEMSET";
    auto row = in_.tables.select(
        table, {"start", "end", "deviceId", "contextId", "greenContextId", "streamId",
                "correlationId", "globalPid", "graphNodeId", "bytes", "value", "memKind"});
    if (!row) { return; }
    in_.tables.reserve(table, in_.into.sets);
    while (row->step()) {
      memory_set set;
      if (!in_.next_when(*row, set.when)) { continue; }
      set.where = in_.next_place(*row);
      set.bytes = in_.next_bytes(*row);
      set.value = row->number<std::uint32_t>();
      set.kind = in_.next_kind(*row);
      in_.into.sets.push_back(set);
    }
  }

  void read_graphs() {
    auto row =
        in_.tables.select("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                          {"start", "end", "deviceId", "contextId", "greenContextId", "streamId",
                           "correlationId", "globalPid", "graphNodeId", "graphId", "graphExecId"});
    while (row && row->step()) {
      graph_launch launch;
      if (!in_.next_when(*row, launch.when)) { continue; }
      launch.where = in_.next_place(*row);
      launch.graph = row->number<std::uint32_t>();
      launch.executable = row->number<std::uint32_t>();
      in_.into.graph_launches.push_back(launch);
    }
  }

  void read_synchronizations() {
    auto row =
        in_.tables.select("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                          {"start", "end", "deviceId", "contextId", "greenContextId", "streamId",
                           "correlationId", "globalPid", "graphNodeId", "syncType", "eventId"});
    while (row && row->step()) {
      synchronization wait;
      if (!in_.next_when(*row, wait.when)) { continue; }
      wait.where = in_.next_place(*row);
      wait.kind = in_.next_of(*row, sync_kind::context, sync_kind::unknown);
      wait.event = row->number<std::uint32_t>();
      in_.into.synchronizations.push_back(wait);
    }
  }

  export_rows& in_;
};

}  // namespace assay::trace
