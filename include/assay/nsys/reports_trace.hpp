// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables with a row for each event, as `nsys stats` has them.
#pragma once

#include <assay/nsys/reports_nvtx.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace assay::trace {

/// MB/s as nsys computes them: operations of this length that fit in a second, as a whole number,
/// times the bytes of one. Nothing for an operation without length.
constexpr std::optional<double> throughput_mb(std::uint64_t bytes,
                                              std::int64_t duration_ns) noexcept {
  if (duration_ns <= 0) { return std::nullopt; }
  return static_cast<double>(1'000'000'000 / duration_ns) * static_cast<double>(bytes) / 1e6;
}

/// Every kernel, copy and set in order of its start.
inline table cuda_gpu_trace(view const& rows) {
  table result{
      "cuda_gpu_trace", "CUDA GPU Trace",
      parse_columns("Start (ns), Duration (ns), CorrId, GrdX, GrdY, GrdZ, BlkX, BlkY, BlkZ, "
                    "Reg/Trd, StcSMem (MB):3, DymSMem (MB):3, Bytes (MB):3, Throughput (MB/s):3, "
                    "SrcMemKd:t, DstMemKd:t, Device:t, Ctx, GreenCtx, Strm, Name:t")};
  auto const& of = rows.of();
  constexpr auto none = std::nullopt;
  auto const mega = [](auto value) { return static_cast<double>(value) / 1e6; };
  auto name_of = once_per_name(of.strings.size(),
                               [&](string_id name) { return result.keep(of.strings[name]); });
  std::map<std::int32_t, table_text> labels;
  auto const device_of = [&](std::int32_t device) {
    auto const [at, added] = labels.try_emplace(device);
    if (added) { at->second = result.keep(device_label(of, device)); }
    return at->second;
  };
  auto const green = [](device_place const& at) {
    return at.green_context == 0 ? std::nullopt : std::optional{at.green_context};
  };
  auto const add_memory = [&](auto const& each, std::string_view from,
                              std::optional<std::string_view> to, std::string_view name) {
    auto const& at = each.where;
    result.add(each.when.begin, each.when.length(), at.correlation, none, none, none, none, none,
               none, none, none, none, mega(each.bytes),
               throughput_mb(each.bytes, each.when.length()), from, to, device_of(at.device),
               at.context, green(at), at.stream, name);
  };
  for (auto const& each : rows.operations()) {
    if (each.kind == operation_kind::kernel) {
      auto const& run = of.kernels[each.row];
      auto const& at = run.where;
      result.add(run.when.begin, run.when.length(), at.correlation, run.grid[0], run.grid[1],
                 run.grid[2], run.block[0], run.block[1], run.block[2], run.registers_per_thread,
                 mega(run.static_shared_bytes), mega(run.dynamic_shared_bytes), none, none, none,
                 none, device_of(at.device), at.context, green(at), at.stream, name_of(run.name));
    } else if (each.kind == operation_kind::copy) {
      auto const& copy = of.copies[each.row];
      add_memory(copy, to_string(copy.from), to_string(copy.to), copy_label(copy.kind));
    } else if (each.kind == operation_kind::memset) {
      auto const& fill = of.memsets[each.row];
      add_memory(fill, to_string(fill.kind), none, memset_label);
    }  // nsys has a report of its own for graphs that were recorded whole
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
