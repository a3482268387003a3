// SPDX-License-Identifier: Apache-2.0
/// @file
/// The times in which devices and streams were idle, and the cause of each.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/results.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace assay::trace {

/// The longest time between two operations of a stream that counts as `stream_order`, ns. Kernels
/// follow each other in 1 to 2 us on an H200, and copies take up to twice as long.
inline constexpr std::int64_t max_start_delay_ns = 5'000;

/// A time without an operation between two operations of a device or of one stream.
struct idle_gap {
  span when;
  stream_key stream;                     ///< the stream of the operation after the gap
  idle_cause cause = idle_cause::other;  ///< the cause of all but `tracer_ns`
  std::int64_t tracer_ns = 0;            ///< the part that the tracer caused
  row_index call = no_row;               ///< asked for that operation
  row_index call_before = no_row;        ///< asked for the operation that began before it
};

namespace detail {

/// The times in which the tracing delayed each thread.
inline std::map<thread_key, interval_set> overheads_of(model const& of) {
  std::map<thread_key, std::vector<span>> spans;
  for (auto const& each : of.overheads) { spans[each.thread].push_back(each.when); }
  std::map<thread_key, interval_set> result;
  for (auto& [thread, all] : spans) { result[thread] = interval_set{std::move(all)}; }
  return result;
}

/// Finds the cause of a gap from the calls, waits and overheads around the gap.
class idle_classifier {
 public:
  explicit idle_classifier(view const& rows)
      : of_{rows.of()}, overheads_{overheads_of(rows.whole())}, waits_{rows.whole()} {}

  /// The last operation of a stream.
  struct last_work {
    row_index call = no_row;
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
  };

  /// The gap before `next`; `last` is the operation before it in its stream.
  idle_gap classify(span when, gpu_operation const& next, last_work const& last) const {
    idle_gap gap{.when = when, .stream = stream_of(place_of(of_, next)), .call = next.call};
    if (gap.call == no_row) {
      for (auto const& [thread, set] : overheads_) { gap.tracer_ns += set.length_within(when); }
      gap.tracer_ns = std::min(gap.tracer_ns, when.length());
    } else {
      auto const& asked = of_.calls[gap.call];
      if (auto const found = overheads_.find(asked.thread); found != overheads_.end()) {
        gap.tracer_ns = found->second.length_within(when);
      }
      if (late(asked.when, when, next)) {
        gap.cause = idle_cause::host_bound;
      } else if (waits_.between(begin_of_call(of_, last.call), asked.when.begin, gap.stream)) {
        gap.cause = idle_cause::dependency;
      } else if (last.end >= next.when.begin - max_start_delay_ns) {
        gap.cause = idle_cause::stream_order;
      }
    }
    if (gap.tracer_ns == when.length()) { gap.cause = idle_cause::tracer; }
    return gap;
  }

 private:
  /// A kernel cannot be ready before its call is nearly done. A call for a copy may return long
  /// after the copy, so such a call is late only if it began or returned inside the gap.
  static bool late(span call, span gap, gpu_operation const& next) noexcept {
    if (call.begin >= gap.begin) { return true; }
    return call.end > gap.begin && (!is_memory(next.kind) || call.end <= next.when.begin);
  }

  model const& of_;
  std::map<thread_key, interval_set> overheads_;
  stream_waits waits_;
};

}  // namespace detail

/// The operations between which gaps are looked for.
enum class gap_scope : std::uint8_t { all_devices, device, stream };

/// Calls `use(gap)` for each gap between operations of the same device or stream, in order of time.
template <class Use>
void each_gap(view const& rows, gap_scope scope, Use&& use) {
  detail::idle_classifier const classifier{rows};
  using last_work = detail::idle_classifier::last_work;
  std::map<stream_key, last_work> reached;  // the latest end, by device or stream
  std::map<stream_key, last_work> last;
  row_index call_before = no_row;
  for (auto const& each : rows.operations()) {
    auto const stream = stream_of(place_of(rows.of(), each));
    auto const group = scope == gap_scope::stream   ? stream
                       : scope == gap_scope::device ? stream_key{.device = stream.device}
                                                    : stream_key{};
    auto& reach = reached.try_emplace(group, last_work{each.call, each.when.end}).first->second.end;
    auto& before = last[stream];
    if (each.when.begin > reach) {
      auto gap = classifier.classify({reach, each.when.begin}, each, before);
      gap.call_before = call_before;
      use(gap);
    }
    reach = std::max(reach, each.when.end);
    before = {each.call, each.when.end};
    call_before = each.call;
  }
}

/// Idle time by cause, as `idle_cause` numbers the causes.
using idle_times = std::array<std::int64_t, idle_causes>;

/// Adds a gap to the time of its cause; the tracer's part goes to the tracer.
constexpr void add_gap(idle_times& to, idle_gap const& gap) noexcept {
  to[static_cast<std::size_t>(idle_cause::tracer)] += gap.tracer_ns;
  to[static_cast<std::size_t>(gap.cause)] += gap.when.length() - gap.tracer_ns;
}

/// The busy and idle time of a device.
struct device_time {
  std::int32_t device = 0;
  span extent;                  ///< from the begin of its first to the end of its last operation
  std::int64_t busy_ns = 0;     ///< at least one operation ran
  std::int64_t kernels_ns = 0;  ///< at least one kernel ran
  std::int64_t memory_ns = 0;   ///< at least one copy or set ran
  idle_times idle_ns{};

  std::int64_t idle() const noexcept { return extent.length() - busy_ns; }
  std::int64_t idle(idle_cause cause) const noexcept {
    return idle_ns[static_cast<std::size_t>(cause)];
  }
  bool operator==(device_time const&) const = default;
};

/// Busy and idle time of each device that did anything, by its number.
inline std::vector<device_time> device_times(view const& rows) {
  struct sets {
    covered_time kernels, memory, any;
    device_time time;
  };
  std::map<std::int32_t, sets> devices;
  for (auto const& each : rows.operations()) {
    auto const device = place_of(rows.of(), each).device;
    auto const [at, first] = devices.try_emplace(device);
    auto& of = at->second;
    (is_memory(each.kind) ? of.memory : of.kernels).add(each.when);
    of.any.add(each.when);
    of.time.device = device;
    of.time.extent = first ? each.when : around(of.time.extent, each.when);
  }
  each_gap(rows, gap_scope::device,
           [&](idle_gap const& gap) { add_gap(devices[gap.stream.device].time.idle_ns, gap); });
  std::vector<device_time> result;
  for (auto& [device, of] : devices) {
    of.time.kernels_ns = of.kernels.length();
    of.time.memory_ns = of.memory.length();
    of.time.busy_ns = of.any.length();
    result.push_back(of.time);
  }
  return result;
}

}  // namespace assay::trace
