// SPDX-License-Identifier: Apache-2.0
/// @file
/// What each host thread was in: its calls, its locks, and the allocations that it waited for.
#pragma once

#include <assay/trace/glob.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/results.hpp>
#include <assay/trace/view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
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
inline constexpr std::string_view waiting_calls = "Synchronize";     // a part of the name
inline constexpr std::string_view launching_calls = "LaunchKernel";  // a part of the name

namespace detail {

/// A time of a host thread: a call, or waiting for a lock.
struct host_piece {
  span when;
  std::uint32_t name = 0;  ///< in `host_pieces::names`
};

/// True for the name of a call that launches a kernel.
inline bool is_launch(breakdown_key const& name) {
  return name.first == entry_kind::call && name.second.find(launching_calls) != name.second.npos;
}

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

/// The calls and locks of the threads that call CUDA, an index of a view. A launch that waits for
/// an allocation of another thread is that allocation.
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
    find_allocations_waited_for();
  }

  /// The innermost pieces of each thread: in order, and they do not overlap.
  std::map<thread_key, std::vector<host_piece>> const& threads() const noexcept { return threads_; }
  std::vector<breakdown_key> const& names() const noexcept { return names_; }

 private:
  static constexpr auto no_name = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t longest_usual_ns = 4'000;  // launches take 2 to 6 us
  using pieces_of_processes = std::map<std::uint32_t, std::vector<host_piece>>;

  bool is_allocation(host_piece const& of) const {
    return names_[of.name].first == entry_kind::allocation;
  }
  bool is_launch(host_piece const& of) const { return detail::is_launch(names_[of.name]); }

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

  /// Gives the time in which a launch waited for an allocation of another thread to that
  /// allocation: the driver locks out launches meanwhile. A launch waits if it takes more than 1.5
  /// times as long as usual. Usual is the quickest tenth of such calls, and at most
  /// `longest_usual_ns`: where each launch waits, none shows what is usual. Other calls may take
  /// long for reasons of their own, so none is said to wait.
  ///
  /// Where many calls wait for one lock, the one that holds it is probably the next to end: a
  /// moment of the wait belongs to that call.
  void find_allocations_waited_for() {
    pieces_of_processes allocations;
    for (auto const& [key, pieces] : threads_) {
      for (auto const& each : pieces) {
        if (is_allocation(each)) { allocations[key.process].push_back(each); }
      }
    }
    if (allocations.empty()) { return; }
    for (auto& [process, pieces] : allocations) { pieces = innermost(std::move(pieces)); }
    auto const usual = usual_lengths();
    auto const waits = [&](thread_key const& key, host_piece const& each) {
      return is_launch(each) && 2 * each.when.length() > 3 * usual[each.name] &&
             !parts_within(allocations[key.process], each.when).empty();
    };
    std::map<std::uint32_t, std::vector<span>> waiting;
    for (auto const& [key, pieces] : threads_) {
      for (auto const& each : pieces) {
        if (waits(key, each)) { waiting[key.process].push_back(each.when); }
      }
    }
    auto const holders = lock_holders(std::move(waiting));
    for (auto& [key, pieces] : threads_) {
      std::vector<host_piece> split;
      for (auto const& each : pieces) {
        if (!waits(key, each)) {
          split.push_back(each);
          continue;
        }
        for (auto part : parts_within(holders.at(key.process), each.when)) {
          if (!is_allocation(part)) { part.name = each.name; }
          split.push_back(part);
        }
      }
      pieces = std::move(split);
    }
  }
  /// The call that ends next of those in progress, at each moment of these waits, by process.
  pieces_of_processes lock_holders(std::map<std::uint32_t, std::vector<span>> waiting) const {
    std::map<std::uint32_t, interval_set> where;
    for (auto& [process, spans] : waiting) { where[process] = interval_set{std::move(spans)}; }
    // In a time that runs backwards, the next call to end is the last to begin: the innermost.
    auto const mirror = [](std::vector<host_piece>& pieces) {
      for (auto& each : pieces) { each.when = {-each.when.end, -each.when.begin}; }
      std::ranges::reverse(pieces);
    };
    pieces_of_processes holders;
    for (auto const& [key, pieces] : threads_) {
      auto const at = where.find(key.process);
      if (at == where.end()) { continue; }
      for (auto const& each : pieces) {
        auto const calls = names_[each.name].first == entry_kind::call || is_allocation(each);
        if (calls && at->second.length_within(each.when) > 0) {
          holders[key.process].push_back(each);
        }
      }
    }
    for (auto& [process, pieces] : holders) {
      mirror(pieces);
      pieces = innermost(std::move(pieces));
      mirror(pieces);
    }
    return holders;
  }
  /// The lengths of launches that wait for nobody, by name.
  std::vector<std::int64_t> usual_lengths() const {
    std::vector<std::vector<std::int64_t>> all(names_.size());
    for (auto const& [key, pieces] : threads_) {
      for (auto const& each : pieces) {
        if (is_launch(each)) { all[each.name].push_back(each.when.length()); }
      }
    }
    std::vector<std::int64_t> usual(names_.size(), longest_usual_ns);
    for (std::size_t i = 0; i < usual.size(); ++i) {
      auto& some = all[i];
      if (some.empty()) { continue; }
      auto const quick = some.begin() + std::ssize(some) / 10;
      std::nth_element(some.begin(), quick, some.end());
      usual[i] = std::min(*quick, longest_usual_ns);
    }
    return usual;
  }
  /// The parts of pieces, which do not overlap, that lie within `where`.
  static std::vector<host_piece> parts_within(std::vector<host_piece> const& pieces, span where) {
    std::vector<host_piece> found;
    auto at = std::upper_bound(
        pieces.begin(), pieces.end(), where.begin,
        [](std::int64_t moment, host_piece const& each) { return moment < each.when.end; });
    for (; at != pieces.end() && at->when.begin < where.end; ++at) {
      found.push_back(
          {{std::max(at->when.begin, where.begin), std::min(at->when.end, where.end)}, at->name});
    }
    return found;
  }

  std::map<thread_key, std::vector<host_piece>> threads_;
  std::vector<breakdown_key> names_;
};

}  // namespace detail

}  // namespace assay::trace
