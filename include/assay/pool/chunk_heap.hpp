// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's memory from upstream: its free ranges, growth and trim.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/memory/request.hpp>
#include <assay/pool/pool_backend.hpp>
#include <assay/pool/pool_options.hpp>
#include <assay/pool/slab_heap.hpp>
#include <assay/pool/stream_registry.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace assay::mr {

/// The means by which a block may be made ready for a stream.
enum class effort {
  ask,   ///< ask the device whether the work before it is over
  wait,  ///< let the stream wait for it
};

/// How far the pool may grow for a block.
enum class growth {
  within,   ///< while reserved memory stays near the peak of held memory
  beyond,   ///< until the pool reaches its limit
  instead,  ///< as beyond, after chunks that fit nothing have made room
};

/// Free memory that belongs to no stream, and growth. Guarded by the pool's mutex.
///
/// A second lock, `upstream_`, lets one thread at a time call upstream. Growth and trim wait for
/// `upstream_`, and call upstream, without the pool's mutex:
/// - A thread that finds its block in a cache or in the heap never waits for `upstream_`.
/// - Growth takes a block that another thread's growth has left meanwhile. Otherwise it takes the
///   range that it extends out of the heap, and maps. Then, in one step, it adds the chunk and
///   takes its block.
/// - Trim takes free chunks out of the heap under both locks, and unmaps them under `upstream_`.
///
/// So all chunks in the heap are mapped, and an address is unmapped before it is mapped again.
/// Reserved memory changes under `upstream_` alone, so `max_bytes` holds.
template <pool_backend Backend>
class chunk_heap {
 public:
  using cache = stream_cache<Backend>;
  using registry = stream_registry<Backend>;

