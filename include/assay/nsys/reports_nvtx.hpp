// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ranges and what was launched inside them, as `nsys stats` has them: summaries and each range.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/summary_statistics.hpp>
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

/// The place of a range in the tree of its thread.
struct nested_range {
  row_index row = no_row;
  std::uint32_t parent = no_row;  ///< index of the parent in the list; `no_row` at the top
  std::uint32_t level = 0;        ///< 0 at the top
  std::uint32_t children = 0;     ///< direct ones
  std::int64_t child_ns = 0;      ///< summed time of the direct children
};

/// The push/pop ranges of a trace, ordered by begin; of two that begin together the longer comes
/// first. A range's parent is the latest range of its thread, in any domain, that contains it.
/// Ranges that only overlap are not related. O(n log n).
inline std::vector<nested_range> nest(model const& of) {
  std::vector<nested_range> all;
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    if (of.ranges[row].style == range_style::push_pop) { all.push_back({.row = row}); }
  }
  std::sort(all.begin(), all.end(), [&](nested_range const& a, nested_range const& b) {
    auto const& x = of.ranges[a.row];
    auto const& y = of.ranges[b.row];
    return std::tuple{x.when.begin, y.when.end, x.thread, a.row} <
           std::tuple{y.when.begin, x.when.end, y.thread, b.row};
  });
  std::vector<std::uint32_t> by_thread(all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) { by_thread[i] = i; }
  std::stable_sort(by_thread.begin(), by_thread.end(), [&](std::uint32_t a, std::uint32_t b) {
    return of.ranges[all[a].row].thread < of.ranges[all[b].row].thread;
  });
  // Ends fall from the bottom of the stack to its top: a range that ends before the new one
  // contains neither the new one nor a later one.
  std::vector<std::uint32_t> open;
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    auto& each = all[by_thread[i]];
    auto const& range = of.ranges[each.row];
    if (i > 0 && of.ranges[all[by_thread[i - 1]].row].thread != range.thread) { open.clear(); }
    if (range.when.end < range.when.begin) { continue; }  // the clock was set back: not related
    while (!open.empty() && of.ranges[all[open.back()].row].when.end < range.when.end) {
      open.pop_back();
    }
    if (!open.empty()) {
      auto& parent = all[open.back()];
      each.parent = open.back();
      each.level = parent.level + 1;
      ++parent.children;
      parent.child_ns += range.when.length();
    }
    open.push_back(by_thread[i]);
  }
  return all;
}

namespace detail {

/// Ranges told apart by label and style.
using range_key = std::tuple<std::string, std::string_view>;

inline range_key key_of(model const& of, range_record const& range) {
  return {range_label(of, range), to_string(range.style)};
}

}  // namespace detail

/// Ranges by name: the host time between their begin and end. Marks have none and are not told.
inline table nvtx_sum(view const& rows) {
  auto const& of = rows.of();
  table result{"nvtx_sum", "NVTX Range Summary", time_columns("Instances", "Style:t, Range:t")};
  grouping<detail::range_key> groups;
  for (auto const& each : of.ranges) {
    if (each.style == range_style::mark) { continue; }
    groups.add(detail::key_of(of, each), each.when.length());
  }
  add_times(result, groups.by_total(), [](detail::range_key const& key) {
    return std::tuple{std::get<1>(key), std::get<0>(key)};
  });
  return result;
}

