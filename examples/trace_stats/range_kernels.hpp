// SPDX-License-Identifier: Apache-2.0
/// @file
/// `range_kernels`: the kernels that one range launched, per instance of the range.
#pragma once

#include "select.hpp"

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace assay::examples {

/// The kernels of one range, per instance of the range: calls, and the mean, least and most time.
///
/// Instances that launched no kernel do not count. If instances nest, only the outermost counts.
/// Shares are parts of the time of all kernels inside the range.
inline trace::table range_kernels(trace::view const& rows, row_filter const& by,
                                  std::size_t most = 10) {
  trace::table result{
      "range_kernels", "Kernels of One Range",
      trace::parse_columns("Share (%):1, Total Time (ns), Instances, Calls, Calls/Inst:1, "
                           "Time/Inst (ns):1, Min/Inst (ns), Max/Inst (ns), Name:t")};
  auto const& of = rows.of();
  std::map<trace::string_id, std::vector<std::int64_t>> per_instance;
  std::map<trace::string_id, std::int64_t> calls;
  std::int64_t instances = 0;
  std::int64_t sum = 0;
  for (auto const row : outermost_ranges(of, by)) {
    std::map<trace::string_id, std::int64_t> inside;
    rows.visit(of.ranges[row], [&](trace::gpu_operation const& each) {
      if (each.kind != trace::operation_kind::kernel) { return; }
      auto const name = of.kernels[each.row].name;
      inside[name] += each.when.length();
      ++calls[name];
      sum += each.when.length();
    });
    instances += inside.empty() ? 0 : 1;
    for (auto const& [name, time] : inside) { per_instance[name].push_back(time); }
  }
  std::vector<std::pair<trace::string_id, trace::summary_statistics>> all;
  for (auto& [name, times] : per_instance) {
    // An instance that never called it spent nothing on it.
    times.resize(static_cast<std::size_t>(instances), 0);
    all.emplace_back(name, trace::summarize(times));
  }
  std::sort(all.begin(), all.end(), [&](auto const& a, auto const& b) {
    if (a.second.total != b.second.total) { return a.second.total > b.second.total; }
    return of.strings[a.first] < of.strings[b.first];
  });
  for (auto const& [name, each] : all) {
    if (most != 0 && result.rows() == most) { break; }
    result.add(trace::percent_of(each.total, sum), each.total, instances, calls[name],
               static_cast<double>(calls[name]) / static_cast<double>(instances), each.mean,
               each.min, each.max, of.strings[name]);
  }
  return result;
}

}  // namespace assay::examples
