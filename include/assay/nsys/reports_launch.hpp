// SPDX-License-Identifier: Apache-2.0
/// @file
/// `cuda_kern_exec_sum`: what launching kernels costs beside running them, as `nsys stats` has it.
#pragma once

#include <assay/trace/groups.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/spread.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace assay::trace {

namespace detail {

/// The spans of the launches of one group: whole, of the call, in the queue, of the kernel.
struct launch_times {
  std::vector<std::int64_t> total, call, queued, kernel;
};

}  // namespace detail

/// Kernels with their launch calls, by thread, device, call and kernel; the most total time first.
/// T: from the begin of the call to the later of both ends; A: the call; Q: from the end of the
/// call to the start of the kernel, where that is positive; K: the kernel. Kernels whose call is
/// not in the trace are not told.
inline table cuda_kern_exec_sum(view const& rows) {
  using enum cell_format;
  std::vector<column> columns{{"PID"}, {"TID"}, {"DevId"}, {"Count"}, {"QCount"}};
  for (std::string const part : {"T", "A", "Q", "K"}) {
    columns.insert(columns.end(), {{part + "Avg (ns)", one_decimal},
                                   {part + "Med (ns)", one_decimal},
                                   {part + "Min (ns)"},
                                   {part + "Max (ns)"},
                                   {part + "StdDev (ns)", one_decimal}});
  }
  columns.push_back({"API Name", text});
  columns.push_back({"Kernel Name", text});
  table result{"cuda_kern_exec_sum", "CUDA Kernel Launch & Exec Time Summary", columns};

  auto const& of = rows.of();
  call_index const calls{of};
  using key = std::tuple<thread_key, std::int32_t, string_id, string_id>;
  std::map<key, detail::launch_times> groups;
  for (auto const row : rows.kernels) {
    auto const& kernel = of.kernels[row];
    auto const found = calls.find(kernel.where);
    if (found == no_row) { continue; }
    auto const& call = of.calls[found];
    auto& group = groups[{call.thread, kernel.where.device, call.name, kernel.name}];
    group.total.push_back(std::max(call.when.end, kernel.when.end) - call.when.begin);
    group.call.push_back(call.when.length());
    group.kernel.push_back(kernel.when.length());
    if (kernel.when.begin > call.when.end) {
      group.queued.push_back(kernel.when.begin - call.when.end);
    }
  }
  struct line {
    key group;
    std::array<spread, 4> parts;
  };
  std::vector<line> lines;
  for (auto& [group, each] : groups) {
    lines.push_back({group,
                     {spread_of(std::move(each.total)), spread_of(std::move(each.call)),
                      spread_of(std::move(each.queued)), spread_of(std::move(each.kernel))}});
  }
  std::stable_sort(lines.begin(), lines.end(), [](line const& a, line const& b) {
    return a.parts[0].total > b.parts[0].total;
  });
  for (auto const& each : lines) {
    auto const& [thread, device, call, kernel] = each.group;
    auto const& [t, a, q, k] = each.parts;
    auto const queued = [&](auto value) {
      return q.count == 0 ? std::nullopt : std::optional{value};
    };
    result.add(thread.process, thread.thread, device, t.count, q.count, t.mean, t.median, t.min,
               t.max, t.deviation, a.mean, a.median, a.min, a.max, a.deviation, queued(q.mean),
               queued(q.median), queued(q.min), queued(q.max), queued(q.deviation), k.mean,
               k.median, k.min, k.max, k.deviation, without_version(of.strings[call]),
               of.strings[kernel]);
  }
  return result;
}

}  // namespace assay::trace
