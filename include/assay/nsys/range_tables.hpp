// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tables of parts of a trace: the kernels of one range, two phases side by side, and the changes
/// between two traces.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/select.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The kernels of one range, per instance of the range: calls, and the mean, least and most time.
///
/// Instances that launched no kernel do not count. If instances nest, only the outermost counts. A
/// range that ends on another thread has what all threads of its process launched in its time.
/// Shares are parts of the time of all kernels inside the range.
inline table range_kernels(view const& rows, row_filter const& by, std::size_t most = 10) {
  table result{"range_kernels", "Kernels of One Range",
               parse_columns("Share (%):1, Total Time (ns), Instances, Calls, Calls/Inst:1, "
                             "Time/Inst (ns):1, Min/Inst (ns), Max/Inst (ns), Name:t")};
  auto const& of = rows.of();
  std::map<std::string_view, std::vector<std::int64_t>> per_instance;
  std::map<std::string_view, std::int64_t> calls;
  std::size_t instances = 0;
  std::set<thread_key> threads;
  if (by.any_thread) {
    for (auto const& each : of.calls) { threads.insert(each.thread); }
  }
  for (auto const row : outermost_ranges(of, by)) {
    std::map<std::string_view, std::int64_t> inside;
    auto const visit = [&](range_record const& range) {
      rows.visit(range, [&](gpu_operation const& each) {
        if (each.kind != operation_kind::kernel) { return; }
        auto const name = of.strings[of.kernels[each.row].name];
        inside[name] += each.when.length();
        ++calls[name];
      });
    };
    auto range = of.ranges[row];
    if (!by.any_thread) { visit(range); }
    for (auto const& thread : threads) {
      if (thread.process != of.ranges[row].thread.process) { continue; }
      range.thread = range.end_thread = thread;
      visit(range);
    }
    instances += inside.empty() ? 0U : 1U;
    for (auto const& [name, time] : inside) { per_instance[name].push_back(time); }
  }
  keyed_statistics<std::string_view> all;
  for (auto& [name, times] : per_instance) {
    times.resize(instances, 0);  // an instance that never called it spent nothing on it
    all.emplace_back(name, summarize(times));
  }
  sort_by_total(all);
  for (auto const& [name, each] : all) {
    if (most != 0 && result.rows() == most) { break; }
    result.add(percent_of(each.total, total_of(all)), each.total, instances, calls[name],
               static_cast<double>(calls[name]) / static_cast<double>(instances), each.mean,
               each.min, each.max, name);
  }
  return result;
}

/// A phase of a run: its name, and its rows.
struct phase {
  std::string name;
  view rows;
};

/// Two phases by class, with the shares of the classes in each. The difference is the second share
/// minus the first, in percentage points.
inline table compare_phases(phase const& first, phase const& second,
                            kernel_classifier const& classes = default_classes()) {
  using enum cell_format;
  table result{"phases",
               "Phases Compared",
               {{first.name + " (%)", one_decimal},
                {second.name + " (%)", one_decimal},
                {"Difference (points)", one_decimal},
                {first.name + " (ns)"},
                {second.name + " (ns)"},
                {first.name + " Calls"},
                {second.name + " Calls"},
                {"Class", text}}};
  std::map<std::string, std::array<summary_statistics, 2>> by_class;
  std::array<std::int64_t, 2> sums{};
  for (std::size_t i = 0; i < 2; ++i) {
    auto const found = detail::operations_by_class((i == 0 ? first : second).rows, classes);
    for (auto const& [name, each] : found) { by_class[name][i] = each; }
    sums[i] = total_of(found);
  }
  std::vector<std::pair<std::string, std::array<summary_statistics, 2>>> all{by_class.begin(),
                                                                             by_class.end()};
  std::ranges::stable_sort(all, std::greater{},
                           [](auto const& of) { return of.second[0].total + of.second[1].total; });
  for (auto const& [name, each] : all) {
    auto const a = percent_of(each[0].total, sums[0]), b = percent_of(each[1].total, sums[1]);
    result.add(a, b, b - a, each[0].total, each[1].total, each[0].count, each[1].count, name);
  }
  return result;
}

/// The changes as a table, at most `most` of them (0: all). Times and counts are whole numbers, but
/// for means over several runs.
inline table difference_table(trace_difference const& of, std::size_t most = 20) {
  auto const format_of = [&](double breakdown_entry::*member) {
    auto const whole = [&](change const& each) {
      return each.control.*member == std::trunc(each.control.*member) &&
             each.variant.*member == std::trunc(each.variant.*member) &&
             each.delta_ns() == std::trunc(each.delta_ns());
    };
    return std::string{std::ranges::all_of(of.changes, whole) ? ", " : ":1, "};
  };
  auto const times = format_of(&breakdown_entry::ns), counts = format_of(&breakdown_entry::count);
  table result{"difference", "What Changed",
               parse_columns(concat({"Share (%):1, Delta (ns)", times, "Low (ns):1, High (ns):1, ",
                                     "Control (ns)", times, "Variant (ns)", times, "Control Count",
                                     counts, "Variant Count", counts,
                                     "Control (MB):3, Variant (MB):3, Kind:t, Name:t"}))};
  auto const end = [](double ns) { return std::isfinite(ns) ? std::optional{ns} : std::nullopt; };
  for (auto const& each : of.changes) {
    if (most != 0 && result.rows() == most) { break; }
    auto const share =
        of.has_shares ? std::optional{100 * each.delta_ns() / of.difference_ns} : std::nullopt;
    result.add(share, each.delta_ns(), end(each.delta.low), end(each.delta.high), each.control.ns,
               each.variant.ns, each.control.count, each.variant.count, each.control.bytes / 1e6,
               each.variant.bytes / 1e6, to_string(each.what), each.name);
  }
  return result;
}

}  // namespace assay::trace