/// Kernels by the ranges that they were launched in: a kernel counts for every range of the
/// launching thread that holds its launch call. The rows are sorted by total time.
inline table nvtx_kern_sum(view const& rows) {
  auto const& of = rows.of();
  table result{
      "nvtx_kern_sum", "NVTX Range Kernel Summary",
      parse_columns("NVTX Range:t, Style:t, PID, TID, NVTX Inst, Kern Inst, Total Time (ns), "
                    "Avg (ns):1, Med (ns):1, Min (ns), Max (ns), StdDev (ns):1, Kernel Name:t")};
  struct launches {
    std::int64_t instances = 0;  ///< ranges with such a kernel
    row_index last = no_row;     ///< the latest of these ranges
    std::vector<std::int64_t> times;
  };
  using range_of_thread = std::pair<detail::range_key, thread_key>;
  std::map<range_of_thread, std::uint32_t> numbers;
  std::unordered_map<std::uint64_t, launches> groups;  // by the number of the range and by kernel
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    auto const& range = of.ranges[row];
    std::optional<std::uint64_t> number;
    rows.visit(range, [&](gpu_operation const& each) {
      if (each.kind != operation_kind::kernel) { return; }
      if (!number) {
        auto const next = static_cast<std::uint32_t>(numbers.size());
        auto const key = range_of_thread{detail::key_of(of, range), range.thread};
        number = std::uint64_t{numbers.try_emplace(key, next).first->second} << 32U;
      }
      auto& kernels = groups[*number | of.kernels[each.row].name];
      kernels.instances += kernels.last == row ? 0 : 1;
      kernels.last = row;
      kernels.times.push_back(each.when.length());
    });
  }
  std::vector<range_of_thread const*> keys(numbers.size());
  for (auto const& [key, number] : numbers) { keys[number] = &key; }
  struct line {
    detail::range_key range;
    thread_key thread;
    std::string_view name;
    std::int64_t instances;
    summary_statistics kernels;
  };
  std::vector<line> lines;
  for (auto& [group, kernels] : groups) {
    auto const& [range, thread] = *keys[group >> 32U];
    lines.push_back({range, thread, of.strings[static_cast<string_id>(group)], kernels.instances,
                     summarize_in_place(kernels.times)});
  }
  std::sort(lines.begin(), lines.end(), [](line const& a, line const& b) {
    if (a.kernels.total != b.kernels.total) { return a.kernels.total > b.kernels.total; }
    return std::tie(a.range, a.thread, a.name) < std::tie(b.range, b.thread, b.name);
  });
  for (auto const& each : lines) {
    result.add(std::get<0>(each.range), std::get<1>(each.range), each.thread.process,
               each.thread.thread, each.instances, each.kernels.count, each.kernels.total,
               each.kernels.mean, each.kernels.median, each.kernels.min, each.kernels.max,
               each.kernels.deviation, each.name);
  }
  return result;
}

namespace detail {

/// The number of levels that `RangeStack` shows. A program that pushes and never pops nests without
/// end, and the texts would grow with the square of the trace.
inline constexpr std::uint32_t deepest_told = 256;

/// The numbers of a range and of those that it stands in, outermost first: `:5:6`.
inline std::string stack_text(std::vector<nested_range> const& all, std::size_t which) {
  std::vector<std::size_t> path{which + 1};
  while (all[path.back() - 1].parent != no_row && path.size() < deepest_told) {
    path.push_back(all[path.back() - 1].parent + 1U);
  }
  std::string text = all[path.back() - 1].parent == no_row ? "" : ":...";
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    text.append(":").append(std::to_string(*at));
  }
  return text;
}

/// Sums over the instances of ranges with one label.
struct projected_ranges {
  std::int64_t range_ns = 0;
  std::int64_t operations = 0;
  std::int64_t levels = 0;
  std::int64_t children = 0;
};

/// Calls `visit(row, projection, operations, place)` for each range that launched work. The
/// projection reaches from the start of the first operation to the end of the last; `place` is
/// the index of the range in `nested`.
template <class Visit>
void each_projection(view const& rows, std::vector<nested_range> const& nested, Visit&& visit) {
  auto const& of = rows.of();
  std::vector<std::size_t> place(of.ranges.size(), nested.size());
  for (std::size_t i = 0; i < nested.size(); ++i) { place[nested[i].row] = i; }
  for (row_index row = 0; row < of.ranges.size(); ++row) {
    std::int64_t count = 0;
    span projection;
    rows.visit(of.ranges[row], [&](gpu_operation const& each) {
      projection = count++ == 0 ? each.when : around(projection, each.when);
    });
    if (count > 0) { visit(row, projection, count, place[row]); }
  }
}

}  // namespace detail

