// SPDX-License-Identifier: Apache-2.0
/// @file
/// The time in which devices waited for the host, as the host's threads saw it.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/host_pieces.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

inline constexpr std::string_view between_calls = "between the calls";
/// From the return of the call that asks for work to the begin of that work.
inline constexpr std::string_view on_its_way = "launched work on its way";

namespace detail {

/// Calls `take(name, ns)` for each piece within `where`, and `rest(span)` for each time without a
/// piece. The pieces must not overlap.
template <class Take, class Rest>
void split_up(std::vector<host_piece> const& pieces, span where, Take&& take, Rest&& rest) {
  auto from = where.begin;
  auto at = std::upper_bound(
      pieces.begin(), pieces.end(), where.begin,
      [](std::int64_t moment, host_piece const& each) { return moment < each.when.end; });
  for (; at != pieces.end() && at->when.begin < where.end; ++at) {
    span const common{std::max(at->when.begin, where.begin), std::min(at->when.end, where.end)};
    if (common.begin >= common.end) { continue; }
    take(at->name, common.length());
    if (from < common.begin) { rest(span{from, common.begin}); }
    from = common.end;
  }
  if (from < where.end) { rest(span{from, where.end}); }
}

/// A time in which all devices were idle since the host launched late.
struct host_wait {
  span when;                ///< with what the tracing itself took of it
  row_index call = no_row;  ///< a call of the thread that devices waited for
  bool asks = true;         ///< `call` launched the next operation
  bool between = false;     ///< operations came before and after: locks and the tracer count
  std::int64_t since = 0;   ///< where `between`: the call for the operation before it returned
};

/// All waits: before the first operation, between operations, and after the last operation. The
/// last wait belongs to the thread that makes the last call of the run.
inline std::vector<host_wait> waits_for_host(view const& rows) {
  auto const& of = rows.of();
  auto const extent = run_extent(rows);
  auto const& all = rows.operations();
  std::vector<host_wait> waits;
  auto reach = extent.begin;
  if (!all.empty()) {
    auto const& first = all.front();
    waits.push_back({{extent.begin, first.when.begin}, first.call});
    for (auto const& each : all) { reach = std::max(reach, each.when.end); }
  }
  each_gap(rows, gap_scope::all_devices, [&](idle_gap const& gap) {
    if (gap.cause != idle_cause::host_bound) { return; }
    auto const before = gap.call_before;
    auto const since = before == no_row ? gap.when.begin : of.calls[before].when.end;
    waits.push_back({gap.when, gap.call, true, true, since});
  });
  host_wait last{{reach, extent.end}, no_row, false};
  for (row_index row = 0; row < of.calls.size(); ++row) {
    auto const& each = of.calls[row];
    if (each.layer == api::os) { continue; }
    if (last.call == no_row || each.when.end > of.calls[last.call].when.end) { last.call = row; }
  }
  waits.push_back(std::move(last));
  return waits;
}

/// The times in which at least one thread waited for a lock that a launching thread takes too, each
/// with the name of one such lock. A mutex is not fair: threads that wait for it may never launch.
/// A wait for a condition is for an answer, and not for a turn.
inline std::vector<host_piece> waits_for_locks(host_pieces const& host,
                                               std::set<thread_key> const& launching) {
  glob const answers{answering_calls};
  std::vector<bool> is_lock, is_taken(host.names().size());
  for (auto const& [kind, text] : host.names()) {
    is_lock.push_back(kind == entry_kind::lock && !answers.matches(text));
  }
  for (auto const& key : launching) {
    for (auto const& each : host.threads().at(key)) {
      if (is_lock[each.name]) { is_taken[each.name] = true; }
    }
  }
  std::vector<host_piece> waits;
  for (auto const& [key, pieces] : host.threads()) {
    for (auto const& each : pieces) {
      if (is_taken[each.name]) { waits.push_back(each); }
    }
  }
  return innermost(std::move(waits));
}

/// Times of one wait, by the number of their name.
class wait_parts {
 public:
  void clear() { parts_.clear(); }
  void add(std::uint32_t name, std::int64_t ns) {
    for (auto& [known, sum] : parts_) {
      if (known == name) {
        sum += ns;
        return;
      }
    }
    parts_.emplace_back(name, ns);
  }
  std::vector<std::pair<std::uint32_t, std::int64_t>> const& all() const noexcept { return parts_; }
  std::int64_t sum() const {
    std::int64_t ns = 0;
    for (auto const& each : parts_) { ns += each.second; }
    return ns;
  }
  /// Gives up to `most` of the parts for which `gives(name)` holds. Returns how much.
  template <class Gives>
  std::int64_t take(std::int64_t most, Gives&& gives) {
    auto left = most;
    for (auto& [name, ns] : parts_) {
      if (!gives(name)) { continue; }
      auto const part = std::min(ns, left);
      ns -= part;
      left -= part;
    }
    return most - left;
  }
  /// Adds `ns`, shared out as the parts of `by` are.
  void add_shares(std::int64_t ns, wait_parts const& by) {
    auto left = ns;
    auto weight = by.sum();
    for (auto const& [name, size] : by.parts_) {
      auto const part = size == weight
                            ? left
                            : std::llround(static_cast<double>(left) * static_cast<double>(size) /
                                           static_cast<double>(weight));
      add(name, part);
      left -= part;
      weight -= size;
    }
  }

