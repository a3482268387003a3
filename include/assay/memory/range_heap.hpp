// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's central heap: free address ranges, coalesced, each with what must precede its reuse.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <utility>
#include <vector>

namespace assay::mr {

/// A point in a stream's order: the frees of cache number `cache` up to `epoch`.
struct order_point {
  std::uint32_t cache;
  std::uint64_t epoch;
  bool operator==(order_point const&) const = default;
};

/// A run of chunks side by side; no bytes are none.
struct chunk_run {
  std::uintptr_t address;
  std::size_t bytes;
};

/// Free ranges of memory, best fit, the lowest first; coalescing with their neighbours in the same
/// chunk, and in neighbouring ones where chunks may be joined. Not safe for concurrent use. A
/// `Point` has a `cache` and an `epoch`, as `order_point` has.
template <class Point>
class basic_range_heap {
 public:
  explicit basic_range_heap(bool join_chunks = false) noexcept : join_chunks_(join_chunks) {}

  struct range {
    std::size_t bytes;
    std::vector<Point> after;  // at most one for each cache
  };
  using iterator = typename std::map<std::uintptr_t, range>::iterator;
  using run = chunk_run;

  bool joins_chunks() const noexcept { return join_chunks_; }
  std::size_t free_bytes() const noexcept { return free_bytes_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t largest_range() const noexcept {
    return by_size_.empty() ? 0 : by_size_.rbegin()->first;
  }

  /// Adds memory, free after `after` but for its first `taken` bytes, as chunks of `piece_bytes`
  /// and a last one of the rest.
  void add(std::uintptr_t address, std::size_t bytes, std::size_t piece_bytes,
           std::size_t taken = 0, std::vector<Point> after = {}) {
    try {
      for (std::size_t at = 0; at < bytes; at += piece_bytes) {
        chunks_.emplace_hint(chunks_.end(), address + at, std::min(piece_bytes, bytes - at));
      }
      if (taken < bytes) { insert(address + taken, bytes - taken, std::move(after)); }
    } catch (...) {
      forget_chunks(address, bytes);
      throw;
    }
    chunk_bytes_ += bytes;
    auto const rest = bytes % piece_bytes;
    least_chunk_ = std::min(least_chunk_, rest == 0 ? piece_bytes : rest);
  }

  /// The first chunks that are wholly free in a range: of at most `most_bytes` together, and no
  /// more of them than make up `enough_bytes`.
  run free_chunks(iterator in, std::size_t enough_bytes, std::size_t most_bytes) const {
    auto const end = in->first + in->second.bytes;
    run found{0, 0};
    for (auto at = chunks_.lower_bound(in->first);
         at != chunks_.end() && at->first + at->second <= end && found.bytes < enough_bytes; ++at) {
      if (found.bytes + at->second > most_bytes) {
        if (found.bytes == 0) { continue; }
        break;
      }
      if (found.bytes == 0) { found.address = at->first; }
      found.bytes += at->second;
    }
    return found;
  }
  run free_chunks(iterator in) const { return free_chunks(in, in->second.bytes, in->second.bytes); }

  /// True if no chunk lies right before or behind what `free_chunks` found, or none it could join.
  bool alone(run const& found) const {
    if (!join_chunks_) { return true; }
    auto const first = chunks_.find(found.address);
    if (first != chunks_.begin()) {
      auto const low = std::prev(first);
      if (low->first + low->second == found.address) { return false; }
    }
    return !chunks_.contains(found.address + found.bytes);
  }

  /// Takes out what `free_chunks` found in a range.
  void remove(iterator in, run const& found) {
    carve(in, found.address, found.bytes);
    forget_chunks(found.address, found.bytes);
    chunk_bytes_ -= found.bytes;
  }

  /// Ranges that may hold a whole chunk, from the smallest up.
  std::vector<iterator> chunk_ranges() {
    std::vector<iterator> found;
    for (auto at = by_size_.lower_bound({least_chunk_, 0}); at != by_size_.end(); ++at) {
      found.push_back(by_address_.find(at->second));
    }
    return found;
  }

  /// The largest range of less than `bytes`, among `tries`, that `accept` takes and that has room
  /// behind it for what it lacks; `none()` if there is none.
  template <class Accept>
  iterator extensible(std::size_t bytes, int tries, Accept accept) {
    auto at = by_size_.lower_bound({bytes, 0});
    for (; at != by_size_.begin() && tries > 0; --tries) {
      auto const found = by_address_.find((--at)->second);
      if (room_behind(found) >= bytes - found->second.bytes && accept(found->second)) {
        return found;
      }
    }
    return none();
  }
  /// How many addresses right behind a range no chunk has.
  std::size_t room_behind(iterator range) const {
    auto const end = range->first + range->second.bytes;
    auto const next = chunks_.lower_bound(end);
    auto const last = std::prev(next);
    if (last->first + last->second > end) { return 0; }
    return (next == chunks_.end() ? std::numeric_limits<std::uintptr_t>::max() : next->first) - end;
  }

  /// Calls `f(address, bytes)` for every chunk, or those of a run.
  template <class F>
  void each_chunk(F f) const {
    for (auto const& [address, bytes] : chunks_) { f(address, bytes); }
  }
  template <class F>
  void each_chunk(run const& in, F f) const {
    auto const end = chunks_.lower_bound(in.address + in.bytes);
    for (auto at = chunks_.lower_bound(in.address); at != end; ++at) { f(at->first, at->second); }
  }

  /// Gives back a range that may be reused once all of `after` has passed.
  void insert(std::uintptr_t address, std::size_t bytes, std::vector<Point> after) {
    auto const [at, is_new] = by_address_.try_emplace(address, range{bytes, std::move(after)});
    (void)is_new;
    try {
      by_size_.emplace(bytes, address);
    } catch (...) {
      by_address_.erase(at);
      throw;
    }
    free_bytes_ += bytes;
    if (auto const next = std::next(at); next != by_address_.end() && joins(at, next)) {
      join(at, next);
    }
    if (at != by_address_.begin() && joins(std::prev(at), at)) { join(std::prev(at), at); }
  }

  /// The first range of at least `bytes`, from the smallest up, that `accept` takes among `tries`.
  template <class Accept>
  iterator find(std::size_t bytes, int tries, Accept accept) {
    for (auto at = by_size_.lower_bound({bytes, 0}); at != by_size_.end() && tries > 0;
         ++at, --tries) {
      auto const candidate = by_address_.find(at->second);
      if (accept(candidate->second)) { return candidate; }
    }
    return by_address_.end();
  }
  /// The range that holds `address`; `none()` if it is in use.
  iterator around(std::uintptr_t address) {
    auto const behind = by_address_.upper_bound(address);
    if (behind == by_address_.begin()) { return none(); }
    auto const found = std::prev(behind);
    return found->first + found->second.bytes > address ? found : none();
  }
  iterator none() noexcept { return by_address_.end(); }

  /// Cuts `bytes` off the end of a range, or, where there is room for that, as near to its end as
  /// makes their address a multiple of `alignment` (a power of two). Throws, if it does, before it
  /// changes anything; never where `alignment` is 1: no node is made then.
  std::uintptr_t take(iterator from, std::size_t bytes, std::size_t alignment = 1) {
    auto const end = from->first + from->second.bytes;
    auto const aligned = (end - bytes) & ~(alignment - 1);
    auto const address = aligned >= from->first ? aligned : end - bytes;
    carve(from, address, bytes);
    return address;
  }
  /// Cuts `bytes` off the front of a range. Throws, if it does, before it changes anything.
  std::uintptr_t take_front(iterator from, std::size_t bytes) {
    auto const address = from->first;
    carve(from, address, bytes);
    return address;
  }

 private:
  bool joins(iterator low, iterator high) const {
    return low->first + low->second.bytes == high->first &&
           (join_chunks_ || !chunks_.contains(high->first));
  }

  void forget_chunks(std::uintptr_t address, std::size_t bytes) noexcept {
    chunks_.erase(chunks_.lower_bound(address), chunks_.lower_bound(address + bytes));
  }

  // Removes a piece from the range around it. Makes its one node before it changes anything.
  void carve(iterator from, std::uintptr_t address, std::size_t bytes) {
    auto const before = address - from->first;
    auto const behind = from->second.bytes - before - bytes;
    if (behind > 0) {
      auto const high = by_address_.emplace(address + bytes, range{behind, from->second.after});
      try {
        by_size_.emplace(behind, address + bytes);
      } catch (...) {
        by_address_.erase(high.first);
        throw;
      }
      free_bytes_ += behind;
    }
    if (before == 0) { return erase(from); }
    free_bytes_ -= from->second.bytes - before;
    resize(from, before);
  }

  // Ranges stay apart where the host has no memory for the points of both.
  void join(iterator low, iterator high) noexcept {
    std::vector<Point> merged;
    try {
      merged.reserve(low->second.after.size() + high->second.after.size());
    } catch (std::bad_alloc const&) { return; }
    merged.assign(low->second.after.begin(), low->second.after.end());
    for (auto const& point : high->second.after) {
      auto const same = std::find_if(merged.begin(), merged.end(),
                                     [&](auto const& other) { return other.cache == point.cache; });
      if (same == merged.end()) {
        merged.push_back(point);
      } else {
        same->epoch = std::max(same->epoch, point.epoch);
      }
    }
    low->second.after = std::move(merged);
    auto const added = high->second.bytes;
    erase(high);
    resize(low, low->second.bytes + added);
    free_bytes_ += added;
  }

  void resize(iterator which, std::size_t bytes) noexcept {
    auto node = by_size_.extract({which->second.bytes, which->first});
    node.value().first = bytes;
    by_size_.insert(std::move(node));
    which->second.bytes = bytes;
  }

  void erase(iterator which) noexcept {
    free_bytes_ -= which->second.bytes;
    by_size_.erase({which->second.bytes, which->first});
    by_address_.erase(which);
  }

  std::map<std::uintptr_t, range> by_address_;
  std::set<std::pair<std::size_t, std::uintptr_t>> by_size_;
  std::map<std::uintptr_t, std::size_t> chunks_;
  std::size_t free_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t least_chunk_ = std::numeric_limits<std::size_t>::max();
  bool join_chunks_;
};

/// The heap of the pool.
using range_heap = basic_range_heap<order_point>;

}  // namespace assay::mr
