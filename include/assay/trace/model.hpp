// SPDX-License-Identifier: Apache-2.0
/// @file
/// `model`: a trace as tables of plain rows. The recorder and the readers of files fill a model;
/// reports and writers read one.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/trace/strings.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// Half-open interval `[begin, end)` of nanoseconds since `model::epoch_ns`.
struct span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr std::int64_t length() const noexcept { return end - begin; }
  auto operator<=>(span const&) const = default;
};

/// The shortest span around two.
constexpr span around(span const& a, span const& b) noexcept {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

/// A host thread: the operating system's numbers.
struct thread_key {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  auto operator<=>(thread_key const&) const = default;
};

/// The device and stream of an operation, and its launching API call: the call of the same process
/// with the same correlation. All nodes of a graph share the correlation of the graph launch.
struct device_place {
  std::int32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t green_context = 0;  ///< 0: none
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;  ///< 0: unknown
  std::uint32_t process = 0;
  std::uint64_t graph_node = 0;  ///< 0: not in a graph
  bool operator==(device_place const&) const = default;
};

using dimensions = std::array<std::uint32_t, 3>;

/// One execution of a kernel.
struct kernel_run {
  span when;
  device_place where;
  string_id name = 0;        ///< demangled, whole
  string_id short_name = 0;  ///< without template arguments and parameters; 0: unknown
  string_id mangled_name = 0;
  dimensions grid{};
  dimensions block{};
  dimensions cluster{};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes_per_thread = 0;
  std::uint32_t graph = 0;
  bool operator==(kernel_run const&) const = default;
};

/// Numbered as CUPTI and nsys number their copies.
enum class copy_kind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  host_to_array,
  array_to_host,
  array_to_array,
  array_to_device,
  device_to_array,
  device_to_device,
  host_to_host,
  peer_to_peer,
  unified_host_to_device,
  unified_device_to_host,
  unified_device_to_device
};

/// Numbered as nsys numbers `ENUM_CUDA_MEM_KIND`; CUPTI has other numbers.
enum class memory_kind : std::uint8_t {
  pageable,
  pinned,
  device,
  array,
  managed,
  device_static,
  managed_static,
  unknown
};

/// A copy that a device made, by a copy engine or by a kernel of the driver.
struct memory_copy {
  span when;
  device_place where;
  std::uint64_t bytes = 0;
  copy_kind kind = copy_kind::unknown;
  memory_kind from = memory_kind::unknown;
  memory_kind to = memory_kind::unknown;
  std::int32_t from_device = -1;  ///< -1 unless this is a peer copy
  std::int32_t to_device = -1;
  std::uint64_t address = 0;  ///< of the pages that unified memory migrated; 0: no migration
  bool operator==(memory_copy const&) const = default;
};

/// A memset that a device made.
struct memset_operation {
  span when;
  device_place where;
  std::uint64_t bytes = 0;
  std::uint32_t value = 0;
  memory_kind kind = memory_kind::unknown;
  bool operator==(memset_operation const&) const = default;
};

/// A whole graph launch, in traces that do not show its nodes. If the nodes are there too, the two
/// must not be added.
struct graph_launch {
  span when;
  device_place where;
  std::uint32_t graph = 0;
  std::uint32_t executable = 0;
  bool operator==(graph_launch const&) const = default;
};

/// The library that a called function belongs to.
enum class api : std::uint8_t { runtime, driver, os };

/// A host thread's call of the CUDA runtime, of the driver, or (in nsys exports) of the system
/// library.
struct api_call {
  span when;
  thread_key thread;
  string_id name = 0;  ///< as recorded: `cudaLaunchKernel_v7000`
  api layer = api::runtime;
  std::uint32_t correlation = 0;
  std::int32_t result = 0;
  bool operator==(api_call const&) const = default;
};

/// Numbered as CUPTI and nsys number them.
enum class sync_kind : std::uint8_t { unknown, event, stream_wait, stream, context };

/// A wait of a host thread, or of a stream (`stream_wait`).
struct synchronization {
  span when;
  device_place where;
  sync_kind kind = sync_kind::unknown;
  std::uint32_t event = 0;
  bool operator==(synchronization const&) const = default;
};

/// The pair of functions that opened and closed a range; `mark` is a single moment.
using range_style = recorded_range::kind;

/// A named span of host time. A range that was never ended ends with the trace, and `ended` is
/// false.
struct range_record {
  span when;
  thread_key thread;
  thread_key end_thread;  ///< another one only for `start_end`
  string_id domain = 0;   ///< 0: the default domain
  string_id name = 0;
  range_style style = range_style::push_pop;
  bool ended = true;
  std::uint32_t category = 0;
  std::uint32_t argb = 0;  ///< 0: no colour
  std::uint64_t payload = 0;
  bool operator==(range_record const&) const = default;
};

/// Allocation or release.
enum class memory_operation : std::uint8_t { allocate, release };

