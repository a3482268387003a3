// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's central heap: free address ranges, coalesced, each with what must precede its reuse.
#pragma once

#include <assay/pool/size_class.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <span>
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
/// chunk, and in neighbouring ones where chunks may be joined. Not safe for concurrent use.
class range_heap {
 public:
  explicit range_heap(bool join_chunks = false) noexcept : join_chunks_(join_chunks) {}

  /// Its begin moves only within the gap to its neighbours, so the order by address stays.
  struct range {
    mutable std::uintptr_t address;
    mutable std::size_t bytes;
    mutable std::vector<order_point> after;  // at most one for each cache
  };

 private:
  struct by_begin {
    using is_transparent = void;
    static std::uintptr_t begin(range const& of) noexcept { return of.address; }
    static std::uintptr_t begin(std::uintptr_t of) noexcept { return of; }
    bool operator()(auto const& a, auto const& b) const noexcept { return begin(a) < begin(b); }
  };

 public:
  using iterator = typename std::set<range, by_begin>::iterator;

  bool joins_chunks() const noexcept { return join_chunks_; }
  std::size_t free_bytes() const noexcept { return free_bytes_; }
  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  std::size_t largest_range() const noexcept {
    for (auto bin = by_size_.rbegin(); bin != by_size_.rend(); ++bin) {
      if (!bin->empty()) { return (*bin->rbegin())->bytes; }
    }
    return 0;
  }

  /// Adds memory, free after `after` but for its first `taken` bytes, as chunks of `piece_bytes`
  /// and a last one of the rest.
  void add(std::uintptr_t address, std::size_t bytes, std::size_t piece_bytes,
           std::size_t taken = 0, std::span<order_point const> after = {}) {
    try {
      for (std::size_t at = 0; at < bytes; at += piece_bytes) {
        chunks_.emplace_hint(chunks_.end(), address + at, std::min(piece_bytes, bytes - at));
      }
      if (taken < bytes) { insert(address + taken, bytes - taken, after); }
    } catch (...) {
      forget_chunks(address, bytes);
      throw;
    }
    chunk_bytes_ += bytes;
    auto const rest = bytes % piece_bytes;
    least_chunk_ = std::min(least_chunk_, rest == 0 ? piece_bytes : rest);
  }

  /// Chunks side by side that are wholly free in a range: of at most `most_bytes` together, and no
  /// more of them than make up `enough_bytes`. The first ones, unless one behind them is larger
  /// than they are together.
  chunk_run free_chunks(iterator in, std::size_t enough_bytes, std::size_t most_bytes) const {
    auto const end = in->address + in->bytes;
    chunk_run found{0, 0};
    for (auto at = chunks_.lower_bound(in->address);
         at != chunks_.end() && at->first + at->second <= end && found.bytes < enough_bytes; ++at) {
      if (found.bytes + at->second > most_bytes) {
        if (at->second > most_bytes || at->second <= found.bytes) {
          if (found.bytes == 0) { continue; }
          break;
        }
        found.bytes = 0;
      }
      if (found.bytes == 0) { found.address = at->first; }
      found.bytes += at->second;
    }
    return found;
  }
  chunk_run free_chunks(iterator in) const { return free_chunks(in, in->bytes, in->bytes); }

  /// Takes out what `free_chunks` found in a range.
  void remove(iterator in, chunk_run const& found) {
    carve(in, found.address, found.bytes);
    forget_chunks(found.address, found.bytes);
    chunk_bytes_ -= found.bytes;
  }

  /// Ranges that may hold a whole chunk, from the smallest up.
  std::vector<iterator> chunk_ranges() {
    std::vector<iterator> found;
    (void)find(least_chunk_, std::numeric_limits<int>::max(), [&](range const& each) {
      found.push_back(by_address_.find(each));
      return false;
    });
    return found;
  }

  /// The largest range of less than `bytes`, among `tries`, that `accept` takes. No chunk lies
  /// behind it where the missing bytes go. `none()` if there is none.
  template <class Accept>
  iterator extensible(std::size_t bytes, int tries, Accept accept) {
    for (auto bin = bin_of(bytes) + 1; bin-- > 0;) {
      auto at = by_size_[bin].lower_bound(bytes);
      while (at != by_size_[bin].begin() && tries-- > 0) {
        auto const found = *--at;
        if (room_behind(found) >= bytes - found->bytes && accept(*found)) { return found; }
      }
    }
    return none();
  }
  /// Counts the addresses right behind a range that no chunk has.
  std::size_t room_behind(iterator at) const {
    auto const end = at->address + at->bytes;
    auto const next = chunks_.lower_bound(end);
    auto const last = std::prev(next);
    if (last->first + last->second > end) { return 0; }
    return (next == chunks_.end() ? std::numeric_limits<std::uintptr_t>::max() : next->first) - end;
  }

