// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explain_overlap`: the time in which copies overlap kernels, and the obstacles to more overlap.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// An obstacle that kept a copy from running beside a kernel.
enum class overlap_obstacle : std::uint8_t {
  no_kernels,        ///< the device ran no kernel
  same_stream,       ///< the kernels next to the copy are in the same stream
  default_stream,    ///< the copy or the kernel is in the legacy default stream
  pageable_memory,   ///< the driver stages copies of pageable memory before the call returns
  synchronous_call,  ///< the call returns when the copy is done
  sync_between,      ///< the host waited for the one before it launched the other
  host_bound,       ///< the host asked for the other when the one was half over, for no such reason
  waits_for_event,  ///< the later one's stream was told to wait for an event
  copy_engine,      ///< it was behind a copy of its direction, of another stream
  unknown
};
inline constexpr std::size_t overlap_obstacles = 10;

/// One obstacle, the copies that it concerns, and the records that show it for the worst of these.
struct overlap_reason {
  overlap_obstacle what = overlap_obstacle::unknown;
  std::int64_t copies = 0;
  std::int64_t exposed_ns = 0;  ///< time in which these copies ran and no kernel did
  std::int64_t alone_ns = 0;    ///< the part from copies that met no other obstacle
  row_index copy = no_row;      ///< the copy with the longest exposed time
  row_index kernel = no_row;    ///< a kernel that could have run beside `copy`, or a graph
  operation_kind kernel_kind = operation_kind::kernel;  ///< `graph`: one that was recorded whole
  string_id call = 0;  ///< the name of the call that stands between, or that came late
};

/// The overlap of copies and kernels, and the obstacles to more. A copy may meet several obstacles
/// and counts for each of them, so the times of obstacles do not add up.
struct overlap_explanation {
  std::vector<device_overlap> devices;
  std::int64_t copies_ns = 0;  ///< summed over devices
  std::int64_t hidden_ns = 0;
  std::vector<overlap_reason> reasons;  ///< the longest exposed time first

  std::int64_t exposed_ns() const noexcept { return copies_ns - hidden_ns; }
};

namespace detail {

/// The legacy default stream of a process's first context, as CUPTI numbers it.
inline constexpr std::uint32_t legacy_stream = 7;

/// Finds the obstacles that kept single copies apart from the kernels around them.
class overlap_classifier {
 public:
  explicit overlap_classifier(view const& rows)
      : of_{rows.of()}, calls_{rows.calls()}, waits_{rows.whole()} {
    std::map<std::int32_t, std::vector<span>> spans;
    for (auto const& each : rows.operations()) {
      auto const device = place_of(of_, each).device;
      if (!is_memory(each.kind)) {
        kernels_[device].push_back(each);
        spans[device].push_back(each.when);
      } else if (each.kind == operation_kind::copy) {
        auto const& copy = of_.copies[each.row];
        copies_[{device, direction_of(copy.kind)}].emplace_back(copy.when.end,
                                                                stream_of(copy.where));
      }
    }
    for (auto& [device, all] : spans) { busy_[device] = interval_set{std::move(all)}; }
    for (auto& [key, list] : copies_) { std::sort(list.begin(), list.end()); }
    for (auto const& each : rows.whole().calls) {
      if (of_.strings[each.name].find("Synchronize") == std::string_view::npos) { continue; }
      syncs_[each.thread].emplace_back(each.when, each.name);
    }
    for (auto& [thread, list] : syncs_) { std::sort(list.begin(), list.end()); }
  }

  struct obstacles_of_copy {
    std::array<bool, overlap_obstacles> met{};
    gpu_operation kernel{{}, operation_kind::kernel, no_row};
    string_id call = 0;

    void meet(overlap_obstacle what) { met[static_cast<std::size_t>(what)] = true; }
  };

