// SPDX-License-Identifier: Apache-2.0
/// @file
/// The time of a run as its host threads saw the run, and the part in which devices waited for
/// them.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace assay::trace {

/// The names of locks, allocations and waits on the host; all but `lock_ranges` name calls.
inline constexpr char const* lock_ranges = "lock wait|lock|mutex|*mutex*|wait for * lock";
inline constexpr char const* lock_calls =
    "^pthread_mutex_|^pthread_rwlock_|^pthread_spin_|^pthread_cond_wait|^pthread_cond_timedwait|"
    "^sem_wait|^sem_timedwait|^futex";
inline constexpr char const* allocating_calls =
    "^cudaMalloc|^cudaFree|^cudaHostAlloc|^cudaMemPool|^cuMemAlloc|^cuMemFree|^cuMemCreate|"
    "^cuMemMap|^cuMemUnmap|^cuMemRelease|^cuMemSetAccess|^cuMemAddress|^cuMemPool|^cuMemHostAlloc";
inline constexpr std::string_view waiting_calls = "Synchronize";  // a part of the name

inline constexpr std::string_view between_calls = "between the calls";
/// From the return of the call that asks for work to the begin of that work.
inline constexpr std::string_view on_its_way = "on its way to the device";

namespace detail {

/// A time of a host thread with a name: a call, or waiting for a lock.
struct host_piece {
  span when;
  breakdown_entry* entry = nullptr;
};

using host_pieces = std::map<thread_key, std::vector<host_piece>>;

/// Adds to each thread in `to` the calls and locks of that thread, and makes their entries in
/// `sums`.
inline void add_pieces(host_pieces& to, time_breakdown& sums, model const& of) {
  glob const allocations{allocating_calls};
  glob const locks{lock_calls};
  glob const ranges_of_locks{lock_ranges, glob_scope::whole};
  auto kind_of = once_per_name(of.strings.size(), [&](string_id name) {
    auto const text = of.strings[name];
    if (allocations.matches(text)) { return entry_kind::allocation; }
    return text.find(waiting_calls) == text.npos ? entry_kind::call : entry_kind::waiting;
  });
  auto entry_of = once_per_name(of.strings.size(), [&](string_id name) {
    return &sums[{kind_of(name), std::string{plain_name(of.strings[name])}}];
  });
  auto lock_of = once_per_name(of.strings.size(), [&](string_id name) {
    return locks.matches(of.strings[name])
               ? &sums[{entry_kind::lock, std::string{of.strings[name]}}]
               : nullptr;
  });
  auto const add = [&](thread_key thread, span when, breakdown_entry* entry) {
    auto const known = to.find(thread);
    if (entry != nullptr && known != to.end()) { known->second.push_back({when, entry}); }
  };
  for (auto const& each : of.calls) {
    add(each.thread, each.when, each.layer == api::os ? lock_of(each.name) : entry_of(each.name));
  }
  for (auto const& each : of.ranges) {
    if (!on_one_thread(each) || !ranges_of_locks.matches(of.strings[each.name])) { continue; }
    add(each.thread, each.when, &sums[{entry_kind::lock, std::string{of.strings[each.name]}}]);
  }
}

/// Gives each moment to the innermost piece around it. The result is in order and does not overlap.
inline std::vector<host_piece> innermost(std::vector<host_piece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](host_piece const& a, host_piece const& b) {
    return std::tuple{a.when.begin, b.when.end} < std::tuple{b.when.begin, a.when.end};
  });
  std::vector<host_piece> open, result;
  auto at = std::numeric_limits<std::int64_t>::min();
  auto const pass = [&](std::int64_t until) {
    if (until <= at) { return; }
    if (!open.empty()) { result.push_back({{at, until}, open.back().entry}); }
    at = until;
  };
  auto const close = [&](std::int64_t until) {
    while (!open.empty() && open.back().when.end <= until) {
      pass(open.back().when.end);
      open.pop_back();
    }
  };
  for (auto const& each : pieces) {
    close(each.when.begin);
    pass(each.when.begin);
    if (each.when.end > each.when.begin) { open.push_back(each); }
  }
  close(std::numeric_limits<std::int64_t>::max());
  return result;
}

/// Calls `take(entry, ns)` for each piece within `where`, and `rest(span)` for each time without a
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
    take(*at->entry, common.length());
    if (from < common.begin) { rest(span{from, common.begin}); }
    from = common.end;
  }
  if (from < where.end) { rest(span{from, where.end}); }
}

}  // namespace detail

