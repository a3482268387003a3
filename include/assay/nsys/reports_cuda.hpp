// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of calls, kernels and memory operations, as `nsys stats` has them.
#pragma once

#include <assay/trace/labels.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

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

/// Adds the times of all rows of one category.
inline void add_category(grouping<operation_key>& to, model const& of, category what) {
  auto const of_calls = what == category::os_call || what == category::api_call;
  std::string_view const label = of_calls                   ? "CUDA_API"
                                 : what == category::kernel ? "CUDA_KERNEL"
                                                            : "MEMORY_OPER";
  auto group = once_per_name(of.strings.size(), [&](string_id name) {
    auto const text = of.strings[name];
    return to.group({label, std::string{of_calls ? without_version(text) : text}});
  });
  if (of_calls) {
    for (auto const& each : of.calls) {
      auto const wanted = (each.layer == api::os) == (what == category::os_call);
      if (wanted) { to.add(group(each.name), each.when.length()); }
    }
  } else if (what == category::kernel) {
    for (auto const& each : of.kernels) { to.add(group(each.name), each.when.length()); }
  } else {
    each_memory_operation(of, [&](std::string const& name, auto const& each) {
      to.add({label, name}, each.when.length());
    });
  }
}

/// A summary of times of these categories. Several of them have a column that says which.
inline table time_summary(view const& rows, std::string name, std::string title,
                          std::string const& count, std::initializer_list<category> what,
                          std::string const& last = "Name") {
  auto const columns = (what.size() > 1 ? "Category:t, " : "") + last + ":t";
  table result{std::move(name), std::move(title), time_columns(count, columns)};
  grouping<operation_key> groups;
  for (auto const each : what) { add_category(groups, rows.of(), each); }
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

}  // namespace assay::trace