  std::int64_t exposed(memory_copy const& copy) const {
    auto const found = busy_.find(copy.where.device);
    auto const length = std::max<std::int64_t>(copy.when.length(), 0);
    return found == busy_.end() ? length : length - found->second.length_within(copy.when);
  }

  obstacles_of_copy classify(memory_copy const& copy) const {
    using enum overlap_obstacle;
    obstacles_of_copy found;
    auto const call = calls_.find(copy.where);
    if (call != no_row) { found.call = of_.calls[call].name; }
    auto const with = kernels_.find(copy.where.device);
    if (with == kernels_.end()) {
      found.meet(no_kernels);
      return found;
    }
    found.kernel = partner(copy, with->second);
    auto const& kernel = place_of(of_, found.kernel);
    if (stream_of(kernel) == stream_of(copy.where)) {
      found.meet(same_stream);
    } else if (copy.where.stream == legacy_stream || kernel.stream == legacy_stream) {
      found.meet(default_stream);
    }
    if (pageable(copy)) {
      found.meet(pageable_memory);
    } else if (synchronous(call)) {
      found.meet(synchronous_call);
    }
    if (!found.met[static_cast<std::size_t>(same_stream)]) { timing(copy, found); }
    if (std::ranges::count(found.met, true) == 0) { found.meet(unknown); }
    return found;
  }

 private:
  /// The kernel that a copy could have run beside: of the last that began before the copy and the
  /// first after it the one of another stream, since one of the same stream may need the copy; of
  /// two equal candidates the nearer.
  gpu_operation partner(memory_copy const& copy, std::vector<gpu_operation> const& all) const {
    auto const next = std::upper_bound(
        all.begin(), all.end(), copy.when.begin,
        [](std::int64_t moment, gpu_operation const& each) { return moment < each.when.begin; });
    if (next == all.end()) { return all.back(); }
    if (next == all.begin()) { return all.front(); }
    auto const &later = *next, &earlier = *(next - 1);
    auto const own = [&](gpu_operation const& each) {
      return stream_of(place_of(of_, each)) == stream_of(copy.where);
    };
    auto const take_later = own(later) != own(earlier) ? own(earlier)
                                                       : later.when.begin - copy.when.end <=
                                                             copy.when.begin - earlier.when.end;
    return take_later ? later : earlier;
  }

  static bool pageable(memory_copy const& copy) noexcept {
    auto const direction = direction_of(copy.kind);
    return (direction == copy_direction::to_device && copy.from == memory_kind::pageable) ||
           (direction == copy_direction::to_host && copy.to == memory_kind::pageable);
  }

  bool synchronous(row_index call) const {
    if (call == no_row) { return false; }
    auto const name = of_.strings[of_.calls[call].name];
    return name.find("Memcpy") != name.npos && name.find("Async") == name.npos;
  }

  /// Compares the time at which the later of both was launched with the run of the earlier one.
  void timing(memory_copy const& copy, obstacles_of_copy& found) const {
    auto const& kernel = found.kernel;
    auto const& place = place_of(of_, kernel);
    auto const copy_first = copy.when.begin <= kernel.when.begin;
    auto const first = copy_first ? copy.when : kernel.when;
    auto const first_call = calls_.find(copy_first ? copy.where : place);
    auto const& later = copy_first ? place : copy.where;
    if (auto const call = calls_.find(later); call != no_row) {
      auto const& asked = of_.calls[call];
      auto const middle = first.begin + first.length() / 2;
      auto const began = copy_first ? kernel.when.begin : copy.when.begin;
      if (std::min(asked.when.end, began) > middle) {
        auto const sync = sync_before(asked, middle);
        found.call = sync == 0 ? asked.name : sync;
        if (sync != 0) {
          found.meet(overlap_obstacle::sync_between);
        } else if (!copy_first || !(pageable(copy) || synchronous(first_call))) {
          found.meet(overlap_obstacle::host_bound);  // else the copy's own call made the host late
        }
        return;
      }
      if (waits_.between(begin_of_call(of_, first_call), asked.when.begin, stream_of(later))) {
        return found.meet(overlap_obstacle::waits_for_event);
      }
    }
    if (!copy_first && behind_a_copy(copy)) { found.meet(overlap_obstacle::copy_engine); }
  }

