// SPDX-License-Identifier: Apache-2.0
/// @file
/// The time in which devices waited for the host, as the host's threads saw it.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

/// The names of locks, allocations and waits on the host; all but `lock_ranges` name calls.
inline constexpr char const* lock_ranges = "lock wait|lock|mutex|*mutex*|wait for * lock";
inline constexpr char const* lock_calls =
    "^pthread_mutex_|^pthread_rwlock_|^pthread_spin_|^pthread_cond_wait|^pthread_cond_timedwait|"
    "^sem_wait|^sem_timedwait|^futex";
/// The calls of `lock_calls` that wait for another thread's event, and not for a turn.
inline constexpr char const* answering_calls = "^pthread_cond_|^sem_";
inline constexpr char const* allocating_calls =
    "^cudaMalloc|^cudaFree|^cudaHostAlloc|^cudaMemPool|^cuMemAlloc|^cuMemFree|^cuMemCreate|"
    "^cuMemMap|^cuMemUnmap|^cuMemRelease|^cuMemSetAccess|^cuMemAddress|^cuMemPool|^cuMemHostAlloc";
inline constexpr std::string_view waiting_calls = "Synchronize";  // a part of the name

inline constexpr std::string_view between_calls = "between the calls";
/// From the return of the call that asks for work to the begin of that work.
inline constexpr std::string_view on_its_way = "launched work on its way";

namespace detail {

/// A time of a host thread: a call, or waiting for a lock.
struct host_piece {
  span when;
  std::uint32_t name = 0;  ///< in `host_pieces::names`
};

/// Gives each moment to the innermost piece around it. The result is in order and does not overlap.
inline std::vector<host_piece> innermost(std::vector<host_piece> pieces) {
  auto const overlap = [](host_piece const& a, host_piece const& b) {
    return a.when.end > b.when.begin || a.when.end <= a.when.begin;
  };
  if (std::adjacent_find(pieces.begin(), pieces.end(), overlap) == pieces.end()) { return pieces; }
  auto const before = [](host_piece const& a, host_piece const& b) {
    return a.when.begin != b.when.begin ? a.when.begin < b.when.begin : b.when.end < a.when.end;
  };
  if (!std::is_sorted(pieces.begin(), pieces.end(), before)) {
    std::sort(pieces.begin(), pieces.end(), before);
  }
  std::vector<host_piece> open, result;
  auto at = std::numeric_limits<std::int64_t>::min();
  auto const pass = [&](std::int64_t until) {
    if (until <= at) { return; }
    if (!open.empty()) { result.push_back({{at, until}, open.back().name}); }
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

/// The calls and locks of the threads that call CUDA, an index of a view.
class host_pieces {
 public:
  explicit host_pieces(view const& rows) {
    auto const& of = rows.of();
    for (auto const& each : of.calls) {
      if (each.layer != api::os) { threads_[each.thread]; }
    }
    add_calls(of);
    add_locks(of);
    for (auto& [key, pieces] : threads_) { pieces = innermost(std::move(pieces)); }
  }

  /// The innermost pieces of each thread: in order, and they do not overlap.
  std::map<thread_key, std::vector<host_piece>> const& threads() const noexcept { return threads_; }
  std::vector<breakdown_key> const& names() const noexcept { return names_; }

 private:
  static constexpr auto no_name = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t name(entry_kind kind, std::string_view text) {
    std::uint32_t number = 0;
    for (auto const& known : names_) {
      if (known.first == kind && known.second == text) { return number; }
      ++number;
    }
    names_.emplace_back(kind, text);
    return number;
  }
  void add(thread_key key, span when, std::uint32_t name) {
    auto const known = threads_.find(key);
    if (name != no_name && known != threads_.end()) { known->second.push_back({when, name}); }
  }
  void add_calls(model const& of) {
    glob const allocations{allocating_calls};
    glob const locks{lock_calls};
    auto const kind_of = [&](std::string_view text) {
      if (allocations.matches(text)) { return entry_kind::allocation; }
      return text.find(waiting_calls) == text.npos ? entry_kind::call : entry_kind::waiting;
    };
    auto of_cuda = once_per_name(of.strings.size(), [&](string_id id) {
      return name(kind_of(of.strings[id]), plain_name(of.strings[id]));
    });
    auto of_system = once_per_name(of.strings.size(), [&](string_id id) {
      auto const text = of.strings[id];
      return locks.matches(text) ? name(entry_kind::lock, text) : no_name;
    });
    for (auto const& each : of.calls) {
      add(each.thread, each.when,
          each.layer == api::os ? of_system(each.name) : of_cuda(each.name));
    }
  }
  void add_locks(model const& of) {
    glob const locks{lock_ranges, glob_scope::whole};
    auto of_lock = once_per_name(of.strings.size(), [&](string_id id) {
      auto const text = of.strings[id];
      return locks.matches(text) ? name(entry_kind::lock, text) : no_name;
    });
    for (auto const& each : of.ranges) {
      if (on_one_thread(each)) { add(each.thread, each.when, of_lock(each.name)); }
    }
  }

  std::map<thread_key, std::vector<host_piece>> threads_;
  std::vector<breakdown_key> names_;
};

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
    if (gap.cause == idle_cause::host_bound) { waits.push_back({gap.when, gap.call, true, true}); }
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

}  // namespace detail

/// The calls and locks of the host in the time in which devices waited for the host.
///
/// Between operations a moment belongs to a lock if a thread waits for it that could launch without
/// it. Such a thread launches elsewhere, or it calls CUDA and launching threads take the lock. Else
/// the moment belongs to the innermost call of the thread that launches the next operation. The
/// times before the first and after the last operation count as waits: there, no other thread could
/// have launched sooner. The sum of `ns` is the time that `device_time_breakdown` has for these
/// waits; `count` counts waits. O(n log n).
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
  std::vector<std::pair<std::uint32_t, std::int64_t>> parts;  // of one wait: a few
  auto const take = [&](std::uint32_t name, std::int64_t ns) {
    for (auto& [known, sum] : parts) {
      if (known == name) {
        sum += ns;
        return;
      }
    }
    parts.emplace_back(name, ns);
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
    }
    for (auto const& [name, ns] : parts) {
      entries[name]->ns += static_cast<double>(ns);
      entries[name]->count += ns > 0 ? 1 : 0;
    }
  }
  std::erase_if(result, [](auto const& each) { return each.second.ns == 0; });
  return result;
}

}  // namespace assay::trace
