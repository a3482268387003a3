// SPDX-License-Identifier: Apache-2.0
/// @file
/// The times in which devices and streams were idle, and the cause of each.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The cause for which a device or stream was idle before its next operation.
enum class idle_cause : std::uint8_t {
  host_bound,    ///< the launching call had not returned when the device became idle
  dependency,    ///< the operation was launched in time, but its stream waited for an event
  stream_order,  ///< the operation was launched in time, and the one before it in its stream had
                 ///< just ended: a device takes some time from one to the next
  tracer,        ///< the tracing or one-time work of the driver delayed the host
  other          ///< launched in time and no cause is recorded, or the call is not in the trace
};
inline constexpr std::size_t idle_causes = 5;

/// The longest time between two operations of a stream that counts as `stream_order`, ns. Kernels
/// follow each other in 1 to 2 us on an H200, and copies take up to twice as long.
inline constexpr std::int64_t max_start_delay_ns = 5'000;

constexpr std::string_view to_string(idle_cause cause) noexcept {
  constexpr std::array<std::string_view, idle_causes> names{
      "host late", "dependency", "between work of one stream", "tracer", "other"};
  return names[static_cast<std::size_t>(cause)];
}

/// A time without an operation between two operations of a device or of one stream.
struct idle_gap {
  span when;
  stream_key stream;                     ///< the stream of `next`
  idle_cause cause = idle_cause::other;  ///< the cause of all but `tracer_ns`
  std::int64_t tracer_ns = 0;            ///< the part that the tracer caused
  gpu_operation next;
  row_index call = no_row;     ///< asked for `next`
  row_index host_in = no_row;  ///< host late: where the thread was for most of the gap; `no_row`:
                               ///< in code of its own
};

namespace detail {

inline std::map<thread_key, interval_set> sets_of(std::map<thread_key, std::vector<span>> spans) {
  std::map<thread_key, interval_set> result;
  for (auto& [thread, all] : spans) { result[thread] = interval_set{std::move(all)}; }
  return result;
}

/// The times in which the tracing delayed each thread.
inline std::map<thread_key, interval_set> overheads_of(model const& of) {
  std::map<thread_key, std::vector<span>> spans;
  for (auto const& each : of.overheads) { spans[each.thread].push_back(each.when); }
  return sets_of(std::move(spans));
}

/// Finds the cause of a gap from the calls, waits and overheads around the gap.
class idle_classifier {
 public:
  explicit idle_classifier(view const& rows)
      : of_{rows.of()}, calls_{of_}, overheads_{overheads_of(of_)}, waits_{of_} {
    for (row_index row = 0; row < of_.calls.size(); ++row) {
      by_thread_[of_.calls[row].thread].push_back(row);
    }
    for (auto& [thread, calls] : by_thread_) {
      auto const before = [&](row_index a, row_index b) {
        return of_.calls[a].when.begin < of_.calls[b].when.begin;
      };
      if (!std::is_sorted(calls.begin(), calls.end(), before)) {
        std::stable_sort(calls.begin(), calls.end(), before);
      }
    }
  }

  row_index call_of(gpu_operation const& which) const { return calls_.find(place_of(of_, which)); }

  /// The last operation of a stream.
  struct last_work {
    row_index call = no_row;  ///< asked for it
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
  };

