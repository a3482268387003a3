// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's memory: what it has from upstream, what of it is free, and when it asks for more.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/memory/request.hpp>
#include <assay/pool/pool_options.hpp>
#include <assay/pool/slab_heap.hpp>
#include <assay/pool/stream_registry.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace assay::mr {

/// The means by which a block may be made ready for a stream.
enum class effort {
  none,  ///< nothing: that work is known to precede the block's
  ask,   ///< ask the device whether it is over
  wait,  ///< let the stream wait for it
};

/// Free memory that belongs to no stream, and growth. Guarded by the pool's mutex.
template <pool_backend Backend>
class chunk_heap {
 public:
  using cache = stream_cache<Backend>;
  using registry = stream_registry<Backend>;

  /// Throws `out_of_memory` where the initial bytes are not to be had.
  chunk_heap(Backend& backend, pool_options const& options, registry& streams)
      : backend_(backend), options_(options), streams_(streams), heap_(backend.contiguous()) {
    if (options.initial_bytes == 0) { return; }
    auto const bytes = rounded(options.initial_bytes);
    auto const add = [&](std::uintptr_t address) {
      heap_.large().add(address, bytes, backend_.piece_bytes(bytes));
    };
    if (!reserve(bytes, 0, add)) {
      throw out_of_memory("mr::pool: the card has no room for the initial " +
                          describe_bytes(options.initial_bytes));
    }
  }
  chunk_heap(chunk_heap const&) = delete;
  chunk_heap& operator=(chunk_heap const&) = delete;

  /// Returns all chunks to upstream; no work uses them any more.
  void clear() noexcept {
    heap_.large().each_chunk(
        [&](std::uintptr_t address, std::size_t bytes) { backend_.deallocate(address, bytes); });
  }

  slab_heap const& heap() const noexcept { return heap_; }
  slab_heap& heap() noexcept { return heap_; }
  std::size_t held_bytes() const noexcept { return heap_.chunk_bytes() - heap_.free_bytes(); }
  std::size_t peak_held_bytes() const noexcept { return peak_held_bytes_; }
  std::uint64_t upstream_calls() const noexcept { return upstream_calls_; }
  /// True if the last request that went upstream was refused.
  bool refused() const noexcept { return refused_; }

  /// True if more than an eighth of the memory in use lies free, in pieces or behind some stream: a
  /// wait is better then than to reserve ever more.
  bool crowded() const noexcept { return heap_.free_bytes() > held_bytes() / 8; }

  /// A block for work on `to` (null: whatever stream), 0 if there is none.
  std::uintptr_t take(cache* to, std::size_t bytes, effort how) {
    return noted(heap_.take(
        bytes, tries,
        // To ask is cheaper than another slab.
        [&](auto const& range) { return ready(to, range, std::max(how, effort::ask)); },
        [&](auto const& range) { return ready(to, range, how); },
        [&](auto const& range) {
          if (how != effort::wait) { return; }
          for (auto const point : range.after) { streams_.require(*to, point); }
        }));
  }

  /// Gives back a block that nobody may use before `after`.
  void give(std::uintptr_t address, std::size_t bytes, std::optional<order_point> after) noexcept {
    heap_.give(address, bytes, after);
  }

  /// A block from a new chunk of at least a quarter of a step of growth; 0 if there can be none.
  /// Asks for less and less beyond the block while upstream refuses.
  std::uintptr_t grow(cache* to, std::size_t bytes) {
    return grow(to, bytes, options_.max_bytes, options_.growth_bytes / 4);
  }

  /// The same as long as what is reserved stays near the most that was held. The chunk has a step
  /// of growth or an eighth of what is reserved, so that there are few chunks.
  std::uintptr_t grow_within(cache* to, std::size_t bytes) {
    return grow(to, bytes, std::min(options_.max_bytes, bound(bytes)),
                std::max(options_.growth_bytes, heap_.chunk_bytes() / 8));
  }

  /// A block of what is free in slabs, down to single pieces.
  std::uintptr_t from_slabs(cache* to, std::size_t bytes) {
    return heap_.reclaim(slab_heap::slab_piece_bytes) == 0 ? 0 : take(to, bytes, effort::ask);
  }

  /// Takes out chunks that are wholly free, and whose last use has passed, while at least
  /// `keep_bytes` stay reserved; the largest ranges first.
  /// The caller gives the runs to `Backend::deallocate` once it has left the pool's mutex.
  std::vector<chunk_run> take_beyond(std::size_t keep_bytes) {
    (void)heap_.reclaim(slab_heap::slab_piece_bytes);
    auto ranges = idle_ranges(effort::none);
    std::reverse(ranges.begin(), ranges.end());
    auto const most = heap_.chunk_bytes() - std::min(keep_bytes, heap_.chunk_bytes());
    return take_chunks(ranges, most, most);
  }

