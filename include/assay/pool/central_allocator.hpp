// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's slow path: where blocks come from when a stream has none of its own.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/memory/request.hpp>
#include <assay/pool/chunk_heap.hpp>
#include <assay/pool/pool_backend.hpp>
#include <assay/pool/pool_capture.hpp>
#include <assay/pool/pool_options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace assay::mr {

/// The order in which a stream's cache, the store, other streams and waiting are tried. Guarded by
/// the pool's mutex, which growth leaves for a while; holds the lock of at most one cache, never
/// across a call of the backend.
template <pool_backend Backend>
class central_allocator {
 public:
  using cache = stream_cache<Backend>;
  using registry = stream_registry<Backend>;
  using block_map = typename pool_capture<cache>::block_map;

  central_allocator(Backend& backend, pool const& options, std::mutex& mutex)
      : options_(options),
        streams_(backend, options.trust_handles),
        store_(backend, options, streams_, mutex) {}
  central_allocator(central_allocator const&) = delete;
  central_allocator& operator=(central_allocator const&) = delete;

  /// Returns all memory to upstream; no work uses it any more.
  void clear() noexcept { store_.clear(); }

  registry& streams() noexcept { return streams_; }
  registry const& streams() const noexcept { return streams_; }
  std::size_t reserved_bytes() const noexcept { return store_.heap().chunk_bytes(); }

  /// A block of a class for work on `to`; 0 where only waiting can help. It tries these sources,
  /// the cheapest first:
  /// 1. Memory is in order for `to`, or its events have passed. The stream's own large blocks are,
  ///    once an event covers them.
  /// 2. Upstream has more within the heap's bound.
  /// 3. The stream `to` waits on the device for memory.
  /// 4. All caches and all slabs are emptied.
  /// 5. Upstream has more beyond the bound.
  /// 6. After a wait chunks that fit nothing make room for one that does.
  std::uintptr_t acquire(cache& to, unsigned class_index, bool after_wait) {
    auto const bytes = size_class::sizes[class_index];
    if (auto const found = take_ready(&to, bytes)) { return found; }
    if (!to.large.empty()) {
      cover(to);
      if (auto const found = take_ready(&to, bytes)) { return found; }
    }
    // Memory behind uncovered frees of other streams cannot be had now. Their next frees record an
    // event.
    if (streams_.uncovered_beside(&to)) { streams_.call_for_events(); }
    if (auto const found = store_.grow(&to, bytes, growth::within)) { return found; }
    if (to.captured) { return 0; }  // a capture has begun meanwhile: nothing may wait
    if (auto const found = store_.take(&to, bytes, effort::wait)) { return found; }
    flush_all();
    (void)store_.join(bytes);
    if (auto const found = store_.take(&to, bytes, effort::wait)) { return found; }
    if (auto const found = store_.from_slabs(&to, bytes, effort::wait)) { return found; }
    if (auto const found = store_.grow(&to, bytes, growth::beyond)) { return found; }
    return after_wait ? store_.grow(&to, bytes, growth::instead) : 0;
  }

  /// A block that nothing precedes, whatever stream uses it; 0 where only waiting can help.
  std::uintptr_t acquire_unordered(std::size_t bytes) {
    if (auto const found = take_ready(nullptr, bytes)) { return found; }
    if (auto const found = store_.grow(nullptr, bytes, growth::within)) { return found; }
    if (auto const found = store_.grow(nullptr, bytes, growth::beyond)) { return found; }
    streams_.call_for_events();
    flush_all();
    if (auto const found = take_ready(nullptr, bytes)) { return found; }
    return store_.from_slabs(nullptr, bytes, effort::ask);
  }

  /// The counts of all streams, but for failures.
  statistics count() {
    statistics sum;
    std::uint64_t misses = 0;
    std::uint64_t freed = 0;
    // Frees first: streams go on meanwhile, and no block is then counted free but not allocated.
    for (auto const& each : streams_.caches()) {
      std::lock_guard const held{each->lock};
      sum.deallocations += each->deallocations;
      freed += each->deallocated_bytes;
    }
    for (auto const& each : streams_.caches()) {
      std::lock_guard const held{each->lock};
      sum.allocations += each->allocations;
      sum.bytes += each->allocated_bytes;
      misses += each->misses;
    }
    sum.live_bytes = sum.bytes - freed;
    sum.peak_bytes = store_.peak_held_bytes();
    sum.reserved_bytes = reserved_bytes();
    sum.reused_blocks = sum.allocations - misses;
    sum.upstream_calls = store_.upstream_calls();
    sum.waits = streams_.waits();
    return sum;
  }

  /// Keeps blocks of a graph that is gone, but may still run, until the device has been waited for.
  void park(block_map& blocks) noexcept { parked_.merge(blocks); }
  /// Does so for a block behind no event. In the heap the block would join its neighbours, and make
  /// them wait too. A block that the host has no memory to note is lost until the pool goes.
  void park(std::uintptr_t address, unsigned class_index) noexcept {
    try {
      parked_.emplace(address, typename pool_capture<cache>::block{class_index, false, false});
    } catch (...) { lose(size_class::bytes(class_index)); }
  }

  /// Counts a block that nothing can note.
  void lose(std::size_t bytes) noexcept { store_.lose(bytes); }
  std::size_t lost_bytes() const noexcept { return store_.heap().lost_bytes(); }

  /// Parked blocks, which are the caller's to wait for and to give back by `give_unused`.
  block_map take_parked() noexcept { return std::exchange(parked_, {}); }

