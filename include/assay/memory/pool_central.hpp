// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's slow path: where blocks come from when a stream has none of its own.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/memory/pool_capture.hpp>
#include <assay/memory/pool_options.hpp>
#include <assay/memory/pool_state.hpp>
#include <assay/memory/pool_store.hpp>
#include <assay/memory/request.hpp>
#include <assay/memory/stats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace assay::mr {

/// The order in which a stream's cache, the store, other streams and waiting are tried. Guarded by
/// the pool's mutex; holds the lock of at most one shard, never across a call of the backend.
template <pool_backend Backend>
class pool_central {
 public:
  using shard = pool_shard<Backend>;
  using book = stream_book<Backend>;
  using standing = typename book::standing;
  using block_map = typename pool_capture<shard>::block_map;

  pool_central(Backend& backend, pool_options const& options)
      : options_(options), streams_(backend), store_(backend, options, streams_) {}
  pool_central(pool_central const&) = delete;
  pool_central& operator=(pool_central const&) = delete;
  /// Waits for the device; where a capture forbids that, the memory, which may be in use there, is
  /// left to the end of the process.
  ~pool_central() {
    try {
      if (reserved_bytes() > 0 && !streams_.synchronize()) { return; }
    } catch (...) {  // the device has failed: nothing runs on it any more
    }
    store_.clear();
  }

  book& streams() noexcept { return streams_; }
  std::size_t reserved_bytes() const noexcept { return store_.heap().chunk_bytes(); }

  /// A block of a class for work on `to`, by what it costs: memory that nothing must precede, that
  /// has become ready, more of upstream within the store's bound, a wait, blocks that other streams
  /// keep, pages mapped anew, pieces of slabs, all that streams keep, more of upstream than that;
  /// then the device is waited for. Throws `out_of_memory`.
  std::uintptr_t acquire(shard& to, unsigned which) {
    auto const bytes = size_class::bytes(which);
    if (auto const found = refill(to, which)) { return found; }
    if (auto const found = store_.take(&to, bytes, effort::ask)) { return found; }
    if (!parked_.empty() && synchronize()) {
      if (auto const found = store_.take(&to, bytes, effort::none)) { return found; }
    }
    bool const crowded = store_.crowded();
    for (bool const waits : {false, true}) {
      if (waits) {
        if (auto const found = store_.take(&to, bytes, effort::wait)) { return found; }
        flush(to, 0);
        if (auto const found = store_.take(&to, bytes, effort::wait)) { return found; }
      }
      if (!options_.growth_before_steal || crowded != waits) { continue; }
      if (auto const found = store_.grow_within(&to, bytes)) { return found; }
    }
    if (auto const found = steal(to, which)) { return found; }
    if (!options_.growth_before_steal) {
      if (auto const found = store_.grow_within(&to, bytes)) { return found; }
    }
    // Before pages are mapped anew, what streams keep goes, unless it is much beside the block.
    if (kept_bytes() / 8 <= bytes) {
      flush_all();
      if (auto const found = store_.take(&to, bytes, effort::wait)) { return found; }
    }
    if (auto const found = store_.gather(&to, bytes)) { return found; }
    if (auto const found = store_.from_slabs(&to, bytes)) { return found; }
    flush_all();
    if (auto const found = store_.take(&to, bytes, effort::wait)) { return found; }
    if (auto const found = store_.gather(&to, bytes)) { return found; }
    if (auto const found = store_.grow(&to, bytes)) { return found; }
    bool const waited = synchronize();
    if (!waited) { streams_.await_events(); }
    if (auto const found = store_.take(&to, bytes, effort::none)) { return found; }
    if (auto const found = store_.gather(&to, bytes)) { return found; }
    store_.release_for(bytes);
    if (auto const found = store_.grow(&to, bytes)) { return found; }
    throw out_of_memory("mr::pool: no room for " + describe_bytes(bytes) + ": " + state() +
                        (waited ? "" : "; the device cannot be waited for until captures end"));
  }

  /// A block that nothing precedes, whatever stream uses it. A capture is on, so that the device
  /// cannot be waited for; where upstream has no more, events of streams that are not captured are.
  std::uintptr_t acquire_unordered(std::size_t bytes) {
    if (auto const found = store_.take(nullptr, bytes, effort::ask)) { return found; }
    if (auto const found = store_.grow_within(nullptr, bytes)) { return found; }
    if (auto const found = store_.grow(nullptr, bytes)) { return found; }
    flush_all();
    streams_.await_events();
    if (auto const found = store_.take(nullptr, bytes, effort::none)) { return found; }
    throw out_of_memory("mr::pool: no room for " + describe_bytes(bytes) +
                        " under graph capture, where the device cannot be waited for: open the "
                        "pool with more initial_bytes, or trim() before the capture: " +
                        state());
  }

  /// What all streams have counted, but for failures.
  statistics count() {
    statistics sum;
    std::uint64_t misses = 0;
    std::uint64_t freed = 0;
    for (auto const& each : streams_.shards()) {
      auto const held = each->lock.look();
      each->drain();
      sum.allocations += each->allocations;
      sum.deallocations += each->deallocations;
      sum.bytes += each->allocated_bytes;
      freed += each->deallocated_bytes;
      misses += each->misses;
    }
    sum.live_bytes = sum.bytes - freed;
    sum.peak_bytes = store_.peak_held_bytes();
    sum.reserved_bytes = reserved_bytes();
    sum.reused_blocks = sum.allocations - misses;
    sum.upstream_calls = store_.upstream_calls();
    sum.steals = steals_;
    return sum;
  }

