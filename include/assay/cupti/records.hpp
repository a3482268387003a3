// SPDX-License-Identifier: Apache-2.0
/// @file
/// Conversions of CUPTI's activity records into rows of a `model`, without times and names.
/// Internal to recorder.hpp.
#pragma once

#include <assay/trace/model.hpp>

#include <cupti.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

namespace assay::trace {

/// The records as CUPTI 13.0 writes them. Later versions only append fields, and their headers keep
/// these types, so that a program built with any CUDA 13 reads the records of any later library.
namespace cupti {
using kernel = CUpti_ActivityKernel10;
using copy = CUpti_ActivityMemcpy6;
using peer_copy = CUpti_ActivityMemcpyPtoP4;
using memset = CUpti_ActivityMemset4;
using call = CUpti_ActivityAPI;
using overhead = CUpti_ActivityOverhead3;
using sync = CUpti_ActivitySynchronization2;
using memory = CUpti_ActivityMemory4;
using device = CUpti_ActivityDevice5;
using context = CUpti_ActivityContext3;

/// The first version with all fields of these records.
inline constexpr std::uint32_t least_version = 130000;
}  // namespace cupti

/// A number of `CUpti_ActivityMemoryKind` as a `memory_kind`.
constexpr memory_kind memory_kind_of(std::uint32_t cupti_kind) noexcept {
  return cupti_kind >= 1 && cupti_kind <= 7 ? static_cast<memory_kind>(cupti_kind - 1)
                                            : memory_kind::unknown;
}

/// The name of a kind of overhead.
constexpr char const* overhead_name(CUpti_ActivityOverheadKind kind) noexcept {
  constexpr std::array<std::pair<CUpti_ActivityOverheadKind, char const*>, 9> names{{
      {CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "Driver Compiler"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "Buffer Flush"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "Instrumentation"},
      {CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "Resource"},
      {CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING, "Module Loading"},
      {CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "Lazy Function Loading"},
      {CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "Command Buffer Full"},
      {CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, "Activity Buffer Request"},
      {CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT, "Managed Memory Start"},
  }};
  for (auto const& [known, name] : names) {
    if (known == kind) { return name; }
  }
  return "Unknown";
}

namespace cupti {

/// The device and stream of a record; `green_context` is set later, from the record of the context.
template <class Record>
device_place place_of(Record const& from, std::uint32_t process) noexcept {
  return {.device = static_cast<std::int32_t>(from.deviceId),
          .context = from.contextId,
          .stream = from.streamId,
          .correlation = from.correlationId,
          .process = process};
}

inline void fill(kernel_run& to, kernel const& from, std::uint32_t process) noexcept {
  auto const three = [](auto x, auto y, auto z) {
    return dimensions{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                      static_cast<std::uint32_t>(z)};
  };
  to.where = place_of(from, process);
  to.where.graph_node = from.graphNodeId;
  to.grid = three(from.gridX, from.gridY, from.gridZ);
  to.block = three(from.blockX, from.blockY, from.blockZ);
  to.cluster = three(from.clusterX, from.clusterY, from.clusterZ);
  to.registers_per_thread = from.registersPerThread;
  to.static_shared_bytes = static_cast<std::uint32_t>(from.staticSharedMemory);
  to.dynamic_shared_bytes = static_cast<std::uint32_t>(from.dynamicSharedMemory);
  to.local_bytes_per_thread = from.localMemoryPerThread;
  to.graph = from.graphId;
}

template <class Copy>
void fill(memory_copy& to, Copy const& from, std::uint32_t process) noexcept {
  to.where = place_of(from, process);
  to.where.graph_node = from.graphNodeId;
  to.bytes = from.bytes;
  to.kind = from.copyKind <= CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ? static_cast<copy_kind>(from.copyKind)
                                                             : copy_kind::unknown;
  to.from = memory_kind_of(from.srcKind);
  to.to = memory_kind_of(from.dstKind);
  if constexpr (std::is_same_v<Copy, peer_copy>) {
    to.kind = copy_kind::peer_to_peer;
    to.from_device = static_cast<std::int32_t>(from.srcDeviceId);
    to.to_device = static_cast<std::int32_t>(from.dstDeviceId);
  }
}

inline void fill(memset_operation& to, memset const& from, std::uint32_t process) noexcept {
  to.where = place_of(from, process);
  to.where.graph_node = from.graphNodeId;
  to.bytes = from.bytes;
  to.value = from.value;
  to.kind = memory_kind_of(from.memoryKind);
}

/// The device is not in the record: `unknown_device` until the context tells.
inline constexpr std::int32_t unknown_device = -1;
inline void fill(synchronization& to, sync const& from, std::uint32_t process) noexcept {
  auto const told = [](std::uint32_t value) {
    return value == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : value;
  };
  to.where = {.device = unknown_device,
              .context = from.contextId,
              .stream = told(from.streamId),
              .correlation = from.correlationId,
              .process = process};
  to.kind = from.type <= CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE
                ? static_cast<sync_kind>(from.type)
                : sync_kind::unknown;
  to.event = told(from.cudaEventId);
}

inline void fill(memory_event& to, memory const& from, std::uint32_t process) noexcept {
  to.where = place_of(from, process);
  to.operation = from.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                     ? memory_operation::release
                     : memory_operation::allocate;
  to.kind = memory_kind_of(from.memoryKind);
  to.address = from.address;
  to.bytes = from.bytes;
  auto const& pool = from.memoryPoolConfig;
  if (from.isAsync == 0 || pool.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID) {
    return;
  }
  to.pool = pool.address;
  to.pool_used_bytes = pool.utilizedSize;
  // In the pool of another process this field is that process's number.
  if (pool.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
    to.pool_reserved_bytes = pool.pool.size;
  }
}

/// Without its name.
inline device_description describe(device const& from) {
  auto const hertz = std::uint64_t{from.coreClockRate} * 1000;  // told in kHz
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  return {.id = static_cast<std::int32_t>(from.id),
          .name = {},
          .memory_bytes = from.globalMemorySize,
          .l2_bytes = from.l2CacheSize,
          .memory_bytes_per_second = from.globalMemoryBandwidth * 1000,  // told in kB/s
          .clock_hertz = static_cast<std::uint32_t>(std::min(hertz, most)),
          .sm_count = from.numMultiprocessors,
          .compute_major = from.computeCapabilityMajor,
          .compute_minor = from.computeCapabilityMinor,
          .max_threads_per_sm = from.maxWarpsPerMultiprocessor * from.numThreadsPerWarp,
          .max_threads_per_block = from.maxThreadsPerBlock,
          .registers_per_sm = from.maxRegistersPerMultiprocessor,
          .shared_bytes_per_sm = from.maxSharedMemoryPerMultiprocessor,
          .warp_size = from.numThreadsPerWarp};
}

/// Frees the memory that a record owns, by the documentation of its type.
inline void release(CUpti_Activity const& record) noexcept {
  if (record.kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
    std::free(reinterpret_cast<overhead const&>(record).overheadData);
  } else if (record.kind == CUPTI_ACTIVITY_KIND_DEVICE) {
    std::free(const_cast<char*>(reinterpret_cast<device const&>(record).name));
  }
}

}  // namespace cupti

}  // namespace assay::trace
