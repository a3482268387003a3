// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers, names and enumerations of the SQLite exports of nsys, schema 3.30.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::trace::nsys {

/// The version of the schema that `write_nsys` writes.
inline constexpr std::string_view schema_version = "3.30.1";

/// The virtual machine of all processes, in the bits above the process of `globalTid`.
inline constexpr std::int64_t virtual_machine = std::int64_t{1} << 48U;

/// `globalTid` of nsys: 8 bits hardware, 8 bits virtual machine, 24 bits process, 24 bits thread.
/// Throws `std::invalid_argument` for numbers of more bits, which Linux does not give.
inline std::int64_t pack(thread_key const& key) {
  constexpr std::uint32_t limit = 1U << 24U;
  if (key.process >= limit || key.thread >= limit) {
    throw std::invalid_argument(
        concat({"thread ", std::to_string(key.thread), " of process ", std::to_string(key.process),
                ": nsys' schema has room for numbers below 16777216"}));
  }
  return virtual_machine | (std::int64_t{key.process} << 24U) | key.thread;
}

constexpr thread_key unpack(std::int64_t global) noexcept {
  auto const bits = static_cast<std::uint64_t>(global);
  return {static_cast<std::uint32_t>((bits >> 24U) & 0xffffffU),
          static_cast<std::uint32_t>(bits & 0xffffffU)};
}

/// The communicator in the JSON of an extended payload of NCCL, a number with or without quotes and
/// separators of thousands; 0 where there is none.
constexpr std::uint64_t communicator_in(std::string_view json) noexcept {
  constexpr std::string_view key = "\"NCCL communicator ID\":";
  auto const at = json.find(key);
  if (at == json.npos) { return 0; }
  json.remove_prefix(at + key.size());
  auto const first = json.find_first_not_of(' ');
  bool const quoted = first != json.npos && json[first] == '"';
  std::uint64_t number = 0;
  for (char const each : json.substr(std::min(json.size(), first + (quoted ? 1 : 0)))) {
    if (quoted && each == ',') { continue; }
    if (each < '0' || each > '9') { break; }
    number = 10 * number + static_cast<std::uint64_t>(each - '0');
  }
  return number;
}

/// The kinds of events in NVTX_EVENTS that concern ranges.
enum class event : std::uint8_t {
  other,
  mark,
  push,
  pop,
  start,
  end,
  thread,
  push_pop,
  start_end,
  domain
};

/// An event type by its number and name in ENUM_NSYS_EVENT_TYPE; NVTXT is its text form.
struct event_type {
  std::int64_t id;
  std::string_view name;
  event what;
};

inline constexpr std::array event_types{event_type{34, "NvtxMark", event::mark},
                                        event_type{35, "NvtxPushRange", event::push},
                                        event_type{36, "NvtxPopRange", event::pop},
                                        event_type{37, "NvtxStartRange", event::start},
                                        event_type{38, "NvtxEndRange", event::end},
                                        event_type{39, "NvtxThread", event::thread},
                                        event_type{59, "NvtxPushPopRange", event::push_pop},
                                        event_type{60, "NvtxStartEndRange", event::start_end},
                                        event_type{65, "NvtxtMark", event::mark},
                                        event_type{66, "NvtxtPushRange", event::push},
                                        event_type{67, "NvtxtPopRange", event::pop},
                                        event_type{68, "NvtxtStartRange", event::start},
                                        event_type{69, "NvtxtEndRange", event::end},
                                        event_type{70, "NvtxtPushPopRange", event::push_pop},
                                        event_type{71, "NvtxtStartEndRange", event::start_end},
                                        event_type{75, "NvtxDomainCreate", event::domain}};

inline constexpr std::int64_t mark_type = 34;
inline constexpr std::int64_t push_pop_type = 59;
inline constexpr std::int64_t start_end_type = 60;
inline constexpr std::int64_t domain_type = 75;

/// `eventClass` of calls.
inline constexpr std::int64_t runtime_class = 0;
inline constexpr std::int64_t driver_class = 1;
inline constexpr std::int64_t os_class = 27;
inline constexpr std::int64_t overhead_class = 103;

/// Calls `visit(table, prefix, names, label)` for each ENUM table but the table of event types: the
/// names as they follow the prefix, and the function that gives the label of a number. Real exports
/// have these names.
template <class Visit>
void each_enumeration(Visit&& visit) {
  visit("ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_",
        std::to_array<std::string_view>({"UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD",
                                         "DTOA", "DTOD", "HTOH", "PTOP", "UVM_HTOD", "UVM_DTOH",
                                         "UVM_DTOD"}),
        [](std::size_t i) { return to_string(static_cast<copy_kind>(i)); });
  visit("ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_",
        std::to_array<std::string_view>({"PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED",
                                         "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN"}),
        [](std::size_t i) { return to_string(static_cast<memory_kind>(i)); });
  constexpr auto operations = std::to_array<std::string_view>({"Allocation", "Deallocation"});
  visit("ENUM_CUDA_DEV_MEM_EVENT_OPER", "CUDA_DEV_MEM_EVENT_OPR_",
        std::to_array<std::string_view>({"ALLOCATION", "DEALLOCATION"}),
        [&](std::size_t i) { return operations[i]; });
  constexpr auto waits = std::to_array<std::string_view>(
      {"Unknown", "Event sync", "Stream wait sync", "Stream sync", "Context sync"});
  visit("ENUM_CUPTI_SYNC_TYPE", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
        std::to_array<std::string_view>({"UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT",
                                         "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE"}),
        [&](std::size_t i) { return waits[i]; });
}

}  // namespace assay::trace::nsys