/// The run as its host threads saw it, on average over the threads that launched operations (if
/// none did, over those that called CUDA): a thread that only waits for others is left out.
///
/// A moment belongs to the innermost call or lock around it, so a lock inside an allocation counts
/// as a lock. O(n log n).
inline time_breakdown host_time_breakdown(view const& rows) {
  auto const& of = rows.of();
  detail::host_pieces threads;
  for (auto const& each : rows.operations()) {
    if (each.call != no_row) { threads[of.calls[each.call].thread]; }
  }
  if (threads.empty()) {
    for (auto const& each : of.calls) {
      if (each.layer != api::os) { threads[each.thread]; }
    }
  }
  time_breakdown result;
  detail::add_pieces(threads, result, of);
  if (threads.empty()) { return result; }
  auto const extent = run_extent(rows);
  double own = 0;
  for (auto& [thread, pieces] : threads) {
    for (auto const& each : pieces) {
      each.entry->total += static_cast<double>(each.when.length());
      each.entry->count += 1;
    }
    detail::split_up(
        detail::innermost(std::move(pieces)), extent,
        [](breakdown_entry& entry, std::int64_t ns) { entry.ns += static_cast<double>(ns); },
        [&](span code) { own += static_cast<double>(code.length()); });
  }
  result[{entry_kind::host_code, std::string{between_calls}}].ns = own;
  for (auto& [key, sum] : result) { sum.ns /= static_cast<double>(threads.size()); }
  return result;
}

namespace detail {

/// A time in which all devices were idle since the host launched late.
struct host_wait {
  interval_set when;        ///< without what the tracing itself took of it
  row_index call = no_row;  ///< a call of the thread that devices waited for
  bool asks = true;         ///< `call` launched the next operation
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
    waits.push_back({interval_set{{{extent.begin, first.when.begin}}}, first.call});
    for (auto const& each : all) { reach = std::max(reach, each.when.end); }
  }
  auto const overheads = overheads_of(rows.whole());
  each_gap(rows, gap_scope::all_devices, [&](idle_gap const& gap) {
    if (gap.cause != idle_cause::host_bound) { return; }
    interval_set when{{gap.when}};
    auto const at = overheads.find(of.calls[gap.call].thread);
    if (at != overheads.end()) { when = when - at->second; }
    waits.push_back({std::move(when), gap.call});
  });
  host_wait last{interval_set{{{reach, extent.end}}}, no_row, false};
  for (row_index row = 0; row < of.calls.size(); ++row) {
    auto const& each = of.calls[row];
    if (each.layer == api::os) { continue; }
    if (last.call == no_row || each.when.end > of.calls[last.call].when.end) { last.call = row; }
  }
  waits.push_back(std::move(last));
  return waits;
}

/// The times in which at least one thread waited for a lock, each with the entry of one such lock.
/// The pieces of a thread must not overlap, and `sums` has their entries.
inline std::vector<host_piece> waits_for_locks(host_pieces const& threads,
                                               time_breakdown const& sums) {
  std::vector<breakdown_entry const*> locks;
  for (auto const& [key, sum] : sums) {
    if (key.first == entry_kind::lock) { locks.push_back(&sum); }
  }
  std::vector<host_piece> waits;
  if (locks.empty()) { return waits; }
  for (auto const& [thread, pieces] : threads) {
    std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(waits),
                 [&](host_piece const& each) {
                   return std::find(locks.begin(), locks.end(), each.entry) != locks.end();
                 });
  }
  return innermost(std::move(waits));
}

}  // namespace detail

/// The calls and locks of the host in the time in which devices waited for the host.
///
/// Each moment of a wait belongs to a lock if a thread that devices waited for waits for this lock:
/// without the lock, that thread could launch now. Else the moment belongs to the innermost call of
/// the thread that launches the next operation. The times before the first and after the last
/// operation count as waits. The sum of `ns` is the time that `device_time_breakdown` has for these
/// waits; `count` counts waits. O(n log n).
inline time_breakdown host_wait_breakdown(view const& rows) {
  auto const& of = rows.of();
  auto const waits = detail::waits_for_host(rows);
  time_breakdown result;
  detail::host_pieces threads;
  for (auto const& each : waits) {
    if (each.call != no_row) { threads[of.calls[each.call].thread]; }
  }
  detail::add_pieces(threads, result, of);
  for (auto& [thread, pieces] : threads) { pieces = detail::innermost(std::move(pieces)); }
  auto* const own = &result[{entry_kind::host_code, std::string{between_calls}}];
  auto* const way = &result[{entry_kind::call, std::string{on_its_way}}];
  auto const locks = detail::waits_for_locks(threads, result);
  std::map<breakdown_entry*, std::int64_t> parts;  // of one wait
  auto const take = [&](breakdown_entry& entry, std::int64_t ns) { parts[&entry] += ns; };
  for (auto const& each : waits) {
    parts.clear();
    for (auto const& part : each.when.parts()) {
      if (each.call == no_row) {
        parts[own] += part.length();
        continue;
      }
      auto const& call = of.calls[each.call];
      auto const asked = each.asks ? call.when.end : part.end;
      detail::split_up(locks, part, take, [&](span free) {
        auto const until = std::clamp(asked, free.begin, free.end);
        detail::split_up(threads.at(call.thread), {free.begin, until}, take,
                         [&](span code) { parts[own] += code.length(); });
        parts[way] += free.end - until;
      });
    }
    for (auto const& [entry, ns] : parts) {
      entry->ns += static_cast<double>(ns);
      entry->count += ns > 0 ? 1 : 0;
    }
  }
  for (auto& [key, sum] : result) { sum.total = sum.ns; }
  std::erase_if(result, [](auto const& each) { return each.second.ns == 0; });
  return result;
}

}  // namespace assay::trace
