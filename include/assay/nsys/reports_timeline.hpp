// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arithmetic of the timeline as tables: busy and idle time, gaps, overlap, concurrency,
/// launches, and each instance of a range.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/launch_latency.hpp>
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
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Busy and idle time of each device; of several devices also the time in which any was busy.
inline table gpu_time_sum(view const& rows) {
  table result{
      "gpu_time_sum", "Device Busy and Idle Time",
      parse_columns("Span (ns), Busy (ns), Busy (%):1, Kernels (ns), Memory (ns), Idle (ns), "
                    "Host Late (ns), Dependency (ns), Stream Order (ns), Tracer (ns), "
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
  for (auto const& each : rows.gpu_operations()) { busy.push_back(each.when); }
  for (auto const& each : all) {
    extent.begin = std::min(extent.begin, each.extent.begin);
    extent.end = std::max(extent.end, each.extent.end);
  }
  auto const any = interval_set{std::move(busy)}.length();
  result.add(extent.length(), any, percent_of(any, extent.length()), std::nullopt, std::nullopt,
             extent.length() - any, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
             std::nullopt, "any of them");
  return result;
}

/// The gaps of each stream, with their causes.
inline table stream_gap_sum(view const& rows) {
  table result{
      "stream_gap_sum", "Gaps of Streams",
      parse_columns("Device, Ctx, Strm, Gaps, Total (ns), Avg (ns):1, Med (ns):1, Max (ns), "
                    "Host Late (ns), Dependency (ns), Stream Order (ns), Tracer (ns), Other (ns)")};
  std::map<stream_key, std::vector<idle_gap>> streams;
  for (auto const& gap : stream_gaps(rows)) { streams[gap.stream].push_back(gap); }
  for (auto const& [stream, gaps] : streams) {
    std::vector<std::int64_t> lengths;
    for (auto const& gap : gaps) { lengths.push_back(gap.when.length()); }
    auto const shape = summarize(std::move(lengths));
    auto const causes = by_cause(gaps);
    result.add(stream.device, stream.context, stream.stream, shape.count, shape.total, shape.mean,
               shape.median, shape.max, causes[0], causes[1], causes[2], causes[3], causes[4]);
  }
  return result;
}

/// Copies of each direction, all copies, copies both ways at once, and communication: how long, how
/// much of it beside kernels, and how fast. Rate is bytes over the time with any under way.
inline table overlap_sum(view const& rows, glob const& communication = communication_kernels()) {
  table result{
      "overlap_sum", "Copies and Communication beside Kernels",
      parse_columns("Count, Bytes (MB):3, Time (ns), Hidden (ns), Hidden (%):1, Exposed (ns), "
                    "Rate (GB/s):3, Device:t, Operation:t")};
  for (auto const& device : overlap(rows, communication)) {
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

/// Launches of each stream: the call, the delay to the start of the kernel, the queue, and how many
/// kernels ran for less time than their launch took.
inline table launch_sum(view const& rows) {
  table result{"launch_sum", "Launches of Streams",
               parse_columns("Device, Ctx, Strm, Launches, Call Avg (ns):1, Call Med (ns):1, "
                             "Delay Avg (ns):1, Delay Med (ns):1, Delay Min (ns), Delay Max (ns), "
                             "Queue Avg:1, Queue Max, Shorter than Call (%):1")};
  for (auto const& each : launch_latencies(rows)) {
    result.add(each.stream.device, each.stream.context, each.stream.stream, each.call.count,
               each.call.mean, each.call.median, each.delay.mean, each.delay.median, each.delay.min,
               each.delay.max, each.mean_queue, each.deepest_queue,
               percent_of(each.shorter, each.call.count));
  }
  return result;
}

namespace detail {

/// The times in which each thread waited for a device.
inline std::map<thread_key, interval_set> host_waits(view const& rows) {
  auto const& of = rows.of();
  std::map<thread_key, std::vector<span>> waits;
  for (auto const row : rows.calls) {
    auto const& each = of.calls[row];
    if (of.strings[each.name].find("Synchronize") != std::string_view::npos) {
      waits[each.thread].push_back(each.when);
    }
  }
  return sets_of(std::move(waits));
}

}  // namespace detail

/// Each instance of a range with the work that it launched, in order of start. Busy is
/// the time in which any of it ran; idle is the rest of the projection; exposed is copy time
/// without a kernel of the same instance. An instance inside another instance does not
/// count.
inline table range_instances(view const& rows, filter const& by) {
  table result{
      "range_instances", "Instances of One Range",
      parse_columns("Start (ns), Duration (ns), Projection (ns), Busy (ns), Idle (ns), Kernels, "
                    "Kernel Time (ns), Bytes (MB):3, Exposed Copies (ns), Host Waits (ns), PID, "
                    "TID, Range:t")};
  auto const& of = rows.of();
  operations_in_range const launched{of, rows.gpu_operations()};
  auto waits = detail::host_waits(rows);
  auto found = detail::outermost_ranges(of, rows.ranges, by);
  std::sort(found.begin(), found.end(), [&](row_index a, row_index b) {
    return std::tuple{of.ranges[a].when.begin, a} < std::tuple{of.ranges[b].when.begin, b};
  });
  for (auto const row : found) {
    auto const& range = of.ranges[row];
    std::vector<span> all, kernels, copies;
    std::int64_t kernel_ns = 0;
    std::int64_t count = 0;
    std::uint64_t bytes = 0;
    launched.visit(range, [&](gpu_operation const& each) {
      all.push_back(each.when);
      if (each.kind == operation_kind::copy) {
        copies.push_back(each.when);
        bytes += of.copies[each.row].bytes;
      } else if (each.kind != operation_kind::memset) {
        kernels.push_back(each.when);
        kernel_ns += each.when.length();
        ++count;
      }
    });
    interval_set const busy{std::move(all)};
    interval_set const moved{std::move(copies)};
    auto const projection = busy.extent().length();
    auto const exposed = (moved - interval_set{std::move(kernels)}).length();
    result.add(range.when.begin, range.when.length(), projection, busy.length(),
               projection - busy.length(), count, kernel_ns, static_cast<double>(bytes) / 1e6,
               exposed, waits[range.thread].length_within(range.when), range.thread.process,
               range.thread.thread, range_label(of, range));
  }
  return result;
}

}  // namespace assay::trace
