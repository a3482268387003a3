// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries of ranges and of what was launched inside them, as `nsys stats` has them.
#pragma once

#include <assay/trace/groups.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/launched.hpp>
#include <assay/trace/nesting.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::trace {

namespace detail {

/// Ranges told apart by label and style.
using range_key = std::tuple<std::string, std::string_view>;

inline range_key key_of(model const& of, range_record const& range) {
  return {range_label(of, range), label(range.style)};
}

}  // namespace detail

/// Ranges by name: the host time between their begin and end. Marks have none and are not told.
inline table nvtx_sum(view const& rows) {
  auto const& of = rows.of();
  table result{
      "nvtx_sum", "NVTX Range Summary",
      time_columns("Instances", {{"Style", cell_format::text}, {"Range", cell_format::text}})};
  grouping<detail::range_key> groups;
  for (auto const row : rows.ranges) {
    auto const& each = of.ranges[row];
    if (each.style == range_style::mark) { continue; }
    groups.add(detail::key_of(of, each), each.when.length());
  }
  add_times(result, groups, [](detail::range_key const& key) {
    return std::tuple{std::get<1>(key), std::get<0>(key)};
  });
  return result;
}

/// Kernels by the ranges that they were launched in: a kernel counts for every range of the
/// launching thread that holds its launch call. By range, thread and kernel, the most time first.
inline table nvtx_kern_sum(view const& rows) {
  using enum cell_format;
  auto const& of = rows.of();
  table result{"nvtx_kern_sum",
               "NVTX Range Kernel Summary",
               {{"NVTX Range", text},
                {"Style", text},
                {"PID"},
                {"TID"},
                {"NVTX Inst"},
                {"Kern Inst"},
                {"Total Time (ns)"},
                {"Avg (ns)", one_decimal},
                {"Med (ns)", one_decimal},
                {"Min (ns)"},
                {"Max (ns)"},
                {"StdDev (ns)", one_decimal},
                {"Kernel Name", text}}};
  std::vector<work> kernels;
  for (auto const row : rows.kernels) {
    kernels.push_back({of.kernels[row].when, work_kind::kernel, row});
  }
  launched_work const launched{of, kernels};
  using thread_range = std::tuple<detail::range_key, thread_key>;
  grouping<thread_range> ranges;
  grouping<std::pair<std::uint32_t, string_id>> groups;
  std::vector<thread_range> range_of;
  std::vector<std::int64_t> instances;  // by group
  std::vector<row_index> last_seen;     // by group: the range that was counted last
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  for (auto const row : rows.ranges) {
    auto const& range = of.ranges[row];
    std::optional<std::uint32_t> number;
    launched.inside(range, [&](work const& each) {
      if (!number) {
        thread_range const key{detail::key_of(of, range), range.thread};
        number = ranges.group(key);
        if (*number == range_of.size()) { range_of.push_back(key); }
      }
      auto const name = of.kernels[each.row].name;
      auto const [at, added] = known.try_emplace((std::uint64_t{*number} << 32U) | name, 0U);
      if (added) { at->second = groups.group({*number, name}); }
      auto const group = at->second;
      groups.add(group, each.when.length());
      if (group == instances.size()) {
        instances.push_back(0);
        last_seen.push_back(no_row);
      }
      if (last_seen[group] != row) {
        ++instances[group];
        last_seen[group] = row;
      }
    });
  }
  struct line {
    thread_range const* range;
    std::int64_t instances;
    spread kernels;
    std::string_view name;
  };
  std::vector<line> lines;
  for (auto const& [key, kernel] : groups.by_total()) {
    auto const group = known.at((std::uint64_t{key.first} << 32U) | key.second);
    lines.push_back({&range_of[key.first], instances[group], kernel, of.strings[key.second]});
  }
  std::sort(lines.begin(), lines.end(), [](line const& a, line const& b) {
    if (a.kernels.total != b.kernels.total) { return a.kernels.total > b.kernels.total; }
    return std::tie(*a.range, a.name) < std::tie(*b.range, b.name);
  });
  for (auto const& each : lines) {
    auto const& [key, thread] = *each.range;
    result.add(std::get<0>(key), std::get<1>(key), thread.process, thread.thread, each.instances,
               each.kernels.count, each.kernels.total, each.kernels.mean, each.kernels.median,
               each.kernels.min, each.kernels.max, each.kernels.deviation, each.name);
  }
  return result;
}

namespace detail {

/// Sums over the instances of ranges with one label.
struct projected_ranges {
  std::int64_t range_ns = 0;
  std::int64_t operations = 0;
  std::int64_t levels = 0;
  std::int64_t children = 0;
};

}  // namespace detail

/// Ranges projected to the devices: from the start of the first to the end of the last operation
/// that was launched inside, on any device. A range that launched nothing has no projection and is
/// not told; nor is one that ended on another thread. Time of inner ranges is not taken off.
inline table nvtx_gpu_proj_sum(view const& rows) {
  using enum cell_format;
  auto const& of = rows.of();
  table result{"nvtx_gpu_proj_sum",
               "NVTX GPU Projection Summary",
               {{"Range", text},
                {"Style", text},
                {"Total Proj Time (ns)"},
                {"Total Range Time (ns)"},
                {"Range Instances"},
                {"Proj Avg (ns)", one_decimal},
                {"Proj Med (ns)", one_decimal},
                {"Proj Min (ns)"},
                {"Proj Max (ns)"},
                {"Proj StdDev (ns)", one_decimal},
                {"Total GPU Ops"},
                {"Avg GPU Ops", one_decimal},
                {"Avg Range Lvl", one_decimal},
                {"Avg Num Child", one_decimal}}};
  launched_work const launched{of, rows.device_work()};
  std::vector<nested_range> place(of.ranges.size());
  for (auto const& each : nest(of, rows.ranges)) { place[each.row] = each; }
  grouping<detail::range_key> groups;
  std::map<detail::range_key, detail::projected_ranges> sums;
  for (auto const row : rows.ranges) {
    auto const& range = of.ranges[row];
    std::int64_t count = 0;
    span projection;
    launched.inside(range, [&](work const& each) {
      projection.begin = count == 0 ? each.when.begin : std::min(projection.begin, each.when.begin);
      projection.end = count == 0 ? each.when.end : std::max(projection.end, each.when.end);
      ++count;
    });
    if (count == 0) { continue; }
    auto const key = detail::key_of(of, range);
    groups.add(key, projection.length());
    auto& sum = sums[key];
    sum.range_ns += range.when.length();
    sum.operations += count;
    sum.levels += place[row].level;
    sum.children += place[row].children;
  }
  for (auto const& [key, each] : groups.by_total()) {
    auto const& sum = sums[key];
    auto const mean = [&, &each = each](std::int64_t value) {
      return static_cast<double>(value) / static_cast<double>(each.count);
    };
    result.add(std::get<0>(key), std::get<1>(key), each.total, sum.range_ns, each.count, each.mean,
               each.median, each.min, each.max, each.deviation, sum.operations,
               mean(sum.operations), mean(sum.levels), mean(sum.children));
  }
  return result;
}

}  // namespace assay::trace
