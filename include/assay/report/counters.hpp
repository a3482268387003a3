// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hardware counters and the bound of the work, as text.
#pragma once

#include <assay/report/format.hpp>
#include <assay/report/table.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/trace/roofline.hpp>

#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

/// Formats a value in the unit of the metric's name: `91.2 %`, `1.50 GiB`, `12.34 ms`.
inline std::string counter_text(trace::counter_value const& value) {
  auto const& name = value.metric;
  auto const has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has(".pct")) { return fixed(value.value, 2) + (std::isnan(value.value) ? "" : " %"); }
  if (name == trace::metric::gpu_time) { return duration(value.value * 1e-9); }
  if (has("cycles") && has("per_second")) { return frequency(value.value); }
  if (has("bytes") && has("per_second")) { return rate(value.value, "B"); }
  if (has("bytes") && name.ends_with(".sum")) { return byte_size(value.value); }
  auto const whole = value.value == std::floor(value.value) && std::abs(value.value) < 1e15;
  return fixed(value.value, whole ? 0 : detail::decimals_for(value.value, 4));
}

/// Prints a row for each metric and a column for each range, and a line for each unread metric.
inline void print(std::ostream& out, trace::counter_values const& all) {
  if (!all.status) {
    out << wrapped("No hardware counters: " + all.status.line(), "", "  ");
    return;
  }
  out << "Hardware counters (" << all.chip << ", device " << all.device << ", " << count(all.passes)
      << (all.passes == 1 ? " pass" : " passes") << ")\n";
  std::vector<std::string> head{"metric"};
  for (auto const& range : all.ranges) { head.push_back(range.name); }
  table rows{std::move(head)};
  for (std::size_t row = 0; !all.ranges.empty() && row < all.ranges[0].values.size(); ++row) {
    std::vector<std::string> cells{all.ranges[0].values[row].metric};
    for (auto const& range : all.ranges) {
      cells.push_back(row < range.values.size() ? counter_text(range.values[row]) : "-");
    }
    rows.add(std::move(cells));
  }
  rows.print(out);
  for (auto const& each : all.dropped) {
    out << wrapped("not counted: " + each.asked + ": " + each.why, "  ", "    ");
  }
  if (all.ranges_lost > 0) {
    out << "  " << count(all.ranges_lost)
        << " kernels lost or more: there was no room for them (max_kernels)\n";
  }
}

namespace detail {

inline std::string quantity_text(trace::quantity of, double value) {
  return of == trace::quantity::time_per_launch_cost ? fixed(value, 1) : percent(value, 1);
}

inline std::string level_text(trace::memory_level const& level) {
  auto text = byte_size(level.bytes) + ", " + rate(level.bytes_per_second, "B");
  if (!std::isnan(level.share)) { text += ", " + percent(level.share, 1) + " of its limit"; }
  if (!std::isnan(level.hit_rate)) { text += ", " + percent(level.hit_rate, 1) + " hits"; }
  return text;
}

}  // namespace detail

/// Gives the bound, its reason and the deciding numbers in one sentence.
inline std::string bound_sentence(trace::roofline const& of) {
  auto const unclear = of.limit == trace::bound::unclear;
  auto text = unclear ? "no clear bound" : std::string{to_string(of.limit)} + " bound";
  text += ": " + of.reason;
  std::string numbers;
  for (auto const& each : of.because) {
    numbers += std::string{numbers.empty() ? "" : "; "} + std::string{to_string(each.asked.of)} +
               " " + detail::quantity_text(each.asked.of, each.value) +
               (each.asked.at_least ? ", at least " : ", at most ") +
               detail::quantity_text(each.asked.of, each.asked.threshold);
  }
  return numbers.empty() ? text : text + " (" + numbers + ")";
}

/// Prints the sentence, and a line for each known figure.
inline void print(std::ostream& out, trace::roofline const& of) {
  out << wrapped(bound_sentence(of), "", "  ");
  table rows{{"what", "figure"}, {1}};
  auto const add = [&](char const* what, double known, std::string const& text) {
    if (!std::isnan(known)) { rows.add({what, text}); }
  };
  add("time", of.seconds, duration(of.seconds));
  add("SM clock", of.sm_hertz, frequency(of.sm_hertz));
  add("DRAM", of.dram.bytes, detail::level_text(of.dram));
  add("DRAM over what must move", of.dram_over_required, percent(of.dram_over_required, 1));
  add("L2", of.l2.bytes, detail::level_text(of.l2));
  add("L1", of.l1.bytes, detail::level_text(of.l1));
  add("SMs active", of.sm_active, percent(of.sm_active, 1));
  add("achieved occupancy", of.occupancy, percent(of.occupancy, 1));
  add("instructions a cycle", of.ipc, fixed(of.ipc, 2) + " of 4");
  add("issue slots", of.issue, percent(of.issue, 1));
  add("tensor pipe", of.tensor, percent(of.tensor, 1));
  add("FMA pipe", of.fma, percent(of.fma, 1));
  add("FLOP rate", of.flops_per_second, rate(of.flops_per_second, "FLOP"));
  add("FLOPs a DRAM byte", of.intensity, fixed(of.intensity, 2));
  add("ridge of the roofline", of.ridge, fixed(of.ridge, 2));
  add("of the roof", of.roof_share, percent(of.roof_share, 1));
  for (auto const& [name, warps] : of.waits) {
    rows.add({"warps waiting: " + name, fixed(warps, 2)});
  }
  if (!rows.empty()) { rows.print(out); }
}

}  // namespace assay::report
