// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to traced.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/escape.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/traced.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline constexpr std::size_t kept_streams = 10, kept_range_lanes = 6, kept_call_lanes = 4;
inline constexpr std::size_t kept_name = 80;  // characters

/// A span before it has a place in the timeline.
struct raw_span {
  std::string kind, name, lane;
  trace::span when;
};

/// A lane of a stream: its number alone where there is one device.
inline std::string stream_lane(trace::device_place const& where, bool several_devices) {
  return concat({several_devices ? std::to_string(where.device) + ": " : "", "stream ",
                 std::to_string(where.stream)});
}

/// The operations of devices, as spans in lanes of streams.
inline std::vector<raw_span> operation_spans(trace::view const& rows) {
  auto const& of = rows.of();
  auto const& all = rows.operations();
  bool several = false;
  for (auto const& each : all) {
    several = several || place_of(of, each).device != place_of(of, all.front()).device;
  }
  std::vector<raw_span> spans;
  for (auto const& each : all) {
    auto const lane = stream_lane(place_of(of, each), several);
    switch (each.kind) {
      case trace::operation_kind::kernel:
        spans.push_back(
            {"kernel", std::string{of.strings[of.kernels[each.row].name]}, lane, each.when});
        break;
      case trace::operation_kind::copy:
        spans.push_back({"copy",
                         std::string{to_string(trace::direction_of(of.copies[each.row].kind))},
                         lane, each.when});
        break;
      case trace::operation_kind::memset:
        spans.push_back({"set", std::string{trace::memset_label}, lane, each.when});
        break;
      default:
        spans.push_back({"graph", "graph launch", lane, each.when});
    }
  }
  return spans;
}

/// Numbers of host threads from 1 on: those with ranges first, in the order of their keys.
class thread_numbers {
 public:
  std::string of(trace::thread_key const& thread) {
    return std::to_string(numbers_.try_emplace(thread, numbers_.size() + 1).first->second);
  }

 private:
  std::map<trace::thread_key, std::size_t> numbers_;
};

/// `range, transfer` for a range in the colour of a category of the library; else `range`.
inline std::string range_kind(trace::range_record const& of) {
  constexpr std::array<std::pair<category, char const*>, 5> kinds{
      {{category::cpu, "range, CPU"},
       {category::gpu, "range, GPU"},
       {category::transfer, "range, transfer"},
       {category::measurement, "range, measurement"},
       {category::allocation, "range, allocation"}}};
  for (auto const& [which, name] : kinds) {
    if (of.argb == colour(which)) { return name; }
  }
  return "range";
}

/// The calls of CUDA, as spans in a lane for each thread.
inline std::vector<raw_span> call_spans(trace::model const& of, thread_numbers& threads) {
  std::vector<raw_span> spans;
  for (auto const& each : of.calls) {
    if (each.layer == trace::api::os || each.when.length() <= 0) { continue; }
    spans.push_back({"call", std::string{trace::plain_name(of.strings[each.name])},
                     "calls " + threads.of(each.thread), each.when});
  }
  return spans;
}

/// The ranges of host threads, as spans in a lane for each depth of nesting.
inline std::vector<raw_span> range_spans(trace::model const& of, thread_numbers& threads) {
  std::vector<trace::range_record const*> all;
  for (auto const& each : of.ranges) {
    if (each.when.length() > 0 && on_one_thread(each)) { all.push_back(&each); }
  }
  std::sort(all.begin(), all.end(), [](auto const* a, auto const* b) {
    return std::tuple{a->thread, a->when.begin, b->when.end} <
           std::tuple{b->thread, b->when.begin, a->when.end};
  });
  trace::range_record const* last = nullptr;
  std::vector<std::int64_t> open;  // ends of the ranges around the next one
  std::vector<raw_span> spans;
  for (auto const* each : all) {
    if (last != nullptr && last->thread != each->thread) { open.clear(); }
    last = each;
    while (!open.empty() && open.back() <= each->when.begin) { open.pop_back(); }
    open.push_back(each->when.end);
    spans.push_back({range_kind(*each), std::string{of.strings[each->name]},
                     concat({"thread ", threads.of(each->thread),
                             open.size() > 1 ? "." + std::to_string(open.size()) : ""}),
                     each->when});
  }
  return spans;
}

/// The lanes with the most time, at most `most`, in the order of their first spans.
inline std::vector<std::string> fullest_lanes(std::vector<raw_span> const& spans,
                                              std::size_t most) {
  std::vector<std::string> order;
  std::map<std::string, std::int64_t> time;
  for (auto const& each : spans) {
    auto const [at, first] = time.try_emplace(each.lane, 0);
    if (first) { order.push_back(each.lane); }
    at->second += each.when.length();
  }
  auto ranked = order;
  std::ranges::stable_sort(ranked, std::greater{}, [&](auto const& lane) { return time[lane]; });
  ranked.resize(std::min(ranked.size(), most));
  std::erase_if(order,
                [&](auto const& lane) { return std::ranges::find(ranked, lane) == ranked.end(); });
  return order;
}

}  // namespace detail

