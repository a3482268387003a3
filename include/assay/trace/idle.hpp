// SPDX-License-Identifier: Apache-2.0
/// @file
/// When devices and streams had nothing to do, and why.
#pragma once

#include <assay/trace/intervals.hpp>
#include <assay/trace/view.hpp>
#include <assay/trace/work.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

namespace assay::trace {

/// Why a device or stream had nothing to do before its next piece of work.
enum class idle_cause : std::uint8_t {
  host_late,     ///< the call that asked for the work had not returned when the device fell idle
  dependency,    ///< it had been asked for, but its stream waited for an event
  stream_order,  ///< it had been asked for, and came next in a stream whose last work had just
                 ///< ended: what a device takes from one to the next, with no other stream's work
                 ///< to fill it
  tracer,        ///< the host was held up by the tracing or by one-time work of the driver
  other          ///< asked for in time, and no reason is recorded; or the call is not in the trace
};
inline constexpr std::size_t idle_causes = 5;

/// How long a stream's next work takes to start at most, ns, when it was asked for in time: kernels
/// follow each other in 1 to 2 us on an H200, and work of another kind takes up to twice that.
inline constexpr std::int64_t longest_turn_ns = 5'000;

constexpr std::string_view label(idle_cause cause) noexcept {
  constexpr std::array<std::string_view, idle_causes> names{
      "host late", "dependency", "between work of one stream", "tracer", "other"};
  return names[static_cast<std::size_t>(cause)];
}

/// A time without work between two pieces of it, of a device or of one stream.
struct idle_gap {
  span when;
  stream_key stream;  ///< of the next work; for a gap of a device only its device counts
  idle_cause cause = idle_cause::other;  ///< of what the tracer did not cause
  std::int64_t tracer_ns = 0;            ///< the part that the tracer caused
  work next;
  row_index call = no_row;     ///< asked for `next`
  row_index host_in = no_row;  ///< host late: where the thread was for most of the gap; `no_row`:
                               ///< in code of its own
};

namespace detail {

/// When the tracing held each thread up.
inline std::map<thread_key, time_set> overheads_of(model const& of) {
  std::map<thread_key, std::vector<span>> spans;
  for (auto const& each : of.overheads) { spans[each.thread].push_back(each.when); }
  std::map<thread_key, time_set> result;
  for (auto& [thread, all] : spans) { result[thread] = time_set{std::move(all)}; }
  return result;
}

/// Finds the cause of a gap from what the trace tells of the calls, waits and overheads around it.
class idle_judge {
 public:
  explicit idle_judge(view const& rows)
      : of_{rows.of()}, calls_{of_}, overheads_{overheads_of(of_)} {
    for (auto const& each : of_.synchronizations) {
      if (each.kind != sync_kind::stream_wait) { continue; }
      waits_[stream_of(each.where)].push_back(each.when.begin);
    }
    for (auto& [stream, begins] : waits_) { std::sort(begins.begin(), begins.end()); }
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

  row_index call_of(work const& which) const { return calls_.find(place_of(of_, which)); }

  /// What a stream did last.
  struct last_work {
    row_index call = no_row;  ///< asked for it
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
  };

  /// The gap before `next`, which `call` asked for, and whose stream did `last` before.
  idle_gap judge(span when, work const& next, row_index call, last_work const& last) const {
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
        gap.cause = idle_cause::host_late;
        gap.host_in = longest_call_before(gap.call, when);
      } else if (waited(gap.stream, last.call, asked.when.begin)) {
        gap.cause = idle_cause::dependency;
      } else if (last.end >= next.when.begin - longest_turn_ns) {
        gap.cause = idle_cause::stream_order;
      }
    }
    if (gap.tracer_ns == when.length()) { gap.cause = idle_cause::tracer; }
    return gap;
  }

 private:
  /// A kernel cannot be ready before its call is nearly done. A call for a copy may return long
  /// after, so it only counts as late where it began, or returned, inside the gap.
  static bool late(span call, span gap, work const& next) noexcept {
    if (call.begin >= gap.begin) { return true; }
    auto const is_copy = next.kind == work_kind::copy || next.kind == work_kind::set;
    return call.end > gap.begin && (!is_copy || call.end <= next.when.begin);
  }