/// Ranges projected to the devices: from the start of the first to the end of the last operation
/// that was launched inside, on any device. A range that launched nothing has no projection and is
/// not told; nor is one that ended on another thread. Time of inner ranges is not taken off.
inline table nvtx_gpu_proj_sum(view const& rows) {
  auto const& of = rows.of();
  table result{"nvtx_gpu_proj_sum", "NVTX GPU Projection Summary",
               parse_columns("Range:t, Style:t, Total Proj Time (ns), Total Range Time (ns), "
                             "Range Instances, Proj Avg (ns):1, Proj Med (ns):1, Proj Min (ns), "
                             "Proj Max (ns), Proj StdDev (ns):1, Total GPU Ops, Avg GPU Ops:1, "
                             "Avg Range Lvl:1, Avg Num Child:1")};
  auto const nested = nest(of);
  grouping<detail::range_key> groups;
  std::map<detail::range_key, detail::projected_ranges> sums;
  detail::each_projection(
      rows, nested, [&](row_index row, span projection, std::int64_t count, std::size_t place) {
        auto const key = detail::key_of(of, of.ranges[row]);
        groups.add(key, projection.length());
        auto& sum = sums[key];
        sum.range_ns += of.ranges[row].when.length();
        sum.operations += count;
        if (place == nested.size()) { return; }
        sum.levels += nested[place].level;
        sum.children += nested[place].children;
      });
  for (auto const& [key, each] : groups.by_total()) {
    auto const& sum = sums[key];
    auto const mean = [count = each.count](std::int64_t value) {
      return static_cast<double>(value) / static_cast<double>(count);
    };
    result.add(std::get<0>(key), std::get<1>(key), each.total, sum.range_ns, each.count, each.mean,
               each.median, each.min, each.max, each.deviation, sum.operations,
               mean(sum.operations), mean(sum.levels), mean(sum.children));
  }
  return result;
}

/// Each instance of the ranges of `nvtx_gpu_proj_sum`, in order of its projection.
inline table nvtx_gpu_proj_trace(view const& rows) {
  table result{
      "nvtx_gpu_proj_trace", "NVTX GPU Projection Trace",
      parse_columns("Name:t, Projected Start (ns), Projected Duration (ns), Orig Start (ns), "
                    "Orig Duration (ns), Style:t, PID, TID, NumGPUOps, Lvl, NumChild, RangeId, "
                    "ParentId, RangeStack:t")};
  auto const& of = rows.of();
  auto const nested = nest(of);
  struct line {
    row_index row;
    span projection;
    std::int64_t operations;
    std::size_t place;
  };
  std::vector<line> lines;
  detail::each_projection(
      rows, nested, [&](row_index row, span projection, std::int64_t count, std::size_t place) {
        lines.push_back({row, projection, count, place});
      });
  std::stable_sort(lines.begin(), lines.end(), [](line const& a, line const& b) {
    return std::pair{a.projection.begin, b.projection.end} <
           std::pair{b.projection.begin, a.projection.end};
  });
  for (auto const& [row, projection, operations, place] : lines) {
    auto const& range = of.ranges[row];
    auto const is_nested = place < nested.size();
    auto const at = is_nested ? nested[place] : nested_range{};
    auto const told = [&](auto value) { return is_nested ? std::optional{value} : std::nullopt; };
    result.add(range_label(of, range), projection.begin, projection.length(), range.when.begin,
               range.when.length(), to_string(range.style), range.thread.process,
               range.thread.thread, operations, told(at.level), told(at.children), told(place + 1),
               is_nested && at.parent != no_row ? std::optional{at.parent + 1U} : std::nullopt,
               is_nested ? detail::stack_text(nested, place) : std::string{});
  }
  return result;
}

/// Every push/pop range in order of start, with its place in the nest of its thread. RangeId
/// counts from 1 in that order.
inline table nvtx_pushpop_trace(view const& rows) {
  table result{"nvtx_pushpop_trace", "NVTX Push/Pop Range Trace",
               parse_columns(
                   "Start (ns), End (ns), Duration (ns), DurChild (ns), DurNonChild (ns), "
                   "Name:t, PID, TID, Lvl, NumChild, RangeId, ParentId, RangeStack:t, NameTree:t")};
  auto const& of = rows.of();
  auto const all = nest(of);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& each = all[i];
    auto const& range = of.ranges[each.row];
    auto const top = each.parent == no_row;
    auto const name = range_label(of, range);
    std::string tree;
    for (std::uint32_t level = 0; level < std::min(each.level, detail::deepest_told); ++level) {
      tree += "--";
    }
    result.add(range.when.begin, range.when.end, range.when.length(), each.child_ns,
               range.when.length() - each.child_ns, name, range.thread.process, range.thread.thread,
               each.level, each.children, i + 1,
               top ? std::optional<std::size_t>{} : std::optional<std::size_t>{each.parent + 1U},
               detail::stack_text(all, i), tree + name);
  }
  return result;
}

}  // namespace assay::trace