ASSAY_INLINE measure::traced_time traced_time_of(stats::interval const& of) {
  auto const end = [](double ns) { return std::isfinite(ns) ? ns : trace::ceilings::unknown; };
  return {of.estimate, end(of.low), end(of.high)};
}

ASSAY_INLINE measure::traced_part traced_part_of(trace::change const& of) {
  return {std::string{to_string(of.what)},
          of.name,
          traced_time_of(of.delta),
          of.control.ns,
          of.variant.ns,
          of.control.count,
          of.variant.count,
          of.control.bytes,
          of.variant.bytes};
}

ASSAY_INLINE measure::timeline timeline_of(trace::view const& rows, std::size_t most) {
  auto spans = detail::operation_spans(rows);
  detail::thread_numbers numbers;
  auto ranges = detail::range_spans(rows.of(), numbers);
  auto calls = detail::call_spans(rows.of(), numbers);
  measure::timeline made;
  made.lanes = detail::fullest_lanes(spans, detail::kept_streams);
  auto const threads = detail::fullest_lanes(ranges, detail::kept_range_lanes);
  made.lanes.insert(made.lanes.end(), threads.begin(), threads.end());
  auto const calling = detail::fullest_lanes(calls, detail::kept_call_lanes);
  made.lanes.insert(made.lanes.end(), calling.begin(), calling.end());
  std::ranges::move(ranges, std::back_inserter(spans));
  std::ranges::move(calls, std::back_inserter(spans));
  auto extent = run_extent(rows);
  std::map<std::string, int> lanes;
  for (auto const& lane : made.lanes) { lanes.emplace(lane, static_cast<int>(lanes.size())); }
  auto const kept = [&](detail::raw_span const& each) { return lanes.contains(each.lane); };
  auto const end = std::stable_partition(spans.begin(), spans.end(), kept);
  auto const shown = static_cast<std::size_t>(end - spans.begin());
  std::stable_sort(spans.begin(), end,
                   [](auto const& a, auto const& b) { return a.when.length() > b.when.length(); });
  for (auto i = std::min(shown, most); i < spans.size(); ++i) {
    ++made.left_out;
    made.left_out_ns += spans[i].when.length();
  }
  spans.resize(std::min(shown, most));
  for (auto const& each : spans) { extent = trace::around(extent, each.when); }
  made.length_ns = extent.length();
  std::map<std::pair<std::string, std::string>, int> names;
  for (auto const& each : spans) {
    auto const key = std::pair{each.kind, shortened(each.name, detail::kept_name)};
    auto const [name, first] = names.try_emplace(key, static_cast<int>(names.size()));
    if (first) {
      made.kinds.push_back(key.first);
      made.names.push_back(key.second);
    }
    made.spans.push_back(
        {lanes[each.lane], name->second, each.when.begin - extent.begin, each.when.length()});
  }
  std::ranges::sort(made.spans, {},
                    [](auto const& each) { return std::pair{each.lane, each.begin_ns}; });
  return made;
}

namespace detail {

/// Idle time by cause over the batches of one variant: each with the exact signed-rank interval.
inline std::vector<measure::traced_idle> idle_of(trace::variant_evidence const& of,
                                                 int critical_value) {
  std::vector<measure::traced_idle> all;
  if (of.batches.empty()) { return all; }
  for (std::size_t cause = 0; cause < trace::idle_causes; ++cause) {
    std::string const name{to_string(static_cast<trace::idle_cause>(cause))};
    std::vector<double> values;
    for (auto const& batch : of.batches) { values.push_back(batch.idle_ns[cause]); }
    all.push_back({name, traced_time_of(stats::signed_rank_interval(values, critical_value))});
  }
  return all;
}

inline measure::traced_variant traced_variant_of(trace::variant_evidence const& of,
                                                 std::size_t index, double traced_ns,
                                                 int critical_value, std::string file) {
  measure::traced_variant made;
  made.variant = static_cast<int>(index);
  made.batch.ns = traced_ns;
  made.idle = idle_of(of, critical_value);
  made.timeline = timeline_of(of.trace);
  made.file = std::move(file);
  if (of.limits) {
    made.dram_bytes = of.limits->dram_bytes;
    made.bound = to_string(of.limits->limit);
    made.bound_reason = of.limits->reason;
  }
  return made;
}

}  // namespace detail

ASSAY_INLINE measure::traced_difference traced_record(trace::explanation const& of,
                                                      std::size_t control, std::size_t variant,
                                                      std::string control_file,
                                                      std::string variant_file) {
  auto const& found = of.changes;
  measure::traced_difference made;
  made.control = detail::traced_variant_of(of.control, control, found.control_ns,
                                           found.critical_value, std::move(control_file));
  made.variant = detail::traced_variant_of(of.variant, variant, found.variant_ns,
                                           found.critical_value, std::move(variant_file));
  made.pairs = found.pairs;
  made.confidence = found.confidence;
  made.control_seconds = of.control.seconds;
  made.untraced = {of.time.ns, of.time.low_ns, of.time.high_ns};
  made.traced = traced_time_of(found.traced);
  made.tracing = traced_time_of(found.tracing);
  made.tracing_taken = found.tracing_taken();
  for (auto const& each : found.changes) { made.parts.push_back(traced_part_of(each)); }
  return made;
}

}  // namespace assay::report
