// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to mr::pool: its logic over any backend. Each stream has a cache; one mutex guards the
/// rest.
#pragma once

#include <assay/pool/pool_parts.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace assay::mr {

/// A stream-ordered pool.
///
/// Invariants:
///  1. A free block is in one place: a list of a stream's cache, the stream's large blocks that no
///     event covers, the central heap (large blocks' part, or slabs), parked until a wait for the
///     device, or with the thread that extends it. Or the captures of all graphs that use the block
///     have it.
///  2. Work on a stream may reuse a block of the stream's cache at once: in stream order the last
///     use of the block comes before its `deallocate` call.
///  3. `allocate` takes a block from a cache only if the stream's number is the one that the cache
///     was made for. A free does not ask for the number. So a block that was freed on a new stream
///     of an old handle lies in the old stream's cache. Both leave when the next call sees the new
///     number.
///  4. A range of the heap carries points (cache, epoch), one for each stream that freed a part. A
///     stream may reuse the range once each point is in order. Its own frees are, by (2). Another
///     stream's free is in order behind an event that was recorded after the free, or once the
///     host knows that the work is over. A block behind no event stays out of the heap, so the heap
///     serves every stream without a wait of the host.
///  5. No stream is named but by the call that was given it (unless handles are trusted).
///  6. The lock of a cache is held for a few instructions, never together with another's and never
///     across a call of the backend. Order of locks: the pool's mutex, then one cache's.
///  7. The pool's mutex is never held while a call waits for work of the device, nor while memory
///     is mapped, unmapped or asked of another resource (`chunk_heap` tells how).
///  8. While a thread waits for the device, no call records an event: the driver may hold the
///     record back that long, and with it the pool's mutex. So a cache keeps more than
///     `stream_cache_bytes`, and blocks of any size.
///  9. An exception leaves every block in one place: waits come before blocks are moved.
template <pool_backend Backend>
class pool_core : pool_parts<Backend> {
  using parts = pool_parts<Backend>;
  using parts::backend_, parts::captures_, parts::central_, parts::mutex_, parts::options_;
  using parts::forked, parts::refuse_fork, parts::resolve, parts::take_held, parts::wait_for_work;
  using typename parts::turn;

 public:
  using stream_type = typename Backend::stream_type;
  using cache = stream_cache<Backend>;
  using capture_type = pool_capture<cache>;

  pool_core(Backend backend, pool const& options) : parts(std::move(backend), options) {}

  /// Null for zero bytes. Throws `out_of_memory`, what the backend throws, and `std::logic_error`
  /// on a captured stream that `begin_capture` was not told of.
  // Inlined, with what each call asks: in compiled mode the handle's calls are calls already.
  [[gnu::always_inline]] void* allocate(stream_type stream, std::size_t bytes) {
    if (bytes == 0) [[unlikely]] { return nullptr; }
    auto const class_index = size_class::of(bytes);
    try {
      refuse_fork();
      auto address = allocate_cached(stream, class_index);
      if (address == 0) { address = allocate_slow(stream, class_index); }
      return reinterpret_cast<void*>(address);
    } catch (...) {
      failures_.fetch_add(1, std::memory_order_relaxed);
      throw;
    }
  }

  /// Does not fail: a block that cannot be put in the order of its stream waits for the device.
  [[gnu::always_inline]] void deallocate(stream_type stream, void* block,
                                         std::size_t bytes) noexcept {
    if (block == nullptr) [[unlikely]] { return; }
    auto const address = reinterpret_cast<std::uintptr_t>(block);
    auto const class_index = size_class::of(bytes);
    try {
      give_back(stream, address, class_index);
    } catch (...) { give_back_late(stream, address, class_index); }
  }

  /// Gives the blocks of a stream that is about to be destroyed to others, which will wait for its
  /// work so far. Throws `std::logic_error` while it is captured or a hold is open for it.
  void release(stream_type stream) {
    turn const now{*this};
    if (captures_.of(backend_.key(stream)) != nullptr || is_captured(stream)) {
      throw std::logic_error("mr::pool: release of a stream that is being captured: end() first");
    }
    auto& mine = resolve(stream);
    central_.flush(mine, 0);
    central_.streams().close(mine);
  }

  /// Waits for the device, gathers what streams keep, and returns free pieces of chunks (pages,
  /// where chunks are mapped) to upstream while the initial bytes stay. Says how many bytes that
  /// was. Other threads are served meanwhile.
  std::size_t trim() {
    wait_for_work();
    for (std::size_t i = 0;; ++i) {
      turn const now{*this};
      auto const& all = central_.streams().caches();
      if (i == all.size()) { break; }
      central_.flush(*all[i], 0);
    }
    turn const now{*this};
    return central_.trim(options_.initial_bytes);
  }