  /// Returns to upstream what it needs to give a block of a size in one piece; nothing if it could
  /// not even then.
  void release_for(std::size_t bytes) {
    auto const ranges = idle_ranges(effort::ask);
    auto left = heap_.chunk_bytes();
    for (auto const each : ranges) { left -= heap_.large().free_chunks(each).bytes; }
    if (left + rounded(bytes) <= options_.max_bytes) {
      for (auto const& run : take_chunks(ranges, rounded(bytes), all)) {
        backend_.deallocate(run.address, run.bytes);
      }
    }
  }

 private:
  static constexpr std::size_t page_bytes = slab_heap::page_bytes;
  static constexpr int tries = 256;
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  static std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }
  std::uintptr_t noted(std::uintptr_t taken) noexcept {
    peak_held_bytes_ = std::max(peak_held_bytes_, held_bytes());
    return taken;
  }

  bool ready(cache* to, range_heap::range const& range, effort how) {
    return std::all_of(range.after.begin(), range.after.end(), [&](order_point point) {
      return how == effort::wait ? streams_.of(to, point) != registry::standing::unknown
                                 : streams_.passed(to, point, how == effort::ask);
    });
  }

  // How much may be reserved before other means are tried. Of the quarter beyond the peak of what
  // is live that the pool aims at, the rest is for rounding up to size classes and for holes.
  std::size_t bound(std::size_t bytes) const noexcept {
    auto const peak = std::max(peak_held_bytes_, held_bytes() + bytes);
    return peak + std::max(peak / 6, rounded(options_.growth_bytes));
  }

  // A range that lacks less of a block than any other, and has room for it behind; none where
  // ranges end with their chunk.
  range_heap::iterator extensible(cache* to, std::size_t bytes) {
    auto& large = heap_.large();
    if (bytes <= slab_heap::small_bytes || !large.joins_chunks()) { return large.none(); }
    return large.extensible(bytes, tries,
                            [&](auto const& range) { return ready(to, range, effort::ask); });
  }

  std::uintptr_t grow(cache* to, std::size_t bytes, std::size_t most_bytes,
                      std::size_t step_bytes) {
    auto& large = heap_.large();
    auto const left =
        (most_bytes - std::min(most_bytes, heap_.chunk_bytes())) / page_bytes * page_bytes;
    auto const base = extensible(to, bytes);
    bool const extends = base != large.none();
    auto const least = rounded(extends ? bytes - base->second.bytes : bytes);
    if (least > left) { return 0; }
    auto const wish = extends ? base->first + base->second.bytes : 0;
    auto const room = extends ? large.room_behind(base) : left;
    auto wanted = std::min({std::max(least, rounded(step_bytes)), left, room});
    for (;;) {
      // The block is cut from the front, so that the rest is beside the next chunk, and apart from
      // ranges whose order it would else take over.
      auto const piece = backend_.piece_bytes(wanted);
      std::uintptr_t found = 0;
      bool const added = reserve(wanted, wish, [&](std::uintptr_t chunk) {
        if (extends) {
          large.add(chunk, wanted, piece);
          found = chunk;
        } else {
          found = heap_.add(chunk, wanted, piece, bytes);
        }
      });
      if (added && extends) {
        auto const joined = large.around(found);
        return joined->second.bytes < bytes ? 0 : noted(large.take_front(joined, bytes));
      }
      if (added) { return noted(found); }
      if (wanted == least) { return 0; }
      wanted = std::max(least, rounded(wanted / 2));
    }
  }

  // Ranges that may hold a whole chunk, and that nothing uses any more; the smallest first.
  std::vector<range_heap::iterator> idle_ranges(effort how) {
    auto found = heap_.large().chunk_ranges();
    std::erase_if(found, [&](auto each) { return !ready(nullptr, each->second, how); });
    return found;
  }

  // Takes out chunks that are wholly free until they make up `enough_bytes`.
  std::vector<chunk_run> take_chunks(std::vector<range_heap::iterator> const& ranges,
                                     std::size_t enough_bytes, std::size_t most_bytes) {
    std::vector<chunk_run> found;
    found.reserve(ranges.size());
    std::size_t released = 0;
    for (auto const each : ranges) {
      if (released >= enough_bytes) { break; }
      auto const run =
          heap_.large().free_chunks(each, enough_bytes - released, most_bytes - released);
      if (run.bytes == 0) { continue; }
      try {
        heap_.large().remove(each, run);
      } catch (std::bad_alloc const&) { break; }  // the chunks stay in the heap
      ++upstream_calls_;
      found.push_back(run);
      released += run.bytes;
    }
    return found;
  }

  // Asks upstream for a chunk, at `wish` where it can, and gives it back unless `add(address)`
  // succeeds.
  template <class Add>
  bool reserve(std::size_t bytes, std::uintptr_t wish, Add add) {
    ++upstream_calls_;
    auto const address = backend_.allocate(bytes, wish);
    refused_ = address == 0;
    if (refused_) { return false; }
    try {
      add(address);
    } catch (...) {
      backend_.deallocate(address, bytes);
      throw;
    }
    return true;
  }

  Backend& backend_;
  pool_options const& options_;
  registry& streams_;
  slab_heap heap_;
  std::size_t peak_held_bytes_ = 0;
  std::uint64_t upstream_calls_ = 0;
  bool refused_ = false;
};

}  // namespace assay::mr