 private:
  std::vector<std::pair<std::uint32_t, std::int64_t>> parts_;  // a few
};

}  // namespace detail

/// The calls and locks of the host in the time in which devices waited for the host.
///
/// Between operations a moment belongs to a lock if a thread waits for it that could launch without
/// it. Such a thread launches elsewhere, or it calls CUDA and launching threads take the lock. Else
/// the moment belongs to the innermost call of the thread that launches the next operation, or to
/// the allocation of another thread for which that call waits.
///
/// Without the allocations since the launch before, the next launch would have come sooner, also by
/// those for which a device had work still. So their time replaces that of launches in the wait, up
/// to its length: a launch alone has to be. Other calls keep their time.
///
/// The times before the first and after the last operation count as waits: there, no other thread
/// could have launched sooner. The sum of `ns` is the time that `device_time_breakdown` has for
/// these waits; `count` counts waits. O(n log n).
inline time_breakdown host_wait_breakdown(view const& rows) {
  auto const& of = rows.of();
  auto const waits = detail::waits_for_host(rows);
  auto const& host = rows.index<detail::host_pieces>();
  std::set<thread_key> threads;
  for (auto const& each : waits) {
    if (each.call != no_row) { threads.insert(of.calls[each.call].thread); }
  }
  auto const locks = detail::waits_for_locks(host, threads);
  std::vector<detail::host_piece> const none;
  time_breakdown result;
  std::vector<breakdown_entry*> entries;
  for (auto const& each : host.names()) { entries.push_back(&result[each]); }
  auto const own = static_cast<std::uint32_t>(entries.size());
  entries.push_back(&result[{entry_kind::host_code, std::string{between_calls}}]);
  auto const way = own + 1;
  entries.push_back(&result[{entry_kind::call, std::string{on_its_way}}]);
  detail::wait_parts parts, hidden;
  auto const take = [&](std::uint32_t name, std::int64_t ns) { parts.add(name, ns); };
  auto const is = [&](std::uint32_t name, entry_kind kind) {
    return name < own && host.names()[name].first == kind;
  };
  // The allocations of a thread while devices were busy, since its last wait for a device.
  auto const find_hidden = [&](std::vector<detail::host_piece> const& pieces, span where) {
    hidden.clear();
    detail::split_up(
        pieces, where,
        [&](std::uint32_t name, std::int64_t ns) {
          if (is(name, entry_kind::waiting)) { hidden.clear(); }
          if (is(name, entry_kind::allocation)) { hidden.add(name, ns); }
        },
        [](span) {});
  };
  auto const overheads = detail::overheads_of(rows.whole());
  interval_set const nothing;
  for (auto const& each : waits) {
    parts.clear();
    if (each.call == no_row) {
      if (each.when.begin < each.when.end) { take(own, each.when.length()); }
    } else {
      auto const& call = of.calls[each.call];
      auto const& pieces = host.threads().at(call.thread);
      auto const traced = overheads.find(call.thread);
      auto const& by_tracer = each.between && traced != overheads.end() ? traced->second : nothing;
      by_tracer.each_outside(each.when, [&](span part) {
        auto const asked = each.asks ? call.when.end : part.end;
        detail::split_up(each.between ? locks : none, part, take, [&](span free) {
          auto const until = std::clamp(asked, free.begin, free.end);
          detail::split_up(pieces, {free.begin, until}, take,
                           [&](span code) { take(own, code.length()); });
          take(way, free.end - until);
        });
      });
      if (each.between && each.since < each.when.begin) {
        find_hidden(pieces, {each.since, each.when.begin});
        auto const sum = hidden.sum();
        auto moved = parts.take(
            sum, [&](auto name) { return name < own && detail::is_launch(host.names()[name]); });
        moved += parts.take(sum - moved, [&](auto name) { return name == way; });
        parts.add_shares(moved, hidden);
      }
    }
    for (auto const& [name, ns] : parts.all()) {
      entries[name]->ns += static_cast<double>(ns);
      entries[name]->count += ns > 0 ? 1 : 0;
    }
  }
  std::erase_if(result, [](auto const& each) { return each.second.ns == 0; });
  return result;
}

}  // namespace assay::trace
