// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explain_overlap`: the time in which copies overlap kernels, and the obstacles to more overlap.
#pragma once

#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/largest_first.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::examples {

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
  std::int64_t exposed_ns = 0;              ///< time in which these copies ran and no kernel did
  std::int64_t alone_ns = 0;                ///< the part from copies that met no other obstacle
  trace::row_index copy = trace::no_row;    ///< the copy with the longest exposed time
  trace::row_index kernel = trace::no_row;  ///< a kernel that could have run beside `copy`
  trace::string_id call = 0;  ///< the name of the call that stands between, or that came late
};

/// The overlap of copies and kernels, and the obstacles to more. A copy may meet several obstacles
/// and counts for each of them, so the times of obstacles do not add up.
struct overlap_explanation {
  std::vector<trace::device_overlap> devices;
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
  explicit overlap_classifier(trace::view const& rows)
      : of_{rows.of()}, calls_{rows.calls()}, waits_{rows.whole()} {
    for (auto const& each : rows.operations()) {
      if (each.kind != trace::operation_kind::kernel) { continue; }
      devices_[of_.kernels[each.row].where.device].by_begin.push_back(each.row);
    }
    for (auto& [device, all] : devices_) {
      all.by_end = all.by_begin;
      std::sort(all.by_end.begin(), all.by_end.end(), [&](trace::row_index a, trace::row_index b) {
        return of_.kernels[a].when.end < of_.kernels[b].when.end;
      });
      std::vector<trace::span> spans;
      for (auto const row : all.by_begin) { spans.push_back(of_.kernels[row].when); }
      all.busy = trace::interval_set{std::move(spans)};
    }
    for (trace::row_index row = 0; row < of_.copies.size(); ++row) {
      auto const& each = of_.copies[row];
      copies_[{each.where.device, trace::direction_of(each.kind)}].emplace_back(each.when.end, row);
    }
    for (auto& [key, list] : copies_) { std::sort(list.begin(), list.end()); }
    for (auto const& each : rows.whole().calls) {
      if (of_.strings[each.name].find("Synchronize") == std::string_view::npos) { continue; }
      syncs_[each.thread].emplace_back(each.when, each.name);
    }
    for (auto& [thread, list] : syncs_) { std::sort(list.begin(), list.end()); }
  }

  struct obstacles_of_copy {
    std::array<bool, overlap_obstacles> met{};
    trace::row_index kernel = trace::no_row;
    trace::string_id call = 0;

    void meet(overlap_obstacle what) { met[static_cast<std::size_t>(what)] = true; }
  };

  std::int64_t exposed(trace::memory_copy const& copy) const {
    auto const found = devices_.find(copy.where.device);
    auto const length = std::max<std::int64_t>(copy.when.length(), 0);
    return found == devices_.end() ? length : length - found->second.busy.length_within(copy.when);
  }

  obstacles_of_copy classify(trace::row_index row) const {
    auto const& copy = of_.copies[row];
    obstacles_of_copy found;
    auto const meet = [&](overlap_obstacle what) { found.meet(what); };
    auto const call = calls_.find(copy.where);
    if (call != trace::no_row) { found.call = of_.calls[call].name; }
    found.kernel = partner(copy);
    if (found.kernel == trace::no_row) {
      meet(overlap_obstacle::no_kernels);
      return found;
    }
    auto const& kernel = of_.kernels[found.kernel];
    auto const one_stream = trace::stream_of(kernel.where) == trace::stream_of(copy.where);
    auto const by_default =
        copy.where.stream == legacy_stream || kernel.where.stream == legacy_stream;
    if (one_stream) { meet(overlap_obstacle::same_stream); }
    if (!one_stream && by_default) { meet(overlap_obstacle::default_stream); }
    if (pageable(copy)) {
      meet(overlap_obstacle::pageable_memory);
    } else if (synchronous(call)) {
      meet(overlap_obstacle::synchronous_call);
    }
    if (!one_stream) { timing(copy, kernel, found); }
    if (std::find(found.met.begin(), found.met.end(), true) == found.met.end()) {
      meet(overlap_obstacle::unknown);
    }
    return found;
  }

 private:
  struct device_kernels {
    std::vector<trace::row_index> by_begin, by_end;
    trace::interval_set busy;
  };

  /// The kernel that a copy could have run beside: the first that starts after the copy begins, or
  /// the last that ends before the copy ends. A kernel of another stream is preferred, since one of
  /// the same stream may need the copy; of two equal candidates the nearer is taken.
  trace::row_index partner(trace::memory_copy const& copy) const {
    auto const found = devices_.find(copy.where.device);
    if (found == devices_.end()) { return trace::no_row; }
    auto const& [by_begin, by_end, busy] = found->second;
    auto const next = std::upper_bound(by_begin.begin(), by_begin.end(), copy.when.begin,
                                       [&](std::int64_t moment, trace::row_index row) {
                                         return moment < of_.kernels[row].when.begin;
                                       });
    auto const after = std::upper_bound(by_end.begin(), by_end.end(), copy.when.end,
                                        [&](std::int64_t moment, trace::row_index row) {
                                          return moment < of_.kernels[row].when.end;
                                        });
    auto const later = next == by_begin.end() ? trace::no_row : *next;
    auto const earlier = after == by_end.begin() ? trace::no_row : *(after - 1);
    if (later == trace::no_row || earlier == trace::no_row) {
      return later == trace::no_row ? earlier : later;
    }
    auto const own = [&](trace::row_index row) {
      return trace::stream_of(of_.kernels[row].where) == trace::stream_of(copy.where);
    };
    if (own(later) != own(earlier)) { return own(later) ? earlier : later; }
    auto const to_later = of_.kernels[later].when.begin - copy.when.end;
    auto const to_earlier = copy.when.begin - of_.kernels[earlier].when.end;
    return to_later <= to_earlier ? later : earlier;
  }