  /// Moves a stream's oldest and largest free blocks to the heap until it keeps at most
  /// `keep_bytes`. Blocks behind no event stay. Only their own stream may use them without a wait
  /// for the device, so no other thread takes them away.
  void flush(cache& from, std::size_t keep_bytes) {
    auto const within = [&] { return from.cached_bytes <= keep_bytes; };
    if (from.large.empty()) {
      std::lock_guard const held{from.lock};
      if (within()) { return; }
    }
    // One event for all blocks that move. A stream that takes one later finds the event passed most
    // likely, and need not wait. A failure to record costs time and no safety.
    if (streams_.nameable(from)) {
      cover(from);
    } else {
      give_covered(from);
    }
    moved_.clear();
    {
      std::lock_guard const held{from.lock};
      if (within()) { return; }
      from.evict(keep_bytes, registry::covered(from), moved_);
    }
    for (auto const& [block, class_index] : moved_) {
      store_.give(block.address, size_class::bytes(class_index),
                  order_point{from.index, block.epoch});
    }
  }

  /// Moves the excess of the present stream's cache to the heap, after an event. A quarter of the
  /// limit moves too, so that not every free does so. False where nothing was to move.
  bool evict(cache& from) {
    {
      std::lock_guard const held{from.lock};
      if (from.cached_bytes <= options_.stream_cache_bytes) { return false; }
    }
    flush(from, options_.stream_cache_bytes / 4 * 3);
    return true;
  }

  /// Takes back a large block of the present stream. An event covers it at once: another stream
  /// that misses a large block then waits for that, not for the device. While events are held, the
  /// block stays with its stream, which may use it again.
  void give_large(cache& from, std::uintptr_t address, unsigned class_index) noexcept {
    auto const bytes = size_class::sizes[class_index];
    std::uint64_t epoch = 0;
    {
      std::lock_guard const held{from.lock};
      from.count_deallocation(bytes);
      from.uncovered_bytes += bytes;
      epoch = from.epoch;
    }
    cover(from);
    if (epoch <= registry::covered(from)) {
      return store_.give(address, bytes, order_point{from.index, epoch});
    }
    try {
      from.large.push_back({{address, epoch}, class_index});
      from.large_bytes += bytes;
    } catch (...) { park(address, class_index); }
  }

  /// Records an event for all frees of a stream that may be named, and moves its large blocks to
  /// the heap. A failure costs other streams a wait, and no safety.
  void cover(cache& of) noexcept {
    try {
      streams_.record_event(of);
    } catch (...) { ++unrecorded_; }
    if (!of.large.empty()) { give_covered(of); }
  }

  void flush_all() {
    for (auto const& each : streams_.caches()) { flush(*each, 0); }
  }

  /// `chunk_heap::trim`.
  std::size_t trim(std::size_t keep_bytes) { return store_.trim(keep_bytes); }

  /// Puts a block back that nothing has used.
  void give_unused(std::uintptr_t address, std::size_t bytes) noexcept {
    store_.give(address, bytes, {});
  }

  /// The state as one clause, for messages. Captures that the pool was not told of keep
  /// `blocks_of_captures`.
  std::string state(std::size_t blocks_of_captures) {
    std::size_t cached = 0;
    std::size_t open = 0;
    for (auto const& each : streams_.caches()) {
      std::lock_guard const held{each->lock};
      cached += each->cached_bytes + each->large_bytes;
      open += each->open ? 1U : 0U;
    }
    auto const& heap = store_.heap();
    std::string text = describe_bytes(heap.chunk_bytes()) + " reserved";
    if (options_.max_bytes != std::numeric_limits<std::size_t>::max()) {
      text += " of at most " + describe_bytes(options_.max_bytes);
    }
    text += ", " + describe_bytes(heap.chunk_bytes() - heap.free_bytes() - cached) + " in use, " +
            describe_bytes(cached) + " kept by " + std::to_string(open) + " streams, " +
            describe_bytes(heap.free_bytes()) + " free in ranges of at most " +
            describe_bytes(heap.largest_range());
    if (!parked_.empty()) {
      text += ", " + std::to_string(parked_.size()) + " blocks that wait for the device";
    }
    if (blocks_of_captures != 0) {
      text += ", " + std::to_string(blocks_of_captures) +
              " blocks of graphs that the pool was not told of";
    }
    if (heap.lost_bytes() != 0) {
      text += ", " + describe_bytes(heap.lost_bytes()) + " lost track of";
    }
    if (unrecorded_ != 0) { text += ", " + std::to_string(unrecorded_) + " events not recorded"; }
    return store_.refused() ? text + "; upstream has no more" : text;
  }

 private:
  std::uintptr_t take_ready(cache* to, std::size_t bytes) {
    auto const found = store_.take(to, bytes, effort::ask);
    return found == 0 && store_.join(bytes) ? store_.take(to, bytes, effort::ask) : found;
  }

  // Moves the large blocks of a stream that an event covers to the heap.
  void give_covered(cache& from) noexcept {
    std::erase_if(from.large, [&](sized_block const& each) {
      auto const& [block, class_index] = each;
      if (block.epoch > registry::covered(from)) { return false; }
      from.large_bytes -= size_class::sizes[class_index];
      store_.give(block.address, size_class::sizes[class_index],
                  order_point{from.index, block.epoch});
      return true;
    });
  }

  pool const& options_;
  registry streams_;
  chunk_heap<Backend> store_;
  block_map parked_;
  std::vector<sized_block> moved_;
  std::uint64_t unrecorded_ = 0;
};

}  // namespace assay::mr
