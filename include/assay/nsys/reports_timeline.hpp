// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arithmetic of the timeline as tables: busy and idle time, gaps, overlap, concurrency and
/// launches.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// Busy and idle time of each device; of several devices also the time in which any was busy.
inline table gpu_time_sum(view const& rows) {
  table result{
      "gpu_time_sum", "Device Busy and Idle Time",
      parse_columns("Span (ns), Busy (ns), Busy (%):1, Kernels (ns), Memory (ns), Idle (ns), "
                    "Host Bound (ns), Dependency (ns), Stream Order (ns), Tracer (ns), "
                    "Other (ns), Device:t")};
  auto const all = device_times(rows);
  for (auto const& each : all) {
    auto const length = each.extent.length();
    result.add(length, each.busy_ns, percent_of(each.busy_ns, length), each.kernels_ns,
               each.memory_ns, each.idle(), each.idle(idle_cause::host_bound),
               each.idle(idle_cause::dependency), each.idle(idle_cause::stream_order),
               each.idle(idle_cause::tracer), each.idle(idle_cause::other),
               device_label(rows.of(), each.device));
  }
  if (all.size() < 2) { return result; }
  std::vector<span> busy;
  auto extent = all.front().extent;
  for (auto const& each : rows.operations()) { busy.push_back(each.when); }
  for (auto const& each : all) { extent = around(extent, each.extent); }
  auto const any = interval_set{std::move(busy)}.length();
  result.add(extent.length(), any, percent_of(any, extent.length()), std::nullopt, std::nullopt,
             extent.length() - any, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
             std::nullopt, "any of them");
  return result;
}

/// The gaps of each stream, with their causes.
inline table stream_gap_sum(view const& rows) {
  table result{"stream_gap_sum", "Gaps of Streams",
               parse_columns(
                   "Device, Ctx, Strm, Gaps, Total (ns), Avg (ns):1, Med (ns):1, Max (ns), "
                   "Host Bound (ns), Dependency (ns), Stream Order (ns), Tracer (ns), Other (ns)")};
  struct gaps {
    std::vector<std::int64_t> lengths;
    idle_times causes{};
  };
  std::map<stream_key, gaps> streams;
  each_gap(rows, gap_scope::stream, [&](idle_gap const& gap) {
    auto& of = streams[gap.stream];
    of.lengths.push_back(gap.when.length());
    add_gap(of.causes, gap);
  });
  for (auto& [stream, of] : streams) {
    auto const shape = summarize(std::move(of.lengths));
    auto const& [host, dependency, order, tracer, other] = of.causes;
    result.add(stream.device, stream.context, stream.stream, shape.count, shape.total, shape.mean,
               shape.median, shape.max, host, dependency, order, tracer, other);
  }
  return result;
}

/// Copies of each direction, all copies, copies both ways at once, and communication: how long, how
/// much of it beside kernels, and how fast. Rate is bytes over the time with any under way.
inline table overlap_sum(view const& rows) {
  table result{
      "overlap_sum", "Copies and Communication beside Kernels",
      parse_columns("Count, Bytes (MB):3, Time (ns), Hidden (ns), Hidden (%):1, Exposed (ns), "
                    "Rate (GB/s):3, Device:t, Operation:t")};
  for (auto const& device : overlap(rows)) {
    auto const where = device_label(rows.of(), device.device);
    auto const add = [&](auto count, auto bytes, std::int64_t time, std::int64_t hidden, auto rate,
                         std::string const& name) {
      if (time == 0) { return; }
      result.add(count, bytes, time, hidden, percent_of(hidden, time), time - hidden, rate, where,
                 name);
    };
    for (std::size_t i = 0; i < copy_directions; ++i) {
      auto const& use = device.by_direction[i];
      add(use.count, static_cast<double>(use.bytes) / 1e6, use.busy_ns, use.hidden_ns,
          use.gigabytes_per_second(), std::string{to_string(static_cast<copy_direction>(i))});
    }
    constexpr auto none = std::nullopt;
    add(none, none, device.copies_ns, device.copies_hidden_ns, none, "all copies");
    if (device.duplex_ns > 0) {
      result.add(none, none, device.duplex_ns, none, none, none, none, where, "both ways at once");
    }
    add(none, none, device.communication_ns, device.communication_hidden_ns, none,
        "communication beside compute");
  }
  return result;
}