  /// The name of the last call before `asked` in which its thread waited beyond `middle`; 0: none.
  string_id sync_before(api_call const& asked, std::int64_t middle) const {
    auto const found = syncs_.find(asked.thread);
    if (found == syncs_.end()) { return 0; }
    auto const after =
        std::lower_bound(found->second.begin(), found->second.end(), asked.when.begin,
                         [](auto const& each, std::int64_t at) { return each.first.begin < at; });
    if (after == found->second.begin()) { return 0; }
    auto const& [when, name] = *(after - 1);
    return when.end > middle ? name : 0;
  }

  /// True if a copy of the same direction and another stream ended just before this copy began.
  bool behind_a_copy(memory_copy const& copy) const {
    constexpr std::int64_t engine_switch_ns = 20'000;  // far above what an engine needs between two
    auto const& list = copies_.at({copy.where.device, direction_of(copy.kind)});
    auto const after =
        std::upper_bound(list.begin(), list.end(), copy.when.begin,
                         [](std::int64_t moment, auto const& each) { return moment < each.first; });
    if (after == list.begin()) { return false; }
    auto const& [end, stream] = *(after - 1);
    return copy.when.begin - end <= engine_switch_ns && stream != stream_of(copy.where);
  }

  model const& of_;
  call_index const& calls_;
  std::map<std::int32_t, std::vector<gpu_operation>> kernels_;  // of each device, by begin
  std::map<std::int32_t, interval_set> busy_;
  std::map<std::pair<std::int32_t, copy_direction>,
           std::vector<std::pair<std::int64_t, stream_key>>>
      copies_;  // the end and the stream of each
  std::map<thread_key, std::vector<std::pair<span, string_id>>> syncs_;
  stream_waits waits_;
};

}  // namespace detail

/// Finds the overlap of copies with kernels, and the obstacles to more. O(n log n).
inline overlap_explanation explain_overlap(view const& rows) {
  overlap_explanation result;
  result.devices = overlap(rows);
  for (auto const& each : result.devices) {
    result.copies_ns += each.copies_ns;
    result.hidden_ns += each.copies_hidden_ns;
  }
  detail::overlap_classifier const classifier{rows};
  std::array<overlap_reason, overlap_obstacles> reasons{};
  std::array<std::int64_t, overlap_obstacles> worst{};
  for (row_index row = 0; row < rows.of().copies.size(); ++row) {
    auto const& copy = rows.of().copies[row];
    auto const exposed = classifier.exposed(copy);
    if (exposed <= 0 || direction_of(copy.kind) == copy_direction::migration) { continue; }
    auto const found = classifier.classify(copy);
    auto const alone = std::ranges::count(found.met, true) == 1;
    for (std::size_t i = 0; i < overlap_obstacles; ++i) {
      if (!found.met[i]) { continue; }
      auto& reason = reasons[i];
      ++reason.copies;
      reason.exposed_ns += exposed;
      reason.alone_ns += alone ? exposed : 0;
      if (exposed <= worst[i]) { continue; }
      worst[i] = exposed;
      reason.copy = row;
      reason.kernel = found.kernel.row;
      reason.kernel_kind = found.kernel.kind;
      reason.call = found.call;
    }
  }
  for (std::size_t i = 0; i < overlap_obstacles; ++i) {
    if (reasons[i].copies == 0) { continue; }
    reasons[i].what = static_cast<overlap_obstacle>(i);
    result.reasons.push_back(reasons[i]);
  }
  std::ranges::stable_sort(result.reasons, std::greater{},
                           [](overlap_reason const& of) { return of.exposed_ns; });
  return result;
}

}  // namespace assay::trace
