// SPDX-License-Identifier: Apache-2.0
/// @file
/// `what_if`: the least time that work of devices takes without waits for the host, and with copies
/// hidden, from the trace alone.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// Lower bounds of the time from the first operation of some work to the end of its last one. All
/// operations take as long as recorded.
struct work_bounds {
  std::int64_t recorded_ns = 0;
  /// Each operation begins as soon as its stream is free, and as the work ended for which its host
  /// thread had waited by a call. Waits for events are left out: a trace does not name what they
  /// wait for, and without them the bound is only lower.
  std::int64_t without_host_ns = 0;
  /// Copies take no time of their own, but one engine makes those of one direction in turn. Kernels
  /// and idle times stay.
  std::int64_t copies_hidden_ns = 0;
  std::int64_t both_ns = 0;  ///< the replay of `without_host_ns` without copies
};

namespace detail {

/// Runs operations back to back.
class device_replay {
 public:
  device_replay(view const& rows, bool with_copies) : of_(rows.of()) {
    auto const& operations = rows.operations();
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto const& each = operations[i];
      if (!with_copies && each.kind == operation_kind::copy) { continue; }
      auto const asked = each.call == no_row ? each.when.begin : of_.calls[each.call].when.begin;
      items_.push_back({asked, each.when.begin, i, false});
    }
    for (std::size_t i = 0; i < of_.synchronizations.size(); ++i) {
      auto const& each = of_.synchronizations[i];
      if (each.kind != sync_kind::stream && each.kind != sync_kind::context) { continue; }
      items_.push_back({each.when.begin, each.when.end, i, true});
    }
    std::ranges::sort(items_, {},
                      [](item const& each) { return std::tuple{each.at, each.then, each.row}; });
    for (auto const& each : items_) {
      each.waits ? wait(of_.synchronizations[each.row], rows)
                 : run(operations[each.row], place_of(of_, operations[each.row]));
    }
  }

  std::int64_t length() const noexcept { return length_; }

 private:
  struct item {
    std::int64_t at;    ///< of the host
    std::int64_t then;  ///< orders what was asked for at once
    std::size_t row;
    bool waits;
  };
  struct stream_state {
    std::int64_t free = 0;                                            ///< in the replay
    std::int64_t reached = std::numeric_limits<std::int64_t>::min();  ///< in the trace
  };

  void run(gpu_operation const& each, device_place const& where) {
    auto& stream = streams_[stream_of(where)];
    // Kernels of one stream may overlap by programmatic dependent launches: the part that does
    // takes no time again.
    auto const from = std::max(each.when.begin, stream.reached);
    auto const thread = each.call == no_row ? thread_key{} : of_.calls[each.call].thread;
    if (each.call != no_row) { stream.free = std::max(stream.free, floor_[thread]); }
    stream.free += std::max<std::int64_t>(0, each.when.end - from);
    stream.reached = std::max(stream.reached, each.when.end);
    length_ = std::max(length_, stream.free);
  }

  void wait(synchronization const& each, view const& rows) {
    auto const call = rows.calls().find(each.where);
    if (call == no_row) { return; }
    auto& floor = floor_[of_.calls[call].thread];
    for (auto const& [key, stream] : streams_) {
      auto const one = each.kind == sync_kind::context
                           ? key.process == each.where.process && key.device == each.where.device
                           : key == stream_of(each.where);
      // An operation that ended later was not waited for.
      if (one && stream.reached <= each.when.end) { floor = std::max(floor, stream.free); }
    }
  }

  model const& of_;
  std::vector<item> items_;
  std::map<stream_key, stream_state> streams_;
  std::map<thread_key, std::int64_t> floor_;
  std::int64_t length_ = 0;
};

}  // namespace detail

/// The bounds for all operations of a view; nothing without operations.
inline std::optional<work_bounds> bounds_of(view const& rows) {
  auto const& operations = rows.operations();
  if (operations.empty()) { return std::nullopt; }
  auto extent = operations.front().when;
  std::vector<span> copies, others;
  for (auto const& each : operations) {
    extent = around(extent, each.when);
    (each.kind == operation_kind::copy ? copies : others).push_back(each.when);
  }
  interval_set const moved{std::move(copies)};
  auto const exposed = moved.length() - (moved & interval_set{std::move(others)}).length();
  std::int64_t engine = 0;  // of the busiest direction of any device
  for (auto const& device : overlap(rows)) {
    for (auto const& use : device.by_direction) { engine = std::max(engine, use.busy_ns); }
  }
  work_bounds made;
  made.recorded_ns = extent.length();
  made.without_host_ns = std::min(made.recorded_ns, detail::device_replay{rows, true}.length());
  made.copies_hidden_ns = std::max(made.recorded_ns - exposed, engine);
  made.both_ns =
      std::min(made.without_host_ns, std::max(detail::device_replay{rows, false}.length(), engine));
  return made;
}

/// The bounds of each of the parts, such as the steps of a training, in one row for each question.
inline table what_if(std::vector<view> const& parts) {
  table result{"what_if", "Least Time of Device Work",
               parse_columns("Instances, Med (ns):1, Min (ns), Max (ns), Of Recorded (%):1, "
                             "What If:t, Assumes:t")};
  std::vector<work_bounds> all;
  for (auto const& each : parts) {
    if (auto const found = bounds_of(each)) { all.push_back(*found); }
  }
  if (all.empty()) { return result; }
  auto const add = [&](std::int64_t work_bounds::*which, char const* name, char const* assumes) {
    std::vector<std::int64_t> values;
    std::int64_t sum = 0, recorded = 0;
    for (auto const& each : all) {
      values.push_back(each.*which);
      sum = saturated_sum(sum, each.*which);
      recorded = saturated_sum(recorded, each.recorded_ns);
    }
    auto const shape = summarize(std::move(values));
    result.add(shape.count, shape.median, shape.min, shape.max, percent_of(sum, recorded), name,
               assumes);
  };
  add(&work_bounds::recorded_ns, "as recorded", "first begin to last end on devices");
  add(&work_bounds::without_host_ns, "no waits for the host, at least",
      "operations back to back in their streams, waits of the host as dependencies");
  add(&work_bounds::copies_hidden_ns, "copies hidden, at least",
      "kernels and idle times stay, one copy engine a direction");
  add(&work_bounds::both_ns, "both, at least", "kernels back to back, copies beside them");
  return result;
}

}  // namespace assay::trace