  /// Counts since the pool was opened. They count blocks, which are up to 1/8 larger than requests.
  /// `peak_bytes` is the most that was out of the central heap at one time, live or in caches.
  statistics stats() {
    std::lock_guard const lock{mutex_};
    auto all = central_.count();
    all.failures = failures_.load(std::memory_order_relaxed);
    all.deallocations += uncached_frees_;
    all.live_bytes -= uncached_bytes_;
    all.late_frees = late_frees_;
    return all;
  }

  /// From here to `end_capture` blocks for this stream come from the capture. Throws
  /// `std::logic_error` if the stream is captured already: an event would be the graph's.
  std::unique_ptr<capture_type> begin_capture(stream_type stream) {
    turn const now{*this};
    if (captures_.of(backend_.key(stream)) != nullptr || is_captured(stream)) {
      throw std::logic_error("mr::pool: the stream is being captured already");
    }
    captures_.reserve_one();
    auto fresh = std::make_unique<capture_type>();
    auto& mine = resolve(stream);
    central_.flush(mine, 0);
    central_.streams().record_event(mine);  // the capture may use what the stream freed before it
    fresh->stream = &mine;
    captures_.add(*fresh);
    set_captured(mine, true);
    return fresh;
  }

  void end_capture(capture_type& capture) noexcept {
    std::lock_guard const lock{mutex_};
    if (std::exchange(capture.open, false)) { set_captured(*capture.stream, false); }
  }

  /// The graph is gone: its blocks may be used again once the device has been waited for, which is
  /// when memory is next needed. Those still live stay so.
  void drop_capture(capture_type& capture) noexcept {
    end_capture(capture);
    std::lock_guard const lock{mutex_};
    captures_.remove(capture);
    central_.park(capture.blocks);
  }

  /// Memory that the host has no memory to note, and that stays out of use until the pool goes.
  std::size_t lost_bytes() {
    std::lock_guard const lock{mutex_};
    return central_.lost_bytes();
  }

 private:
  bool is_captured(stream_type stream) const {
    return backend_.capturing(stream) != capture_state::none;
  }
  capture_state state_of(stream_type stream) const {
    return options_.trust_handles ? capture_state::none : backend_.capturing(stream);
  }

  // A block of the stream's own cache; 0 if there is none, or the cache is another stream's.
  [[gnu::always_inline]] std::uintptr_t allocate_cached(stream_type stream, unsigned class_index) {
    auto const key = backend_.key(stream);
    auto* const mine = central_.streams().find(key);
    if (mine == nullptr || class_index >= first_large_) [[unlikely]] { return 0; }
    std::uint64_t id = 0;
    if (!options_.trust_handles) {
      if (is_captured(stream)) [[unlikely]] { return 0; }
      id = backend_.identify(stream);
    }
    std::lock_guard const held{mine->lock};
    if (!mine->serves(key) || (!options_.trust_handles && mine->id != id)) [[unlikely]] {
      return 0;
    }
    return mine->pop(class_index);
  }

  [[gnu::noinline]] std::uintptr_t allocate_slow(stream_type stream, unsigned class_index) {
    for (bool again = false;; again = true) {
      {
        turn const now{*this};
        if (auto const found = take(stream, class_index, again)) { return found; }
        // No wait makes room for a block above the limit.
        if (again || size_class::bytes(class_index) > options_.max_bytes) {
          throw out_of_memory("mr::pool: no room for " +
                              describe_bytes(size_class::bytes(class_index)) + ": " +
                              central_.state(captures_.untold().blocks.size()));
        }
      }
      wait_for_work();
    }
  }

  // A block from the slow path, 0 if there is none unless work ends. Needs the mutex.
  std::uintptr_t take(stream_type stream, unsigned class_index, bool after_wait) {
    if (class_index >= size_class::count) {
      throw out_of_memory("mr::pool: no block is larger than " +
                          describe_bytes(size_class::bytes(size_class::count - 1)));
    }
    auto const key = backend_.key(stream);
    if (captures_.of(key) != nullptr) { return take_held(key, class_index); }
    if (auto const state = state_of(stream); state != capture_state::none) {
      throw std::logic_error(
          state == capture_state::captured
              ? "mr::pool: allocate on a stream that is being captured, of which the pool was not "
                "told: call capture(stream) for each stream of a capture before it begins"
              : "mr::pool: allocate on the legacy default stream, while a stream that waits for it "
                "is being captured: capture a stream made with cudaStreamNonBlocking");
    }
    auto& mine = resolve(stream);
    {
      std::lock_guard const held{mine.lock};
      bool const large = class_index >= first_large_;
      if (auto const found = large ? mine.pop_large(class_index) : mine.pop(class_index)) {
        return found;
      }
    }
    auto const found = central_.acquire(mine, class_index, after_wait);
    if (found == 0) { return 0; }
    std::lock_guard const held{mine.lock};
    mine.count_allocation(size_class::sizes[class_index]);
    ++mine.misses;
    return found;
  }