  static bool pageable(trace::memory_copy const& copy) noexcept {
    auto const direction = trace::direction_of(copy.kind);
    return (direction == trace::copy_direction::to_device &&
            copy.from == trace::memory_kind::pageable) ||
           (direction == trace::copy_direction::to_host && copy.to == trace::memory_kind::pageable);
  }

  bool synchronous(trace::row_index call) const {
    if (call == trace::no_row) { return false; }
    auto const name = of_.strings[of_.calls[call].name];
    return name.find("Memcpy") != std::string_view::npos &&
           name.find("Async") == std::string_view::npos;
  }

  /// Compares the time at which the later of both was launched with the run of the earlier one.
  void timing(trace::memory_copy const& copy, trace::kernel_run const& kernel,
              obstacles_of_copy& found) const {
    auto const meet = [&](overlap_obstacle what) { found.meet(what); };
    auto const copy_first = copy.when.begin <= kernel.when.begin;
    auto const first = copy_first ? copy.when : kernel.when;
    auto const first_call = calls_.find(copy_first ? copy.where : kernel.where);
    auto const& later = copy_first ? kernel.where : copy.where;
    auto const call = calls_.find(later);
    if (call != trace::no_row) {
      auto const& asked = of_.calls[call];
      auto const middle = first.begin + first.length() / 2;
      auto const handed =
          std::min(asked.when.end, copy_first ? kernel.when.begin : copy.when.begin);
      if (handed > middle) {
        auto const sync = sync_before(asked, middle);
        found.call = sync == 0 ? asked.name : sync;
        auto const blocked = copy_first && first_call != trace::no_row &&
                             (pageable(copy) || synchronous(first_call));
        if (sync != 0) {
          meet(overlap_obstacle::sync_between);
        } else if (!blocked) {  // else the copy's own call is what made the host late
          meet(overlap_obstacle::host_bound);
        }
        return;
      }
      if (waits_.between(trace::begin_of_call(of_, first_call), asked.when.begin,
                         trace::stream_of(later))) {
        meet(overlap_obstacle::waits_for_event);
        return;
      }
    }
    if (!copy_first && behind_a_copy(copy)) { meet(overlap_obstacle::copy_engine); }
  }

  /// The name of the last call before `asked` in which its thread waited beyond `middle`; 0: none.
  trace::string_id sync_before(trace::api_call const& asked, std::int64_t middle) const {
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
  bool behind_a_copy(trace::memory_copy const& copy) const {
    constexpr std::int64_t engine_switch_ns = 20'000;  // far above what an engine needs between two
    auto const& list = copies_.at({copy.where.device, trace::direction_of(copy.kind)});
    auto const after =
        std::upper_bound(list.begin(), list.end(), copy.when.begin,
                         [](std::int64_t moment, auto const& each) { return moment < each.first; });
    if (after == list.begin()) { return false; }
    auto const& other = of_.copies[(after - 1)->second];
    return copy.when.begin - other.when.end <= engine_switch_ns &&
           trace::stream_of(other.where) != trace::stream_of(copy.where);
  }

  trace::model const& of_;
  trace::call_index const& calls_;
  std::map<std::int32_t, device_kernels> devices_;
  std::map<std::pair<std::int32_t, trace::copy_direction>,
           std::vector<std::pair<std::int64_t, trace::row_index>>>
      copies_;
  std::map<trace::thread_key, std::vector<std::pair<trace::span, trace::string_id>>> syncs_;
  trace::stream_waits waits_;
};

}  // namespace detail

/// Finds the overlap of copies with kernels, and the obstacles to more. O(n log n).
inline overlap_explanation explain_overlap(trace::view const& rows) {
  overlap_explanation result;
  result.devices = trace::overlap(rows);
  for (auto const& each : result.devices) {
    result.copies_ns += each.copies_ns;
    result.hidden_ns += each.copies_hidden_ns;
  }
  detail::overlap_classifier const classifier{rows};
  std::array<overlap_reason, overlap_obstacles> reasons{};
  std::array<std::int64_t, overlap_obstacles> worst{};
  for (trace::row_index row = 0; row < rows.of().copies.size(); ++row) {
    auto const& copy = rows.of().copies[row];
    auto const exposed = classifier.exposed(copy);
    if (exposed <= 0 || trace::direction_of(copy.kind) == trace::copy_direction::migration) {
      continue;
    }
    auto const found = classifier.classify(row);
    auto const alone = std::count(found.met.begin(), found.met.end(), true) == 1;
    for (std::size_t i = 0; i < overlap_obstacles; ++i) {
      if (!found.met[i]) { continue; }
      auto& reason = reasons[i];
      reason.what = static_cast<overlap_obstacle>(i);
      ++reason.copies;
      reason.exposed_ns += exposed;
      reason.alone_ns += alone ? exposed : 0;
      if (exposed > worst[i]) {
        worst[i] = exposed;
        reason.copy = row;
        reason.kernel = found.kernel;
        reason.call = found.call;
      }
    }
  }
  for (auto const& reason : reasons) {
    if (reason.copies > 0) { result.reasons.push_back(reason); }
  }
  trace::largest_first(result.reasons, [](overlap_reason const& of) { return of.exposed_ns; });
  return result;
}

}  // namespace assay::examples