  /// Calls `f(address, bytes)` for every chunk.
  template <class F>
  void each_chunk(F f) const {
    for (auto const& [address, bytes] : chunks_) { f(address, bytes); }
  }

  /// Gives back a range that may be reused once all of `after` has passed. Needs memory of the host
  /// only for a range without neighbours, or beside ranges that wait for other caches. A range that
  /// waits for nothing stays apart from those that wait, and so stays ready, until `join`.
  void insert(std::uintptr_t address, std::size_t bytes, std::span<order_point const> after) {
    auto const high = by_address_.lower_bound(address);
    auto const low = high == by_address_.begin() ? by_address_.end() : std::prev(high);
    auto const alike = [&](iterator other, bool beside) {
      bool const both = beside && other->after.empty() == after.empty();
      apart_ = apart_ || both != beside;
      return both;
    };
    bool const joins_high = alike(high, high != none() && joins(address + bytes, high->address));
    bool const joins_low = alike(low, low != none() && joins(low->address + low->bytes, address));
    if (joins_low && absorb(low->after, after)) {
      auto joined = low->bytes + bytes;
      if (joins_high && absorb(low->after, high->after)) {
        joined += high->bytes;
        erase(high);
      }
      return change(low, low->address, joined);
    }
    if (joins_high && absorb(high->after, after)) {
      return change(high, address, high->bytes + bytes);
    }
    emplace(address, bytes, after);
  }

  /// Joins neighbours that stand apart; false if there are none.
  bool join() noexcept {
    if (!std::exchange(apart_, false)) { return false; }
    for (auto low = by_address_.begin(); low != none();) {
      auto const high = std::next(low);
      if (high == none() || !joins(low->address + low->bytes, high->address) ||
          !absorb(low->after, high->after)) {
        low = high;
        continue;
      }
      auto const bytes = low->bytes + high->bytes;
      erase(high);
      change(low, low->address, bytes);
    }
    return true;
  }

  /// The first range of at least `bytes`, from the smallest up, that `accept` takes among `tries`.
  template <class Accept>
  iterator find(std::size_t bytes, int tries, Accept accept) {
    for (auto bin = filled_from(bin_of(bytes)); bin < size_class::count;
         bin = filled_from(bin + 1)) {
      for (auto at = by_size_[bin].lower_bound(bytes); at != by_size_[bin].end(); ++at) {
        if (tries-- <= 0) { return none(); }
        if (accept(**at)) { return *at; }
      }
    }
    return none();
  }
  /// The range that holds `address`; `none()` if it is in use.
  iterator around(std::uintptr_t address) {
    auto const behind = by_address_.upper_bound(address);
    if (behind == by_address_.begin()) { return none(); }
    auto const found = std::prev(behind);
    return found->address + found->bytes > address ? found : none();
  }
  iterator none() noexcept { return by_address_.end(); }

  /// Cuts `bytes` off the end of a range. If there is room, the block begins at a multiple of
  /// `alignment`, a power of two. Throws before it changes anything, and never for 1.
  std::uintptr_t take(iterator from, std::size_t bytes, std::size_t alignment = 1) {
    auto const end = from->address + from->bytes;
    auto const aligned = (end - bytes) & ~(alignment - 1);
    auto const address = aligned >= from->address ? aligned : end - bytes;
    carve(from, address, bytes);
    return address;
  }
  /// Cuts `bytes` off the front of a range. Throws, if it does, before it changes anything.
  std::uintptr_t take_front(iterator from, std::size_t bytes) {
    auto const address = from->address;
    carve(from, address, bytes);
    return address;
  }

 private:
  struct smaller {
    using is_transparent = void;
    bool operator()(iterator a, iterator b) const noexcept {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
    }
    bool operator()(iterator a, std::size_t bytes) const noexcept { return a->bytes < bytes; }
  };

