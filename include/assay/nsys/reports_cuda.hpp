// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of calls, kernels, memory operations and unified memory, as `nsys stats` has them.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

namespace detail {

/// The rows that a summary counts, by the names of `nsys stats` for them.
enum class category : std::uint8_t { os_call, api_call, kernel, memory_operation };

/// Operations told apart by category and name.
using operation_key = std::pair<std::string_view, std::string>;

/// Calls `visit(label, row of the table)` for each copy and memset.
template <class Visit>
void each_memory_operation(model const& of, Visit&& visit) {
  for (auto const& each : of.copies) { visit(copy_label(each.kind), each); }
  for (auto const& each : of.memsets) { visit(std::string{memset_label}, each); }
}

/// The times of calls by name, an index of a view.
template <category What>
struct call_times {
  keyed_statistics<std::string> by_total;

  explicit call_times(view const& rows) {
    auto const& of = rows.of();
    grouping<std::string> groups;
    auto group = once_per_name(of.strings.size(), [&](string_id name) {
      return groups.group(std::string{without_version(of.strings[name])});
    });
    for (auto const& each : of.calls) {
      auto const wanted = (each.layer == api::os) == (What == category::os_call);
      if (wanted) { groups.add(group(each.name), each.when.length()); }
    }
    by_total = groups.by_total();
  }
};

/// The times of copies and memsets by label, an index of a view.
struct memory_operation_times {
  keyed_statistics<std::string> by_total;

  explicit memory_operation_times(view const& rows) {
    grouping<std::string> groups;
    each_memory_operation(rows.of(), [&](std::string const& name, auto const& each) {
      groups.add(name, each.when.length());
    });
    by_total = groups.by_total();
  }
};

/// Adds the times of all rows of one category.
inline void add_category(keyed_statistics<operation_key>& to, view const& rows, category what) {
  auto const add = [&](std::string_view label, keyed_statistics<std::string> const& times) {
    for (auto const& [name, each] : times) { to.emplace_back(operation_key{label, name}, each); }
  };
  switch (what) {
    case category::os_call:
      return add("CUDA_API", rows.index<call_times<category::os_call>>().by_total);
    case category::api_call:
      return add("CUDA_API", rows.index<call_times<category::api_call>>().by_total);
    case category::kernel:
      return add("CUDA_KERNEL", rows.index<kernel_times>().by_total);
    case category::memory_operation:
      return add("MEMORY_OPER", rows.index<memory_operation_times>().by_total);
  }
}

/// A summary of times of these categories, which come in the order of their labels. Several of them
/// have a column that says which.
inline table time_summary(view const& rows, std::string name, std::string title,
                          std::string const& count, std::initializer_list<category> what,
                          std::string const& last = "Name") {
  auto const columns = concat({what.size() > 1 ? "Category:t, " : "", last, ":t"});
  table result{std::move(name), std::move(title), time_columns(count, columns)};
  keyed_statistics<operation_key> groups;
  for (auto const each : what) { add_category(groups, rows, each); }
  sort_by_total(groups);
  if (what.size() > 1) {
    add_times(result, groups, [](operation_key const& key) { return key; });
  } else {
    add_times(result, groups, [](operation_key const& key) { return std::tuple{key.second}; });
  }
  return result;
}

}  // namespace detail

/// Calls of the CUDA runtime and driver, by name.
inline table cuda_api_sum(view const& rows) {
  return detail::time_summary(rows, "cuda_api_sum", "CUDA API Summary", "Num Calls",
                              {detail::category::api_call});
}

/// Calls of the system library, by name; only exports of nsys have any.
inline table osrt_sum(view const& rows) {
  return detail::time_summary(rows, "osrt_sum", "OS Runtime Summary", "Num Calls",
                              {detail::category::os_call});
}

/// Kernels by demangled name.
inline table cuda_gpu_kern_sum(view const& rows) {
  return detail::time_summary(rows, "cuda_gpu_kern_sum", "CUDA GPU Kernel Summary", "Instances",
                              {detail::category::kernel});
}

/// Copies and memsets by direction: their times.
inline table cuda_gpu_mem_time_sum(view const& rows) {
  return detail::time_summary(rows, "cuda_gpu_mem_time_sum", "CUDA GPU MemOps Summary (by Time)",
                              "Count", {detail::category::memory_operation}, "Operation");
}

/// Kernels, copies and memsets in one table.
inline table cuda_gpu_sum(view const& rows) {
  using enum detail::category;
  return detail::time_summary(rows, "cuda_gpu_sum", "CUDA GPU Summary (Kernels/MemOps)",
                              "Instances", {kernel, memory_operation}, "Operation");
}

/// Calls of CUDA, kernels, copies and memsets in one table.
inline table cuda_api_gpu_sum(view const& rows) {
  using enum detail::category;
  return detail::time_summary(rows, "cuda_api_gpu_sum", "CUDA Summary (API/Kernels/MemOps)",
                              "Instances", {api_call, kernel, memory_operation}, "Operation");
}

/// Copies and memsets by direction: their sizes; 1 MB is 10^6 bytes.
inline table cuda_gpu_mem_size_sum(view const& rows) {
  table result{"cuda_gpu_mem_size_sum", "CUDA GPU MemOps Summary (by Size)",
               parse_columns("Total (MB):3, Count, Avg (MB):3, Med (MB):3, Min (MB):3, Max (MB):3, "
                             "StdDev (MB):3, Operation:t")};
  grouping<std::string> groups;
  detail::each_memory_operation(rows.of(), [&](std::string const& name, auto const& each) {
    groups.add(name, static_cast<std::int64_t>(each.bytes));
  });
  for (auto const& [name, bytes] : groups.by_total()) {
    auto const mega = [](auto value) { return static_cast<double>(value) / 1e6; };
    result.add(mega(bytes.total), bytes.count, mega(bytes.mean), mega(bytes.median),
               mega(bytes.min), mega(bytes.max), mega(bytes.deviation), name);
  }
  return result;
}

