// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of calls, kernels and memory operations, as `nsys stats` has them.
#pragma once

#include <assay/trace/labels.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
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
  auto const columns = (what.size() > 1 ? "Category:t, " : "") + last + ":t";
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

}  // namespace assay::trace
