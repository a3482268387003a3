// SPDX-License-Identifier: Apache-2.0
/// @file
/// The cost of launching kernels beside running them, as `nsys stats` has it: by kernel, and for
/// each launch; each operation of devices.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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

/// The durations of a launch, in nanoseconds.
struct launch_parts {
  std::int64_t total;  ///< from the begin of the call to the later of both ends
  std::int64_t call;
  std::optional<std::int64_t> queue;  ///< from the end of the call to the start of the kernel
  std::int64_t kernel;
};

/// Calls `visit(kernel, call, parts)` for each kernel, unless the trace lacks its call.
template <class Visit>
void each_launch(view const& rows, Visit&& visit) {
  auto const& of = rows.of();
  for (auto const& kernel : of.kernels) {
    auto const found = rows.calls().find(kernel.where);
    if (found == no_row) { continue; }
    auto const& call = of.calls[found];
    auto const waited = kernel.when.begin - call.when.end;
    visit(
        kernel, call,
        launch_parts{std::max(call.when.end, kernel.when.end) - call.when.begin, call.when.length(),
                     waited > 0 ? std::optional{waited} : std::nullopt, kernel.when.length()});
  }
}

}  // namespace detail

/// Kernels with their launch calls, by thread, device, call and kernel; the most total time first.
/// T: the whole launch; A: the call; Q: the queue; K: the kernel. A kernel without its call in
/// the trace is left out.
inline table cuda_kern_exec_sum(view const& rows) {
  using enum cell_format;
  std::string columns = "PID, TID, DevId, Count, QCount";
  for (std::string const part : {", T", ", A", ", Q", ", K"}) {
    columns += concat({part, "Avg (ns):1", part, "Med (ns):1", part, "Min (ns)", part, "Max (ns)",
                       part, "StdDev (ns):1"});
  }
  columns += ", API Name:t, Kernel Name:t";
  table result{"cuda_kern_exec_sum", "CUDA Kernel Launch & Exec Time Summary",
               parse_columns(columns)};

  auto const& of = rows.of();
  using launcher = std::tuple<thread_key, std::int32_t, string_id>;
  std::map<launcher, std::uint32_t> launchers;
  // By the number of the launcher and by kernel: a map of both takes longer than all else here.
  std::unordered_map<std::uint64_t, std::array<std::vector<std::int64_t>, 4>> groups;
  detail::each_launch(
      rows, [&](kernel_run const& kernel, api_call const& call, detail::launch_parts const& parts) {
        auto const next = static_cast<std::uint32_t>(launchers.size());
        auto const by = launchers.try_emplace({call.thread, kernel.where.device, call.name}, next);
        auto& [total, calls, queued, kernels] =
            groups[std::uint64_t{by.first->second} << 32U | kernel.name];
        total.push_back(parts.total);
        calls.push_back(parts.call);
        if (parts.queue) { queued.push_back(*parts.queue); }
        kernels.push_back(parts.kernel);
      });
  std::vector<launcher> by(launchers.size());
  for (auto const& [each, number] : launchers) { by[number] = each; }
  using key = std::tuple<launcher, string_id>;
  std::vector<std::pair<key, std::array<summary_statistics, 4>>> lines;
  for (auto& [group, parts] : groups) {
    auto& line = lines.emplace_back();
    line.first = {by[group >> 32U], static_cast<string_id>(group)};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      line.second[i] = summarize_in_place(parts[i]);
    }
  }
  std::sort(lines.begin(), lines.end(), [](auto const& a, auto const& b) {
    return std::tie(b.second[0].total, a.first) < std::tie(a.second[0].total, b.first);
  });
  for (auto const& [group, parts] : lines) {
    auto const& [start, kernel] = group;
    auto const& [thread, device, call] = start;
    auto const& [t, a, q, k] = parts;
    auto const queued = [&, none = q.count == 0](auto value) {
      return none ? std::nullopt : std::optional{value};
    };
    result.add(thread.process, thread.thread, device, t.count, q.count, t.mean, t.median, t.min,
               t.max, t.deviation, a.mean, a.median, a.min, a.max, a.deviation, queued(q.mean),
               queued(q.median), queued(q.min), queued(q.max), queued(q.deviation), k.mean,
               k.median, k.min, k.max, k.deviation, without_version(of.strings[call]),
               of.strings[kernel]);
  }
  return result;
}

/// The launch of each kernel, in order of the calls. Kernels without a call are left out.
inline table cuda_kern_exec_trace(view const& rows) {
  using enum cell_format;
  table result{"cuda_kern_exec_trace", "CUDA Kernel Launch & Exec Time Trace",
               parse_columns("API Start (ns), API Dur (ns), Queue Start (ns), Queue Dur (ns), "
                             "Kernel Start (ns), Kernel Dur (ns), Total Dur (ns), PID, TID, DevId, "
                             "API Function:t, GridXYZ:t, BlockXYZ:t, Kernel Name:t")};
  auto const& of = rows.of();
  struct launch {
    kernel_run const* kernel;
    api_call const* call;
    detail::launch_parts parts;
  };
  std::vector<launch> all;
  detail::each_launch(
      rows, [&](kernel_run const& kernel, api_call const& call, detail::launch_parts const& parts) {
        all.push_back({&kernel, &call, parts});
      });
  std::stable_sort(all.begin(), all.end(), [](launch const& a, launch const& b) {
    return std::tuple{a.call->when.begin, a.kernel->when.begin} <
           std::tuple{b.call->when.begin, b.kernel->when.begin};
  });
  auto const shape = [](dimensions const& size) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%4u %4u %4u", size[0], size[1], size[2]);
    return std::string{text.data()};
  };
  for (auto const& [kernel, call, parts] : all) {
    auto const queued = parts.queue ? std::optional{call->when.end} : std::nullopt;
    result.add(call->when.begin, parts.call, queued, parts.queue, kernel->when.begin, parts.kernel,
               parts.total, call->thread.process, call->thread.thread, kernel->where.device,
               without_version(of.strings[call->name]), shape(kernel->grid), shape(kernel->block),
               of.strings[kernel->name]);
  }
  return result;
}

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

}  // namespace assay::trace