  /// Throws `out_of_memory` where the initial bytes are not to be had.
  chunk_heap(Backend& backend, pool const& options, registry& streams, std::mutex& mutex)
      : backend_(backend),
        options_(options),
        streams_(streams),
        mutex_(mutex),
        heap_(backend.contiguous()) {
    auto const bytes =
        std::min(rounded(options.initial_bytes), options.max_bytes / page_bytes * page_bytes);
    if (bytes == 0) { return; }
    auto const address = backend_.allocate(bytes, 0);
    ++upstream_calls_;
    if (address == 0) {
      throw out_of_memory("mr::pool: the card has no room for the initial " +
                          describe_bytes(options.initial_bytes));
    }
    try {
      heap_.large().add(address, bytes, backend_.piece_bytes(bytes));
    } catch (...) {
      backend_.deallocate(address, bytes);
      throw;
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
  std::size_t held_bytes() const noexcept {
    return heap_.chunk_bytes() - heap_.free_bytes() - extended_bytes_;
  }
  std::size_t peak_held_bytes() const noexcept { return peak_held_bytes_; }
  std::uint64_t upstream_calls() const noexcept { return upstream_calls_; }
  /// True if the last request that went upstream was refused.
  bool refused() const noexcept { return refused_; }

  /// A block for work on `to` (null: whatever stream), 0 if there is none.
  std::uintptr_t take(cache* to, std::size_t bytes, effort how) {
    // A capture cannot wait, so it asks of all ranges.
    auto const most = to == nullptr ? std::numeric_limits<int>::max() : tries;
    return noted(heap_.take(
        bytes, most, [&](auto const& range) { return ready(to, range, how); },
        [&](auto const& range) {
          if (how != effort::wait) { return; }
          for (auto const point : range.after) { streams_.require(*to, point); }
        }));
  }

  /// Makes one range of ready and of busy memory side by side where no range is large enough. False
  /// if that changes nothing.
  bool join(std::size_t bytes) noexcept {
    auto const least = std::max(bytes, page_bytes);
    return heap_.large().largest_range() < least && heap_.join();
  }

  /// Gives back a block. Its next use comes after `after`, which is `covered`.
  void give(std::uintptr_t address, std::size_t bytes, std::optional<order_point> after) noexcept {
    heap_.give(address, bytes, after);
  }

  /// Counts a block that nothing can note.
  void lose(std::size_t bytes) noexcept { heap_.lose(bytes); }

  /// A block from a new chunk, or from a chunk that another thread has reserved meanwhile; 0 if
  /// there can be none. Chunks are few: each has an eighth of all reserved memory, and at least
  /// `growth_bytes`. Beyond the bound a chunk has a quarter of `growth_bytes`. Asks for less and
  /// less while upstream refuses. Leaves the mutex, and calls upstream without it.
  std::uintptr_t grow(cache* to, std::size_t bytes, growth how) {
    // A range that another thread extends may come back, so the last try waits for that thread.
    bool const awaits = how == growth::instead || (how == growth::beyond && extended_bytes_ != 0);
    if (!awaits && planned(to, bytes, how).bytes == 0) { return 0; }
    auto const alone = lock_upstream();
    if (auto const found = take(to, bytes, effort::ask)) { return found; }
    if (how == growth::instead) { (void)return_to_upstream(chunks_instead_of(bytes)); }
    auto const plan = planned(to, bytes, how);
    if (plan.bytes == 0) { return 0; }
    return grow_by(plan, bytes);
  }

  /// Collects the free pieces of slabs, and takes a block of them.
  std::uintptr_t from_slabs(cache* to, std::size_t bytes, effort how) {
    if (heap_.reclaim() == 0) { return 0; }
    (void)join(bytes);
    return take(to, bytes, how);
  }

  /// Returns chunks that are wholly free and out of use to upstream, the largest ranges first. At
  /// least `keep_bytes` stay reserved. Says how many bytes went back. Leaves the mutex.
  std::size_t trim(std::size_t keep_bytes) {
    auto const alone = lock_upstream();
    (void)heap_.reclaim();
    auto ranges = idle_ranges();
    std::reverse(ranges.begin(), ranges.end());
    auto const most = heap_.chunk_bytes() - std::min(keep_bytes, heap_.chunk_bytes());
    return return_to_upstream(take_chunks(ranges, most, most));
  }

 private:
  static constexpr std::size_t page_bytes = slab_heap::page_bytes;
  static constexpr int tries = 256;

  static std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }
  std::uintptr_t noted(std::uintptr_t taken) noexcept {
    peak_held_bytes_ = std::max(peak_held_bytes_, held_bytes());
    return taken;
  }

  bool ready(cache* to, range_heap::range const& range, effort how) {
    return how == effort::wait ||
           std::all_of(range.after.begin(), range.after.end(),
                       [&](order_point point) { return streams_.passed(to, point, true); });
  }

  // The pool tries other means before it reserves more than this. The pool aims at a quarter beyond
  // the peak of live memory; size classes and holes take the rest of that quarter.
  std::size_t bound(std::size_t bytes) const noexcept {
    auto const peak = std::max(peak_held_bytes_, held_bytes() + bytes);
    return peak + std::max(peak / 6, rounded(options_.growth_bytes));
  }

  // Leaves the pool's mutex and the present stream, and comes back to both.
  class outside {
   public:
    explicit outside(chunk_heap& of) noexcept
        : mutex_(of.mutex_), streams_(of.streams_), present_(streams_.leave_present()) {
      mutex_.unlock();
    }
    outside(outside const&) = delete;
    outside& operator=(outside const&) = delete;
    ~outside() {
      mutex_.lock();
      streams_.come_back(present_);
    }

   private:
    std::mutex& mutex_;
    registry& streams_;
    cache const* present_;
  };

  std::unique_lock<std::mutex> lock_upstream() {
    outside const here{*this};
    return std::unique_lock{upstream_};
  }

  struct request {
    std::size_t least;              // the block needs this
    std::size_t bytes;              // the first request; 0 if there is no room
    range_heap::iterator extended;  // the range right before the new chunk, or `none()`
  };

  request planned(cache* to, std::size_t bytes, growth how) {
    auto& large = heap_.large();
    auto const reserved = heap_.chunk_bytes();
    auto const within = how == growth::within;
    auto const most = within ? std::min(options_.max_bytes, bound(bytes)) : options_.max_bytes;
    auto const step =
        within ? std::max(options_.growth_bytes, reserved / 8) : options_.growth_bytes / 4;
    auto left = (most - std::min(most, reserved)) / page_bytes * page_bytes;
    // The new chunk extends the range that lacks least of the block, where addresses are free.
    auto const extended = bytes <= slab_heap::small_bytes || !large.joins_chunks()
                              ? large.none()
                              : large.extensible(bytes, tries, [&](auto const& range) {
                                  return ready(to, range, effort::ask);
                                });
    auto least = rounded(bytes);
    if (extended != large.none()) {
      least = rounded(bytes - extended->bytes);
      left = std::min(left, large.room_behind(extended) / page_bytes * page_bytes);
    }
    if (least > left) { return {least, 0, extended}; }
    return {least, std::min(std::max(least, rounded(step)), left), extended};
  }

  // Asks upstream as planned. Needs both locks, and leaves the mutex.
  std::uintptr_t grow_by(request const& plan, std::size_t bytes) {
    auto& large = heap_.large();
    // The block is cut from the front. The rest is then beside the next chunk, and does not take
    // over the order of ranges in front of it.
    std::uintptr_t begin = 0;
    std::size_t begun = 0;
    std::vector<order_point> after;
    if (plan.extended != large.none()) {
      begun = plan.extended->bytes;
      after = std::move(plan.extended->after);
      begin = large.take_front(plan.extended, begun);
      extended_bytes_ = begun;
    }
    auto const come_back = [&] {
      extended_bytes_ = 0;
      if (begin != 0) { heap_.give_large(begin, begun, after); }
    };
    auto wanted = plan.bytes;
    std::uintptr_t chunk = 0;
    try {
      for (;; wanted = std::max(plan.least, rounded(wanted / 2))) {
        ++upstream_calls_;
        {
          outside const here{*this};
          chunk = backend_.allocate(wanted, begin == 0 ? 0 : begin + begun);
        }
        if (chunk != 0 || wanted == plan.least) { break; }
      }
      refused_ = chunk == 0;
      auto const piece = backend_.piece_bytes(wanted);
      if (chunk != 0 && begin == 0) { return noted(heap_.add(chunk, wanted, piece, bytes)); }
      bool const extends = chunk != 0 && chunk == begin + begun;
      if (chunk != 0) { large.add(chunk, wanted, piece, extends ? bytes - begun : 0); }
      if (extends) {
        extended_bytes_ = 0;
        return noted(begin);
      }
    } catch (...) {
      if (chunk != 0) {
        outside const here{*this};
        backend_.deallocate(chunk, wanted);
      }
      come_back();
      throw;
    }
    come_back();
    return 0;
  }

  // Gives runs that are out of the heap to upstream. Needs both locks, and leaves the mutex.
  std::size_t return_to_upstream(std::vector<chunk_run> const& runs) {
    std::size_t returned = 0;
    upstream_calls_ += runs.size();
    outside const here{*this};
    for (auto const& run : runs) {
      backend_.deallocate(run.address, run.bytes);
      returned += run.bytes;
    }
    return returned;
  }

  // Chunks that upstream needs back to give a block of a size in one piece; none if all free
  // chunks are too few.
  std::vector<chunk_run> chunks_instead_of(std::size_t bytes) {
    auto const ranges = idle_ranges();
    auto left = heap_.chunk_bytes();
    for (auto const each : ranges) { left -= heap_.large().free_chunks(each).bytes; }
    if (left + rounded(bytes) > options_.max_bytes) { return {}; }
    return take_chunks(ranges, rounded(bytes), std::numeric_limits<std::size_t>::max());
  }

  // Ranges that may hold a whole chunk, and that nothing uses any more; the smallest first.
  std::vector<range_heap::iterator> idle_ranges() {
    (void)heap_.join();
    auto found = heap_.large().chunk_ranges();
    std::erase_if(found, [&](auto each) { return !ready(nullptr, *each, effort::ask); });
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
      found.push_back(run);
      released += run.bytes;
    }
    return found;
  }

  Backend& backend_;
  pool const& options_;
  registry& streams_;
  std::mutex& mutex_;    // the pool's, which every call holds
  std::mutex upstream_;  // never locked by a thread that holds the pool's mutex
  slab_heap heap_;
  std::size_t extended_bytes_ = 0;  // of the range that growth has taken out to extend it
  std::size_t peak_held_bytes_ = 0;
  std::uint64_t upstream_calls_ = 0;
  bool refused_ = false;
};

}  // namespace assay::mr
