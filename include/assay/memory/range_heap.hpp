// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's central heap: free address ranges, coalesced, each with what must precede its reuse.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace assay::mr {

/// A point in a stream's order: the frees of shard `shard` up to `epoch`.
struct order_point {
  std::uint32_t shard;
  std::uint64_t epoch;
  bool operator==(order_point const&) const = default;
};

/// Free ranges of memory, best fit, the lowest first; coalescing with their neighbours in the same
/// chunk, and in neighbouring ones where chunks may be joined. Not safe for concurrent use.
class range_heap {
 public:
  explicit range_heap(bool join_chunks = false) noexcept : join_chunks_(join_chunks) {}

  struct range {
    std::size_t bytes;
    std::vector<order_point> after;  // at most one for each shard
  };
  using iterator = std::map<std::uintptr_t, range>::iterator;

  bool joins_chunks() const noexcept { return join_chunks_; }
  std::size_t free_bytes() const noexcept { return free_bytes_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t chunk_count() const noexcept { return chunks_.size(); }
  std::size_t largest_range() const noexcept {
    return by_size_.empty() ? 0 : by_size_.rbegin()->first;
  }

  /// Adds memory from upstream, free but for its first `taken` bytes.
  void add_chunk(std::uintptr_t address, std::size_t bytes, std::size_t taken = 0) {
    auto const at = chunks_.emplace(address, bytes).first;
    try {
      if (taken < bytes) { insert(address + taken, bytes - taken, {}); }
    } catch (...) {
      chunks_.erase(at);
      throw;
    }
    chunk_bytes_ += bytes;
  }

  /// Takes out the largest chunk that is wholly free and that `ready(chunk_bytes, range)` accepts
  /// with the range it lies in; {0, 0} if there is none.
  template <class Ready>
  std::pair<std::uintptr_t, std::size_t> remove_free_chunk(Ready ready) {
    auto largest = chunks_.end();
    for (auto at = chunks_.begin(); at != chunks_.end(); ++at) {
      if (largest != chunks_.end() && at->second <= largest->second) { continue; }
      auto const found = range_of(at->first, at->second);
      if (found != by_address_.end() && ready(at->second, found->second)) { largest = at; }
    }
    if (largest == chunks_.end()) { return {0, 0}; }
    std::pair<std::uintptr_t, std::size_t> const gone = *largest;
    carve(range_of(gone.first, gone.second), gone.first, gone.second);
    chunks_.erase(largest);
    chunk_bytes_ -= gone.second;
    return gone;
  }

  /// The range that reaches the end of the highest chunk; `none()` if that end is in use.
  iterator top() {
    if (by_address_.empty()) { return none(); }
    auto const last = std::prev(by_address_.end());
    auto const chunk = std::prev(chunks_.end());
    return last->first + last->second.bytes == chunk->first + chunk->second ? last : none();
  }

  /// Calls `f(address, bytes)` for every chunk.
  template <class F>
  void each_chunk(F f) const {
    for (auto const& [address, bytes] : chunks_) { f(address, bytes); }
  }

  /// Gives back a range that may be reused once all of `after` has passed.
  void insert(std::uintptr_t address, std::size_t bytes, std::vector<order_point> after) {
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
  /// The range that begins at `address`; `none()` if there is none.
  iterator at(std::uintptr_t address) { return by_address_.find(address); }
  iterator none() noexcept { return by_address_.end(); }

  /// Cuts `bytes` off the end of a range. Does not throw: no node is made.
  std::uintptr_t take(iterator from, std::size_t bytes) noexcept {
    auto& left = from->second;
    if (left.bytes == bytes) {
      auto const address = from->first;
      erase(from);
      return address;
    }
    resize(from, left.bytes - bytes);
    free_bytes_ -= bytes;
    return from->first + left.bytes;
  }

 private:
  bool joins(iterator low, iterator high) const {
    return low->first + low->second.bytes == high->first &&
           (join_chunks_ || !chunks_.contains(high->first));
  }

  // The range that holds all of a piece of memory.
  iterator range_of(std::uintptr_t address, std::size_t bytes) {
    auto const after = by_address_.upper_bound(address);
    if (after == by_address_.begin()) { return by_address_.end(); }
    auto const found = std::prev(after);
    return found->first + found->second.bytes >= address + bytes ? found : by_address_.end();
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

  void join(iterator low, iterator high) {
    auto merged = low->second.after;
    for (auto const& point : high->second.after) {
      auto const same = std::find_if(merged.begin(), merged.end(),
                                     [&](auto const& other) { return other.shard == point.shard; });
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
  bool join_chunks_;
};

}  // namespace assay::mr