/// For how long how many kernels ran at once on each device.
inline table concurrency_sum(view const& rows) {
  table result{"concurrency_sum", "Kernels at Once",
               parse_columns("Time (%):1, Time (ns), Kernels, Device:t")};
  for (auto const& device : overlap(rows)) {
    std::int64_t sum = 0;
    for (auto const time : device.kernels_at_once) { sum += time; }
    for (std::size_t k = 0; k < device.kernels_at_once.size(); ++k) {
      auto const time = device.kernels_at_once[k];
      if (time == 0) { continue; }
      result.add(percent_of(time, sum), time, k, device_label(rows.of(), device.device));
    }
  }
  return result;
}

/// Launches of each stream: the call, the delay from the end of the call to the start of the
/// kernel, the kernels in the queue, and how many kernels ran for less time than their launch took.
///
/// A delay is negative if the kernel started before the call returned. Kernels without a call are
/// left out. The nodes of a graph count as one launch, from the begin of the first node to the end
/// of the last.
inline table launch_sum(view const& rows) {
  table result{"launch_sum", "Launches of Streams",
               parse_columns("Device, Ctx, Strm, Launches, Call Avg (ns):1, Call Med (ns):1, "
                             "Delay Avg (ns):1, Delay Med (ns):1, Delay Min (ns), Delay Max (ns), "
                             "Queue Avg:1, Queue Max, Shorter than Call (%):1")};
  auto const& of = rows.of();
  struct launched {
    row_index call;
    row_index kernel;
  };
  std::map<stream_key, std::vector<launched>> streams;
  for (row_index row = 0; row < of.kernels.size(); ++row) {
    auto const& each = of.kernels[row];
    auto const call = rows.calls().find(each.where);
    if (call != no_row) { streams[stream_of(each.where)].push_back({call, row}); }
  }
  for (auto& [stream, all] : streams) {
    auto const before = [](launched const& a, launched const& b) { return a.call < b.call; };
    if (!std::is_sorted(all.begin(), all.end(), before)) {
      std::stable_sort(all.begin(), all.end(), before);
    }
    std::vector<std::int64_t> calls, delays;
    std::vector<span> queued;
    calls.reserve(all.size());
    delays.reserve(all.size());
    queued.reserve(all.size());
    std::int64_t shorter = 0;
    for (auto at = all.begin(); at != all.end();) {
      auto const& call = of.calls[at->call].when;
      auto when = of.kernels[at->kernel].when;
      std::int64_t ran = 0;
      for (auto const first = at->call; at != all.end() && at->call == first; ++at) {
        when = around(when, of.kernels[at->kernel].when);
        ran += of.kernels[at->kernel].when.length();
      }
      calls.push_back(call.length());
      delays.push_back(when.begin - call.end);
      shorter += ran < call.length() ? 1 : 0;
      queued.push_back({std::min(call.end, when.begin), when.end});
    }
    auto const call = summarize(std::move(calls));
    auto const delay = summarize(std::move(delays));
    auto const depths = time_at_depth(queued);
    double launched = 0;  // summed over the kernels in the queue
    double extent = 0;
    for (std::size_t depth = 0; depth < depths.size(); ++depth) {
      launched += static_cast<double>(depth) * static_cast<double>(depths[depth]);
      extent += static_cast<double>(depths[depth]);
    }
    result.add(stream.device, stream.context, stream.stream, call.count, call.mean, call.median,
               delay.mean, delay.median, delay.min, delay.max, extent > 0 ? launched / extent : 0,
               depths.size() - 1, percent_of(shorter, call.count));
  }
  return result;
}

}  // namespace assay::trace