/// An allocation or a release. `pool` is 0 outside memory pools.
struct memory_event {
  std::int64_t at = 0;
  device_place where;
  thread_key thread;
  memory_operation operation = memory_operation::allocate;
  memory_kind kind = memory_kind::unknown;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pool = 0;
  std::uint64_t pool_used_bytes = 0;      ///< 0: unknown
  std::uint64_t pool_reserved_bytes = 0;  ///< 0: unknown
  bool operator==(memory_event const&) const = default;
};

/// A page fault of unified memory on the host.
struct host_page_fault {
  std::int64_t at = 0;
  std::uint32_t process = 0;
  std::uint64_t address = 0;
  std::uint64_t instruction = 0;  ///< the address of the code
  bool operator==(host_page_fault const&) const = default;
};

/// Page faults of unified memory on a device, in one group of pages.
struct device_page_faults {
  std::int64_t at = 0;
  std::uint32_t process = 0;
  std::int32_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t count = 0;
  bool operator==(device_page_faults const&) const = default;
};

/// Host time that the tracer took, or that the driver spent on one-time work.
struct overhead {
  span when;
  thread_key thread;
  string_id name = 0;
  std::uint32_t correlation = 0;
  bool operator==(overhead const&) const = default;
};

/// A device of the trace and its limits; 0: unknown.
struct device_description {
  std::int32_t id = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes_per_second = 0;  ///< theoretical; 0: unknown
  std::uint32_t clock_hertz = 0;
  std::uint32_t sm_count = 0;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t max_threads_per_sm = 0;
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t shared_bytes_per_sm = 0;
  std::uint32_t warp_size = 32;
  bool operator==(device_description const&) const = default;
};

/// The name that a thread gave itself.
struct thread_name {
  thread_key thread;
  string_id name = 0;
  bool operator==(thread_name const&) const = default;
};

/// The records that a trace lacks, or that had no usable time. A whole trace has zero in all.
struct losses {
  std::uint64_t dropped = 0;        ///< records that the tracer had no room for
  std::uint64_t zero_stamped = 0;   ///< records without a time, left out of the tables
  std::uint64_t out_of_window = 0;  ///< records timed outside the trace, left out of the tables
  std::uint64_t unmatched = 0;      ///< operations without their API call in the trace; kept
  std::uint64_t unnamed = 0;        ///< strings that could not be resolved
  bool operator==(losses const&) const = default;
};

/// A trace: flat tables in any order, with times in nanoseconds since `epoch_ns`.
struct model {
  string_table strings;
  std::int64_t epoch_ns = 0;                               ///< since 1970 (UTC); 0: unknown
  std::string host;                                        ///< the machine; empty: unknown
  span window;                                             ///< the time of the recording
  std::string source;                                      ///< the recording tool and its version
  std::vector<std::pair<std::string, std::string>> notes;  ///< free text on the recording

  std::vector<kernel_run> kernels;
  std::vector<memory_copy> copies;
  std::vector<memset_operation> memsets;
  std::vector<graph_launch> graph_launches;
  std::vector<api_call> calls;
  std::vector<synchronization> synchronizations;
  std::vector<range_record> ranges;
  std::vector<memory_event> memory;
  std::vector<host_page_fault> host_faults;       ///< only exports of nsys have any
  std::vector<device_page_faults> device_faults;  ///< the same
  std::vector<overhead> overheads;
  std::vector<device_description> devices;
  std::vector<thread_name> threads;
  losses lost;

  bool operator==(model const&) const = default;
};

/// Calls `visit(rows)` for each table of operations of devices.
template <class Model, class Visit>
void each_device_table(Model& of, Visit&& visit) {
  visit(of.kernels);
  visit(of.copies);
  visit(of.memsets);
  visit(of.graph_launches);
}

/// Keeps the rows for which `keep(row)` is true. `std::erase_if` would take three times as long to
/// compile, for each of eleven types of rows.
template <class Row, class Keep>
void keep_rows(std::vector<Row>& rows, Keep&& keep) {
  std::size_t kept = 0;
  for (auto const& row : rows) {
    if (keep(row)) { rows[kept++] = row; }
  }
  while (rows.size() > kept) { rows.pop_back(); }
}

/// Keeps the rows that begin at `at_ns` (since the trace's epoch) or later; the window then begins
/// at `at_ns`. Devices, thread names and losses stay as they are.
inline void trim_before(model& of, std::int64_t at_ns) {
  auto const trim = [&](auto& rows) {
    keep_rows(rows, [&](auto const& row) {
      if constexpr (requires { row.at; }) {
        return row.at >= at_ns;
      } else {
        return row.when.begin >= at_ns;
      }
    });
  };
  each_device_table(of, trim);
  trim(of.calls);
  trim(of.synchronizations);
  trim(of.ranges);
  trim(of.overheads);
  trim(of.memory);
  trim(of.host_faults);
  trim(of.device_faults);
  of.window.begin = at_ns;
}

}  // namespace assay::trace