  /// Whether the stream was told to wait after its last work was asked for and before its next.
  bool waited(stream_key stream, row_index call_before, std::int64_t next_call) const {
    auto const found = waits_.find(stream);
    if (found == waits_.end()) { return false; }
    auto const last = std::upper_bound(found->second.begin(), found->second.end(), next_call);
    if (last == found->second.begin()) { return false; }
    return call_before == no_row || *(last - 1) >= of_.calls[call_before].when.begin;
  }

  /// The call of the same thread that covers most of the gap. Looks at the last few only: what held
  /// a host up for long was not one of many. Of calls that began before the gap, one can reach into
  /// it only from around those it is nested with.
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
  std::map<thread_key, time_set> overheads_;
  std::map<stream_key, std::vector<std::int64_t>> waits_;
  std::map<thread_key, std::vector<row_index>> by_thread_;
};

/// The gaps of work that is sorted by `group` and begin, group by group.
template <class Group>
std::vector<idle_gap> gaps(view const& rows, std::vector<work> all, Group&& group) {
  auto const& of = rows.of();
  std::sort(all.begin(), all.end(), [](work const& a, work const& b) {
    return std::tuple{a.when.begin, a.when.end, a.kind, a.row} <
           std::tuple{b.when.begin, b.when.end, b.kind, b.row};
  });
  std::map<decltype(group(all.front())), std::vector<work>> groups;
  for (auto const& each : all) { groups[group(each)].push_back(each); }
  idle_judge const judge{rows};
  std::vector<idle_gap> result;
  for (auto const& [key, members] : groups) {
    std::map<stream_key, idle_judge::last_work> last;
    auto reach = members.front().when.end;
    for (auto const& each : members) {
      auto const call = judge.call_of(each);
      auto& before = last[stream_of(place_of(of, each))];
      if (each.when.begin > reach) {
        result.push_back(judge.judge(span{reach, each.when.begin}, each, call, before));
      }
      reach = std::max(reach, each.when.end);
      before = {call, each.when.end};
    }
  }
  return result;
}

}  // namespace detail

/// When each device did nothing between its first and last work, in order. O(n log n).
inline std::vector<idle_gap> device_gaps(view const& rows) {
  return detail::gaps(rows, rows.device_work(),
                      [&](work const& each) { return place_of(rows.of(), each).device; });
}

/// When each stream did nothing between its first and last work, stream by stream in order.
inline std::vector<idle_gap> stream_gaps(view const& rows) {
  return detail::gaps(rows, rows.device_work(),
                      [&](work const& each) { return stream_of(place_of(rows.of(), each)); });
}

/// How a device spent its time.
struct device_time {
  std::int32_t device = 0;
  span extent;                  ///< from the begin of its first to the end of its last work
  std::int64_t busy_ns = 0;     ///< at least one piece of work ran
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
  for (auto const& each : rows.device_work()) {
    auto& of = devices[place_of(rows.of(), each).device];
    of.all.push_back(each.when);
    auto const is_memory = each.kind == work_kind::copy || each.kind == work_kind::set;
    (is_memory ? of.memory : of.kernels).push_back(each.when);
  }
  std::map<std::int32_t, std::vector<idle_gap>> gaps;
  for (auto& gap : device_gaps(rows)) { gaps[gap.stream.device].push_back(gap); }
  std::vector<device_time> result;
  for (auto& [device, of] : devices) {
    device_time time;
    time.device = device;
    time.extent = of.all.front();
    for (auto const& each : of.all) {
      time.extent.begin = std::min(time.extent.begin, each.begin);
      time.extent.end = std::max(time.extent.end, each.end);
    }
    time.busy_ns = time_set{std::move(of.all)}.length();
    time.kernels_ns = time_set{std::move(of.kernels)}.length();
    time.memory_ns = time_set{std::move(of.memory)}.length();
    time.idle_ns = by_cause(gaps[device]);
    result.push_back(time);
  }
  return result;
}

}  // namespace assay::trace