  /// The gap before `next`, which `call` launched; `last` is the operation before it in its stream.
  idle_gap classify(span when, gpu_operation const& next, row_index call,
                    last_work const& last) const {
    idle_gap gap{.when = when, .stream = stream_of(place_of(of_, next)), .next = next};
    gap.call = call;
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
        gap.host_in = longest_call_before(gap.call, when);
      } else if (waits_.between(last.call, asked.when.begin, gap.stream)) {
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

  /// The call of the same thread that covers most of the gap. Only the last few calls are compared:
  /// a call that covers half of the gap is not one of many. Calls nest only a few levels deep, so
  /// only a few of those that began before the gap can reach into the gap.
  row_index longest_call_before(row_index call, span gap) const {
    constexpr int few = 64;
    constexpr int nested = 4;
    auto const& calls = by_thread_.at(of_.calls[call].thread);
    auto at = std::upper_bound(
        calls.begin(), calls.end(), of_.calls[call].when.begin,
        [&](std::int64_t begin, row_index row) { return begin < of_.calls[row].when.begin; });
    row_index best = no_row;
    std::int64_t most = 0;
    int before = 0;
    for (int i = 0; i < few && before < nested && at != calls.begin(); ++i) {
      auto const& when = of_.calls[*--at].when;
      auto const common = std::min(when.end, gap.end) - std::max(when.begin, gap.begin);
      if (common >= most && common > 0) {
        most = common;
        best = *at;
      }
      before += when.begin < gap.begin ? 1 : 0;
    }
    return 2 * most >= gap.length() ? best : no_row;
  }

  model const& of_;
  call_index calls_;
  std::map<thread_key, interval_set> overheads_;
  stream_waits waits_;
  std::map<thread_key, std::vector<row_index>> by_thread_;
};

/// The operations between which gaps are looked for.
enum class gap_scope : std::uint8_t { all_devices, device, stream };

/// The gaps between operations of the same device or stream, one after the other.
inline std::vector<idle_gap> gaps(view const& rows, std::vector<gpu_operation> all,
                                  gap_scope scope) {
  auto const& of = rows.of();
  std::sort(all.begin(), all.end());
  std::map<stream_key, std::vector<gpu_operation>> groups;
  for (auto const& each : all) {
    auto const& where = place_of(of, each);
    groups[scope == gap_scope::stream   ? stream_of(where)
           : scope == gap_scope::device ? stream_key{.device = where.device}
                                        : stream_key{}]
        .push_back(each);
  }
  idle_classifier const classifier{rows};
  std::vector<idle_gap> result;
  for (auto const& [key, members] : groups) {
    std::map<stream_key, idle_classifier::last_work> last;
    auto reach = members.front().when.end;
    for (auto const& each : members) {
      auto const call = classifier.call_of(each);
      auto& before = last[stream_of(place_of(of, each))];
      if (each.when.begin > reach) {
        result.push_back(classifier.classify(span{reach, each.when.begin}, each, call, before));
      }
      reach = std::max(reach, each.when.end);
      before = {call, each.when.end};
    }
  }
  return result;
}

}  // namespace detail

/// The gaps of each device between its first and last operation, in order. O(n log n).
inline std::vector<idle_gap> device_gaps(view const& rows) {
  return detail::gaps(rows, rows.gpu_operations(), detail::gap_scope::device);
}

/// The gaps of each stream between its first and last operation, stream by stream in order.
inline std::vector<idle_gap> stream_gaps(view const& rows) {
  return detail::gaps(rows, rows.gpu_operations(), detail::gap_scope::stream);
}

/// The busy and idle time of a device.
struct device_time {
  std::int32_t device = 0;
  span extent;                  ///< from the begin of its first to the end of its last operation
  std::int64_t busy_ns = 0;     ///< at least one operation ran
  std::int64_t kernels_ns = 0;  ///< at least one kernel ran
  std::int64_t memory_ns = 0;   ///< at least one copy or set ran
  std::array<std::int64_t, idle_causes> idle_ns{};  ///< by cause

  std::int64_t idle() const noexcept { return extent.length() - busy_ns; }
  std::int64_t idle(idle_cause cause) const noexcept {
    return idle_ns[static_cast<std::size_t>(cause)];
  }
  bool operator==(device_time const&) const = default;
};

/// Adds up gaps by cause; the tracer's part of each goes to the tracer.
inline std::array<std::int64_t, idle_causes> by_cause(std::vector<idle_gap> const& gaps) {
  std::array<std::int64_t, idle_causes> sums{};
  for (auto const& gap : gaps) {
    sums[static_cast<std::size_t>(idle_cause::tracer)] += gap.tracer_ns;
    sums[static_cast<std::size_t>(gap.cause)] += gap.when.length() - gap.tracer_ns;
  }
  return sums;
}

/// Busy and idle time of each device that did anything, by its number.
inline std::vector<device_time> device_times(view const& rows) {
  struct sets {
    std::vector<span> all, kernels, memory;
  };
  std::map<std::int32_t, sets> devices;
  for (auto const& each : rows.gpu_operations()) {
    auto& of = devices[place_of(rows.of(), each).device];
    of.all.push_back(each.when);
    (is_memory(each.kind) ? of.memory : of.kernels).push_back(each.when);
  }
  std::map<std::int32_t, std::vector<idle_gap>> gaps;
  for (auto& gap : device_gaps(rows)) { gaps[gap.stream.device].push_back(gap); }
  std::vector<device_time> result;
  for (auto& [device, of] : devices) {
    device_time time;
    time.device = device;
    time.extent = of.all.front();
    for (auto const& each : of.all) { time.extent = around(time.extent, each); }
    time.busy_ns = interval_set{std::move(of.all)}.length();
    time.kernels_ns = interval_set{std::move(of.kernels)}.length();
    time.memory_ns = interval_set{std::move(of.memory)}.length();
    time.idle_ns = by_cause(gaps[device]);
    result.push_back(time);
  }
  return result;
}

}  // namespace assay::trace
