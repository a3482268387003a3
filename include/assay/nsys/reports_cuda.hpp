// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of calls, kernels and memory operations, as `nsys stats` has them.
#pragma once

#include <assay/trace/groups.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

namespace detail {

/// Calls by name: those of the operating system, or those of CUDA.
inline table call_summary(view const& rows, bool of_os, table result) {
  auto const& of = rows.of();
  grouping<std::string> groups;
  auto group = once_per_name(of.strings.size(), [&](string_id name) {
    return groups.group(std::string{without_version(of.strings[name])});
  });
  groups.reserve(rows.calls.size());
  for (auto const row : rows.calls) {
    auto const& each = of.calls[row];
    if ((each.layer == api::os) == of_os) { groups.add(group(each.name), each.when.length()); }
  }
  add_times(result, groups, [](std::string const& name) { return std::tuple{name}; });
  return result;
}

/// Calls `visit(label, row of the table)` for each copy and set.
template <class Visit>
void each_memory_operation(view const& rows, Visit&& visit) {
  auto const& of = rows.of();
  for (auto const row : rows.copies) { visit(copy_label(of.copies[row].kind), of.copies[row]); }
  for (auto const row : rows.sets) { visit(std::string{set_label}, of.sets[row]); }
}

}  // namespace detail

/// Calls of the CUDA runtime and driver, by name.
inline table cuda_api_sum(view const& rows) {
  return detail::call_summary(rows, false,
                              {"cuda_api_sum", "CUDA API Summary",
                               time_columns("Num Calls", {{"Name", cell_format::text}})});
}

/// Calls of the system library, by name; only exports of nsys have any.
inline table osrt_sum(view const& rows) {
  return detail::call_summary(
      rows, true,
      {"osrt_sum", "OS Runtime Summary", time_columns("Num Calls", {{"Name", cell_format::text}})});
}

/// Kernels by demangled name.
inline table cuda_gpu_kern_sum(view const& rows) {
  auto const& of = rows.of();
  table result{"cuda_gpu_kern_sum", "CUDA GPU Kernel Summary",
               time_columns("Instances", {{"Name", cell_format::text}})};
  grouping<std::string_view> groups;
  auto group = once_per_name(of.strings.size(),
                             [&](string_id name) { return groups.group(of.strings[name]); });
  groups.reserve(rows.kernels.size());
  for (auto const row : rows.kernels) {
    auto const& each = of.kernels[row];
    groups.add(group(each.name), each.when.length());
  }
  add_times(result, groups, [](std::string_view name) { return std::tuple{name}; });
  return result;
}

/// Copies and sets by direction: their times.
inline table cuda_gpu_mem_time_sum(view const& rows) {
  table result{"cuda_gpu_mem_time_sum", "CUDA GPU MemOps Summary (by Time)",
               time_columns("Count", {{"Operation", cell_format::text}})};
  grouping<std::string> groups;
  detail::each_memory_operation(rows, [&](std::string const& name, auto const& each) {
    groups.add(name, each.when.length());
  });
  add_times(result, groups, [](std::string const& name) { return std::tuple{name}; });
  return result;
}

/// Copies and sets by direction: their sizes; 1 MB is 10^6 bytes.
inline table cuda_gpu_mem_size_sum(view const& rows) {
  using enum cell_format;
  table result{"cuda_gpu_mem_size_sum",
               "CUDA GPU MemOps Summary (by Size)",
               {{"Total (MB)", three_decimals},
                {"Count"},
                {"Avg (MB)", three_decimals},
                {"Med (MB)", three_decimals},
                {"Min (MB)", three_decimals},
                {"Max (MB)", three_decimals},
                {"StdDev (MB)", three_decimals},
                {"Operation", text}}};
  grouping<std::string> groups;
  detail::each_memory_operation(rows, [&](std::string const& name, auto const& each) {
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