  /// Keeps blocks of a graph that is gone, but may still run, until the device has been waited for.
  void park(block_map& blocks) noexcept { parked_.merge(blocks); }

  /// Waits for the device, after which parked blocks are free; false while a stream is captured.
  bool synchronize() {
    if (!streams_.synchronize()) { return false; }
    for (auto const& [address, block] : std::exchange(parked_, {})) {
      store_.give(address, size_class::bytes(block.which), {});
    }
    return true;
  }

  /// Moves a stream's oldest and largest free blocks to the heap until it keeps at most
  /// `keep_bytes`.
  void flush(shard& from, std::size_t keep_bytes) {
    moved_.clear();
    {
      auto const held = from.lock.take();
      from.drain();
      from.shed(keep_bytes, moved_);
    }
    if (moved_.empty()) { return; }
    // One event for all that moves. Whoever takes of it later finds it passed, most likely, and
    // need neither wait nor grow; and a thread's default stream can be named by nobody else.
    // Without the event others wait, so a failure to record costs time and no safety.
    if (streams_.nameable(from)) {
      try {
        streams_.mark(from);
      } catch (...) { ++unmarked_; }
    }
    for (auto const& [block, which] : moved_) {
      store_.give(block.address, size_class::bytes(which), {{from.index, block.epoch}});
    }
  }

  void flush_all() {
    for (auto const& each : streams_.shards()) { flush(*each, 0); }
  }

  /// Returns memory that is wholly free to upstream while at least `keep_bytes` stay reserved.
  std::size_t release_beyond(std::size_t keep_bytes) { return store_.release_beyond(keep_bytes); }

  /// Puts a block back that nothing has used.
  void give_unused(std::uintptr_t address, std::size_t bytes) noexcept {
    store_.give(address, bytes, {});
  }

  /// The state as one clause, for messages.
  std::string state() {
    return describe_pool(streams_, store_.heap(), options_.max_bytes,
                         {parked_.size(), store_.heap().lost_bytes(), unmarked_, store_.refused()});
  }

 private:
  static constexpr std::size_t refill_bytes = std::size_t{64} << 10U;

  // Small blocks come several at a time, fewer where slabs are full of holes: those would be left.
  std::uintptr_t refill(shard& to, unsigned which) {
    auto const bytes = size_class::bytes(which);
    auto const together = refill_bytes / (store_.heap().scattered() ? 4 : 1);
    auto const wanted = std::clamp<std::size_t>(together / bytes, 1, 32);
    if (wanted > 1) {
      if (auto const first = store_.take(&to, bytes * wanted, effort::none)) {
        std::size_t kept = 1;
        try {
          auto const held = to.lock.take();
          to.lists[which].reserve(to.lists[which].size() + wanted);
          for (; kept < wanted; ++kept) {
            to.lists[which].push_newest({first + kept * bytes, to.epoch});
            to.cached_bytes += bytes;
          }
        } catch (...) { store_.give(first + bytes, bytes * (wanted - 1), {}); }
        return first;
      }
    }
    return store_.take(&to, bytes, effort::none);
  }

  std::size_t kept_bytes() const {
    std::size_t sum = 0;
    for (auto const& each : streams_.shards()) {
      auto const held = each->lock.look();
      sum += each->cached_bytes;
    }
    return sum;
  }

  std::uintptr_t steal(shard& to, unsigned which) {
    auto const& all = streams_.shards();
    for (bool const wait : {false, true}) {
      for (std::size_t step = 1; step < all.size(); ++step) {
        auto& victim = *all[(to.index + step) % all.size()];
        if (auto const found = steal_from(victim, to, which, wait)) { return found; }
      }
    }
    return 0;
  }

  // Takes the older half of what a stream keeps of a class.
  std::uintptr_t steal_from(shard& victim, shard& to, unsigned which, bool wait) {
    std::size_t wanted = 0;
    std::uint64_t newest = 0;
    {
      auto const held = victim.lock.take();
      victim.drain();
      auto const& list = victim.lists[which];
      if (list.size() == 0) { return 0; }
      wanted = (list.size() + 1) / 2;
      newest = list.oldest(static_cast<std::uint32_t>(wanted - 1)).epoch;
    }
    order_point const point{victim.index, newest};
    auto const where = streams_.of(&to, point);
    if (where == standing::unknown || (where == standing::waitable && !wait)) { return 0; }
    moved_.clear();
    moved_.reserve(wanted);
    streams_.require(to, point);
    auto const bytes = size_class::bytes(which);
    {
      auto const held = victim.lock.take();
      auto& list = victim.lists[which];
      while (list.size() > 0 && list.oldest(0).epoch <= newest && moved_.size() < wanted) {
        moved_.push_back({list.pop_oldest(), which});
        victim.cached_bytes -= bytes;
      }
    }
    if (moved_.empty()) { return 0; }
    ++steals_;
    // What does not fit beside what the stream keeps goes to the heap, ordered behind the victim.
    for (std::size_t i = 1; i < moved_.size(); ++i) {
      auto const& block = moved_[i].first;
      if (!to.keep(block.address, which, options_.stream_cache_bytes)) {
        store_.give(block.address, bytes, {{victim.index, block.epoch}});
      }
    }
    return moved_.front().first.address;
  }

  pool_options const& options_;
  book streams_;
  pool_store<Backend> store_;
  block_map parked_;
  std::vector<sized_block> moved_;
  std::uint64_t steals_ = 0;
  std::uint64_t unmarked_ = 0;
};

}  // namespace assay::mr