  // The bin of ranges of a size: those that hold a block of one size class, and none of the next.
  [[gnu::always_inline]] static unsigned bin_of(std::size_t bytes) noexcept {
    return std::clamp(size_class::of(bytes + 1), 1U, size_class::count) - 1;
  }
  // The first bin from `bin` on that holds a range; `size_class::count` if none does.
  unsigned filled_from(unsigned bin) const noexcept {
    auto bits = filled_[bin / 64] >> bin % 64 << bin % 64;
    for (auto word = bin / 64;; bits = filled_[word]) {
      if (bits != 0) { return word * 64 + static_cast<unsigned>(std::countr_zero(bits)); }
      if (++word == filled_.size()) { return size_class::count; }
    }
  }

  bool joins(std::uintptr_t low_end, std::uintptr_t high_begin) const {
    return low_end == high_begin && (join_chunks_ || !chunks_.contains(high_begin));
  }

  void forget_chunks(std::uintptr_t address, std::size_t bytes) noexcept {
    chunks_.erase(chunks_.lower_bound(address), chunks_.lower_bound(address + bytes));
  }

  // Removes a piece from the range around it. Throws, if it does, before it changes anything.
  void carve(iterator from, std::uintptr_t address, std::size_t bytes) {
    auto const before = address - from->address;
    auto const behind = from->bytes - before - bytes;
    if (before == 0 && behind == 0) { return erase(from); }
    if (before == 0) { return change(from, address + bytes, behind); }
    if (behind > 0) { emplace(address + bytes, behind, from->after); }
    change(from, from->address, before);
  }

  // Adds `more` to `points`; false where the host has no memory for both, so ranges stay apart.
  static bool absorb(std::vector<order_point>& points, std::span<order_point const> more) noexcept {
    auto const same_cache = [&](order_point const& point) {
      return std::find_if(points.begin(), points.end(),
                          [&](auto const& other) { return other.cache == point.cache; });
    };
    auto const fresh = std::count_if(more.begin(), more.end(), [&](auto const& point) {
      return same_cache(point) == points.end();
    });
    try {
      points.reserve(points.size() + static_cast<std::size_t>(fresh));
    } catch (std::bad_alloc const&) { return false; }
    for (auto const& point : more) {
      auto const same = same_cache(point);
      if (same == points.end()) {
        points.push_back(point);
      } else {
        same->epoch = std::max(same->epoch, point.epoch);
      }
    }
    return true;
  }

  void emplace(std::uintptr_t address, std::size_t bytes, std::span<order_point const> after) {
    auto const fresh =
        by_address_.insert(range{address, bytes, {after.begin(), after.end()}}).first;
    try {
      by_size_[bin_of(bytes)].insert(fresh);
    } catch (...) {
      by_address_.erase(fresh);
      throw;
    }
    fill(bin_of(bytes));
    free_bytes_ += bytes;
  }

  // Moves the begin of a range, within the gap to its neighbours, and sets its size.
  void change(iterator which, std::uintptr_t address, std::size_t bytes) noexcept {
    free_bytes_ += bytes - which->bytes;
    auto const former = bin_of(which->bytes);
    auto node = by_size_[former].extract(which);
    empty(former);
    which->address = address;
    which->bytes = bytes;
    auto const bin = bin_of(bytes);
    by_size_[bin].insert(std::move(node));
    fill(bin);
  }

  void erase(iterator which) noexcept {
    free_bytes_ -= which->bytes;
    by_size_[bin_of(which->bytes)].erase(which);
    empty(bin_of(which->bytes));
    by_address_.erase(which);
  }

  void fill(unsigned bin) noexcept { filled_[bin / 64] |= std::uint64_t{1} << bin % 64; }
  void empty(unsigned bin) noexcept {
    if (by_size_[bin].empty()) { filled_[bin / 64] &= ~(std::uint64_t{1} << bin % 64); }
  }

  std::set<range, by_begin> by_address_;
  // By size, the lowest first. Most bins hold one range or none, so few comparisons find a range.
  std::array<std::set<iterator, smaller>, size_class::count> by_size_;
  std::array<std::uint64_t, size_class::count / 64 + 1> filled_{};
  std::map<std::uintptr_t, std::size_t> chunks_;
  std::size_t free_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  std::size_t least_chunk_ = std::numeric_limits<std::size_t>::max();
  bool join_chunks_;
  bool apart_ = false;  // there may be neighbours that `join` joins
};

}  // namespace assay::mr
