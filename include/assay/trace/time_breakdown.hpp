// SPDX-License-Identifier: Apache-2.0
/// @file
/// `time_breakdown`: the time of a run in parts that do not overlap, as its devices saw the run.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/results.hpp>
#include <assay/trace/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

inline constexpr std::string_view before_first_work = "before the first device work";
inline constexpr std::string_view after_last_work = "after the last device work";

/// The extent of all CUDA calls and operations of devices: the time that breakdowns split up.
inline span run_extent(view const& rows) {
  struct extent {
    span all;
    bool any = false;
    explicit extent(view const& of) {
      for (auto const& each : of.operations()) { widen(each.when); }
      for (auto const& each : of.of().calls) {
        if (each.layer != api::os) { widen(each.when); }
      }
    }
    void widen(span when) {
      all = any ? around(all, when) : when;
      any = true;
    }
  };
  return rows.index<extent>().all;
}

namespace detail {

/// The time of each operation, each moment shared evenly by the operations that run in it. Kernels
/// come first: copies and memsets have only the moments in which no kernel runs. `all` is in order
/// of begin.
inline std::vector<double> even_shares(std::vector<gpu_operation> const& all) {
  using end = std::pair<std::int64_t, std::size_t>;                    // of which operation
  std::priority_queue<end, std::vector<end>, std::greater<>> running;  // the first to end on top
  std::vector<double> shares(all.size(), 0);
  std::array<std::int64_t, 2> open{};  // kernels, all else
  std::array<double, 2> gained{};      // by one that is open since the first moment
  std::int64_t at = 0;
  auto const step = [&](std::int64_t until, std::size_t which, int change) {
    auto const turn = open[0] > 0 ? 0U : 1U;
    if (open[turn] > 0) {
      gained[turn] += static_cast<double>(until - at) / static_cast<double>(open[turn]);
    }
    at = until;
    auto const side = is_memory(all[which].kind) ? 1U : 0U;
    open[side] += change;
    shares[which] += change > 0 ? -gained[side] : gained[side];
  };
  auto const close = [&] {
    auto const [until, which] = running.top();
    step(until, which, -1);
    running.pop();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& when = all[i].when;
    if (when.end <= when.begin) { continue; }
    while (!running.empty() && running.top().first <= when.begin) { close(); }
    step(when.begin, i, +1);
    running.emplace(when.end, i);
  }
  while (!running.empty()) { close(); }
  return shares;
}

}  // namespace detail

/// The run as its devices saw it, all devices as one: each moment belongs to the kernels that ran,
/// else to the copies and memsets, else to the cause for which nothing ran. O(n log n).
inline time_breakdown device_time_breakdown(view const& rows) {
  auto const& of = rows.of();
  time_breakdown result;
  auto const& all = rows.operations();
  auto const extent = run_extent(rows);
  if (all.empty()) {
    result[{entry_kind::edge, std::string{before_first_work}}].ns =
        static_cast<double>(extent.length());
    return result;
  }
  auto of_kernel = once_per_name(of.strings.size(), [&](string_id name) {
    return &result[{entry_kind::kernel, std::string{of.strings[name]}}];
  });
  std::array<breakdown_entry*, copy_directions> copies{};
  auto const of_operation =
      [&](gpu_operation const& each) -> std::pair<breakdown_entry*, std::uint64_t> {
    switch (each.kind) {
      case operation_kind::kernel:
        return {of_kernel(of.kernels[each.row].name), 0};
      case operation_kind::copy: {
        auto const& copy = of.copies[each.row];
        auto const direction = direction_of(copy.kind);
        auto*& entry = copies[static_cast<std::size_t>(direction)];
        if (entry == nullptr) {
          entry = &result[{entry_kind::copy, std::string{to_string(direction)}}];
        }
        return {entry, copy.bytes};
      }
      case operation_kind::memset:
        return {&result[{entry_kind::memset, std::string{memset_label}}],
                of.memsets[each.row].bytes};
      default:
        return {&result[{entry_kind::kernel, std::string{whole_graph_label}}], 0};
    }
  };
  auto const shares = detail::even_shares(all);
  auto first = all.front().when;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const [entry, bytes] = of_operation(all[i]);
    *entry += {shares[i], 1, static_cast<double>(bytes)};
    first = around(first, all[i].when);
  }
  std::array<double, idle_causes> counts{};
  idle_times idle{};
  each_gap(rows, gap_scope::all_devices, [&](idle_gap const& gap) {
    add_gap(idle, gap);
    ++counts[static_cast<std::size_t>(gap.cause)];
  });
  for (std::size_t i = 0; i < idle_causes; ++i) {
    auto const ns = static_cast<double>(idle[i]);
    result[{entry_kind::idle, std::string{to_string(static_cast<idle_cause>(i))}}] = {ns, counts[i],
                                                                                      0};
  }
  auto const edge = [&](std::string_view name, std::int64_t length) {
    auto const ns = static_cast<double>(length);
    result[{entry_kind::edge, std::string{name}}] = {ns, 1, 0};
  };
  edge(before_first_work, first.begin - extent.begin);
  edge(after_last_work, extent.end - first.end);
  return result;
}

}  // namespace assay::trace