  [[gnu::always_inline]] void give_back(stream_type stream, std::uintptr_t address,
                                        unsigned class_index) {
    auto const key = backend_.key(stream);
    auto* const mine = central_.streams().find(key);
    if (mine == nullptr || class_index >= first_large_ || captures_.any_live() ||
        state_of(stream) != capture_state::none) [[unlikely]] {
      return give_back_slow(stream, address, class_index);
    }
    bool pushed = false;
    {
      std::lock_guard const held{mine->lock};
      if (mine->serves(key)) [[likely]] {
        mine->push(address, class_index);
        if (!is_due(*mine)) [[likely]] { return; }
        pushed = true;
      }
    }
    if (pushed) {
      attend(stream);
    } else {
      give_back_slow(stream, address, class_index);
    }
  }

  [[gnu::noinline]] void give_back_slow(stream_type stream, std::uintptr_t address,
                                        unsigned class_index) {
    {
      turn const now{*this};
      auto* hold = captures_.of(backend_.key(stream));
      auto const state = state_of(stream);
      if (hold == nullptr && state == capture_state::captured) { hold = &captures_.untold(); }
      bool const of_graph = captures_.give_back(address, class_index, hold);
      if (of_graph || state == capture_state::blocked) {
        if (!of_graph) { central_.park(address, class_index); }
        return count_uncached_free(class_index);
      }
      auto& mine = resolve(stream);
      if (class_index >= first_large_) { return central_.give_large(mine, address, class_index); }
      std::lock_guard const held{mine.lock};
      mine.push(address, class_index);
      if (!is_due(mine)) { return; }
    }
    attend(stream);
  }

  // Takes a block back whose free has failed before anything noted it. If its stream is captured,
  // or cannot be asked, a graph may use the block.
  [[gnu::noinline, gnu::cold]] void give_back_late(stream_type stream, std::uintptr_t address,
                                                   unsigned class_index) noexcept {
    if (forked()) { return; }
    auto* graph = &captures_.untold();
    try {
      if (state_of(stream) != capture_state::captured) { graph = nullptr; }
    } catch (...) {  // then it may be
    }
    std::lock_guard const lock{mutex_};
    ++late_frees_;
    count_uncached_free(class_index);
    try {
      if (captures_.give_back(address, class_index, graph)) { return; }
      central_.park(address, class_index);
    } catch (...) { central_.lose(size_class::bytes(class_index)); }
  }
  void count_uncached_free(unsigned class_index) noexcept {
    ++uncached_frees_;
    uncached_bytes_ += size_class::sizes[class_index];
  }

  bool is_due(cache const& mine) const noexcept {
    return mine.cached_bytes > options_.stream_cache_bytes || central_.streams().event_due(mine);
  }

  // Records the stream's event, and moves what its cache has too much. The block that was freed is
  // in its place already, so a failure costs others a wait and no more. While a thread waits for
  // the device, which may wait for this thread, nothing is done: the next free comes here again.
  [[gnu::noinline]] void attend(stream_type stream) noexcept {
    if (central_.streams().events_held()) { return; }
    try {
      turn const now{*this};
      if (central_.streams().events_held()) { return; }
      auto& mine = resolve(stream);
      if (!central_.evict(mine)) { central_.cover(mine); }
    } catch (...) {  // other streams wait longer for these frees
    }
  }

  void set_captured(cache& of, bool captured) noexcept {
    std::lock_guard const held{of.lock};
    of.captured = captured;
  }

  // Blocks from this class on never lie in the cache of a stream.
  unsigned const first_large_ =
      std::min(size_class::of(options_.stream_cache_bytes / 8 + 1), size_class::count);
  std::atomic<std::uint64_t> failures_{0};
  std::uint64_t uncached_frees_ = 0, uncached_bytes_ = 0;  // not counted in a cache
  std::uint64_t late_frees_ = 0;
};

}  // namespace assay::mr