namespace detail {

/// `0x7F9C80000000`, as nsys writes addresses.
inline std::string address_text(std::uint64_t address) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "0x%" PRIX64, address);
  return text.data();
}

/// An address of one process. Processes of one program have equal addresses.
using process_address = std::pair<std::uint64_t, std::uint32_t>;

/// The address, with the process where `counted` has several.
template <class Count>
std::string address_text(process_address const& at,
                         std::map<process_address, Count> const& counted) {
  auto const process = [](auto const& each) { return each.first.second; };
  auto const several = std::ranges::any_of(
      counted, [&](auto const& each) { return process(each) != process(*counted.begin()); });
  return address_text(at.first) +
         (several ? concat({" (process ", std::to_string(at.second), ")"}) : std::string{});
}

/// The migrations and faults of the pages of unified memory at one address.
struct migrated_pages {
  std::uint64_t to_device = 0, to_host = 0;  ///< bytes
  std::uint64_t host_faults = 0, device_faults = 0;
  std::int64_t ns = 0;  ///< of the migrations

  std::uint64_t bytes() const noexcept { return to_device + to_host; }
};

inline std::map<process_address, migrated_pages> migrations_of(model const& of) {
  std::map<process_address, migrated_pages> pages;
  for (auto const& each : of.copies) {
    if (each.kind != copy_kind::unified_host_to_device &&
        each.kind != copy_kind::unified_device_to_host) {
      continue;
    }
    auto& at = pages[{each.address, each.where.process}];
    (each.kind == copy_kind::unified_host_to_device ? at.to_device : at.to_host) += each.bytes;
    at.ns += each.when.length();
  }
  for (auto const& each : of.host_faults) { ++pages[{each.address, each.process}].host_faults; }
  for (auto const& each : of.device_faults) {
    pages[{each.address, each.process}].device_faults += each.count;
  }
  return pages;
}

}  // namespace detail

/// Pages of unified memory by address and process: migrated bytes, page faults, and the rate of
/// migration. The `most` of them with the most bytes (0: all); `nsys stats` prints ten.
inline table um_sum(view const& rows, std::size_t most = 10) {
  table result{"um_sum", "Unified Memory Analysis Summary",
               parse_columns("Virtual Address:t, HtoD Migration Size (MB):3, "
                             "DtoH Migration Size (MB):3, CPU Page Faults, GPU PageFaults, "
                             "Migration Throughput (MB/s):3")};
  auto const pages = detail::migrations_of(rows.of());
  std::vector<std::pair<detail::process_address, detail::migrated_pages>> all{pages.begin(),
                                                                              pages.end()};
  std::ranges::stable_sort(all, std::greater{},
                           [](auto const& each) { return each.second.bytes(); });
  for (auto const& [address, each] : all) {
    if (most != 0 && result.rows() == most) { break; }
    auto const mega = [](auto value) { return static_cast<double>(value) / 1e6; };
    auto const rate = each.ns > 0
                          ? std::optional{1e9 * mega(each.bytes()) / static_cast<double>(each.ns)}
                          : std::nullopt;
    result.add(detail::address_text(address, pages), mega(each.to_device), mega(each.to_host),
               each.host_faults, each.device_faults, rate);
  }
  return result;
}

/// All migrations and page faults of unified memory together; no row where there are none.
inline table um_total_sum(view const& rows) {
  table result{"um_total_sum", "Unified Memory Totals Summary",
               parse_columns("Total HtoD Migration Size (MB):3, Total DtoH Migration Size (MB):3, "
                             "Total CPU Page Faults, Total GPU PageFaults, "
                             "Minimum Virtual Address:t, Maximum Virtual Address:t")};
  auto const pages = detail::migrations_of(rows.of());
  if (pages.empty()) { return result; }
  detail::migrated_pages sum;
  for (auto const& [address, each] : pages) {
    sum.to_device += each.to_device;
    sum.to_host += each.to_host;
    sum.host_faults += each.host_faults;
    sum.device_faults += each.device_faults;
  }
  result.add(static_cast<double>(sum.to_device) / 1e6, static_cast<double>(sum.to_host) / 1e6,
             sum.host_faults, sum.device_faults, detail::address_text(pages.begin()->first.first),
             detail::address_text(pages.rbegin()->first.first));
  return result;
}

/// Page faults of unified memory on the host, by the code that touched the page; the most first.
inline table um_cpu_page_faults_sum(view const& rows) {
  table result{"um_cpu_page_faults_sum", "Unified Memory CPU Page Faults Summary",
               parse_columns("CPU Page Faults, CPU Instruction Address:t")};
  std::map<detail::process_address, std::int64_t> counts;
  for (auto const& each : rows.of().host_faults) { ++counts[{each.instruction, each.process}]; }
  std::vector<std::pair<detail::process_address, std::int64_t>> all{counts.begin(), counts.end()};
  std::ranges::stable_sort(all, std::greater{}, [](auto const& each) { return each.second; });
  for (auto const& [code, count] : all) { result.add(count, detail::address_text(code, counts)); }
  return result;
}

}  // namespace assay::trace
