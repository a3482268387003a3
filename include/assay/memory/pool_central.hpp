// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's slow path: where blocks come from when a stream has none of its own.
#pragma once

#include <assay/core/range.hpp>
#include <assay/memory/concepts.hpp>
#include <assay/memory/pool_capture.hpp>
#include <assay/memory/pool_options.hpp>
#include <assay/memory/pool_state.hpp>
#include <assay/memory/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace assay::mr {

/// The central heap, growth, and the order in which they are tried. Guarded by the pool's mutex;
/// holds the lock of at most one shard, never across a call of the backend.
template <pool_backend Backend>
class pool_central {
 public:
  using shard = pool_shard<Backend>;
  using book = stream_book<Backend>;
  using standing = typename book::standing;
  using block_map = typename pool_capture<shard>::block_map;

  pool_central(Backend& backend, pool_options const& options)
      : backend_(backend), options_(options), streams_(backend), heap_(backend.contiguous()) {
    if (options.initial_bytes > 0 && reserve(rounded(options.initial_bytes), 0) == 0) {
      throw out_of_memory("mr::pool: the card has no room for the initial " +
                          describe_bytes(options.initial_bytes));
    }
  }
  pool_central(pool_central const&) = delete;
  pool_central& operator=(pool_central const&) = delete;
  /// Waits for the device; where a capture forbids that, the memory, which may be in use there, is
  /// left to the end of the process.
  ~pool_central() {
    try {
      if (heap_.chunk_count() > 0 && !streams_.synchronize()) { return; }
    } catch (...) {  // the device has failed: nothing runs on it any more
    }
    heap_.each_chunk(
        [&](std::uintptr_t address, std::size_t bytes) { backend_.deallocate(address, bytes); });
  }

  book& streams() noexcept { return streams_; }
  range_heap& heap() noexcept { return heap_; }
  std::size_t peak_held_bytes() const noexcept { return peak_held_bytes_; }
  std::uint64_t upstream_calls() const noexcept { return upstream_calls_; }
  std::uint64_t steals() const noexcept { return steals_; }

  /// A block of a class for work on `to`, by what it costs: memory that nothing must precede, that
  /// has become ready, more of upstream, a wait, blocks that other streams keep; then everything
  /// is gathered and the device waited for. Throws `out_of_memory`.
  std::uintptr_t acquire(shard& to, unsigned which) {
    auto const bytes = size_class::bytes(which);
    range const here{"mr::pool refill", category::allocation, bytes};
    if (auto const found = refill(to, which)) { return found; }
    if (auto const found = take(&to, bytes, effort::ask)) { return found; }
    if (!parked_.empty() && synchronize()) {
      if (auto const found = take(&to, bytes, effort::none)) { return found; }
    }
    // An eighth of what is held lies free here, in pieces or in order behind some stream: waiting
    // is better than reserving ever more.
    bool const crowded = heap_.free_bytes() > (heap_.chunk_bytes() - heap_.free_bytes()) / 8;
    for (bool const waits : {false, true}) {
      if (waits) {
        if (auto const found = take(&to, bytes, effort::wait)) { return found; }
        flush(to, 0);
        if (auto const found = take(&to, bytes, effort::wait)) { return found; }
      }
      if (!options_.growth_before_steal || crowded != waits) { continue; }
      if (auto const found = grow(&to, bytes)) { return found; }
    }
    if (auto const found = steal(to, which)) { return found; }
    if (!options_.growth_before_steal) {
      if (auto const found = grow(&to, bytes)) { return found; }
    }
    flush_all();
    if (auto const found = take(&to, bytes, effort::wait)) { return found; }
    bool const waited = synchronize();
    if (!waited) { streams_.await_events(); }
    if (auto const found = take(&to, bytes, effort::none)) { return found; }
    if (rounded(bytes) <= options_.max_bytes) {
      release_chunks(0);
      if (auto const found = grow(&to, bytes)) { return found; }
    }
    throw out_of_memory("mr::pool: no room for " + describe_bytes(bytes) + ": " + state() +
                        (waited ? "" : "; the device cannot be waited for until captures end"));
  }

  /// A block that nothing precedes, whatever stream uses it. A capture is on, so that the device
  /// cannot be waited for; where upstream has no more, events of streams that are not captured are.
  std::uintptr_t acquire_unordered(std::size_t bytes) {
    if (auto const found = take(nullptr, bytes, effort::ask)) { return found; }
    if (auto const found = grow(nullptr, bytes)) { return found; }
    flush_all();
    streams_.await_events();
    if (auto const found = take(nullptr, bytes, effort::none)) { return found; }
    throw out_of_memory("mr::pool: no room for " + describe_bytes(bytes) +
                        " under graph capture, where the device cannot be waited for: open the "
                        "pool with more initial_bytes, or trim() before the capture: " +
                        state());
  }

  /// Keeps blocks of a graph that is gone, but may still run, until the device has been waited for.
  void park(block_map& blocks) noexcept { parked_.merge(blocks); }

  /// Waits for the device, after which parked blocks are free; false while a stream is captured.
  bool synchronize() {
    if (!streams_.synchronize()) { return false; }
    for (auto const& [address, block] : std::exchange(parked_, {})) {
      give(address, size_class::bytes(block.which), {});
    }
    return true;
  }

  /// Moves a stream's oldest and largest free blocks to the heap until it keeps at most
  /// `keep_bytes`.
  void flush(shard& from, std::size_t keep_bytes) {
    moved_.clear();
    {
      std::lock_guard const lock{from.lock};
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
      give(block.address, size_class::bytes(which), {{from.index, block.epoch}});
    }
  }

  void flush_all() {
    for (auto const& each : streams_.shards()) { flush(*each, 0); }
  }

  /// Puts a range into the heap; where the host has no memory to note it, it is lost until the
  /// pool goes.
  void give(std::uintptr_t address, std::size_t bytes, std::vector<order_point> after) noexcept {
    try {
      heap_.insert(address, bytes, std::move(after));
    } catch (...) { lost_bytes_ += bytes; }
  }

  /// Returns chunks that are wholly free, and whose last use has passed, to upstream while at least
  /// `keep_bytes` stay reserved.
  std::size_t release_chunks(std::size_t keep_bytes) {
    std::size_t released = 0;
    while (heap_.chunk_bytes() > keep_bytes) {
      auto const [address, bytes] =
          heap_.remove_free_chunk([&](std::size_t chunk, range_heap::range const& range) {
            return heap_.chunk_bytes() - chunk >= keep_bytes && passed(range);
          });
      if (bytes == 0) { break; }
      backend_.deallocate(address, bytes);
      ++upstream_calls_;
      released += bytes;
    }
    return released;
  }

  /// The state as one clause, for messages.
  std::string state() {
    return describe_pool(streams_, heap_, options_.max_bytes,
                         {parked_.size(), lost_bytes_, unmarked_, refused_});
  }

 private:
  enum class effort { none, ask, wait };
  static constexpr std::size_t chunk_granule = std::size_t{2} << 20U;  // the driver's page
  static constexpr std::size_t refill_bytes = std::size_t{64} << 10U;
  static constexpr int tries = 32;

  static std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + chunk_granule - 1) / chunk_granule * chunk_granule;
  }

  bool passed(range_heap::range const& range) {
    return std::all_of(range.after.begin(), range.after.end(),
                       [&](order_point point) { return streams_.passed(nullptr, point, false); });
  }

  bool ready(shard* to, range_heap::range const& range, effort how) {
    return std::all_of(range.after.begin(), range.after.end(), [&](order_point point) {
      return how == effort::wait ? streams_.of(to, point) != standing::unknown
                                 : streams_.passed(to, point, how == effort::ask);
    });
  }

  std::uintptr_t take(shard* to, std::size_t bytes, effort how) {
    auto const found = heap_.find(
        bytes, tries, [&](range_heap::range const& range) { return ready(to, range, how); });
    if (found == heap_.none()) { return 0; }
    if (how == effort::wait) {
      for (auto const point : found->second.after) { streams_.require(*to, point); }
    }
    return cut(found, bytes);
  }

  std::uintptr_t cut(range_heap::iterator from, std::size_t bytes) noexcept {
    return noted(heap_.take(from, bytes));
  }
  std::uintptr_t noted(std::uintptr_t taken) noexcept {
    peak_held_bytes_ = std::max(peak_held_bytes_, heap_.chunk_bytes() - heap_.free_bytes());
    return taken;
  }

  // Small blocks come several at a time.
  std::uintptr_t refill(shard& to, unsigned which) {
    auto const bytes = size_class::bytes(which);
    auto const wanted = std::clamp<std::size_t>(refill_bytes / bytes, 1, 32);
    if (wanted > 1) {
      if (auto const first = take(&to, bytes * wanted, effort::none)) {
        std::size_t kept = 1;
        try {
          std::lock_guard const lock{to.lock};
          to.lists[which].reserve(to.lists[which].size() + wanted);
          for (; kept < wanted; ++kept) {
            to.lists[which].push_newest({first + kept * bytes, to.epoch});
            to.cached_bytes += bytes;
          }
        } catch (...) { give(first + bytes, bytes * (wanted - 1), {}); }
        return first;
      }
    }
    return take(&to, bytes, effort::none);
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
      std::lock_guard const lock{victim.lock};
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
      std::lock_guard const lock{victim.lock};
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
        give(block.address, bytes, {{victim.index, block.epoch}});
      }
    }
    return moved_.front().first.address;
  }

  // A block from a new chunk, 0 if there can be none. Asks for less and less beyond the block while
  // upstream refuses.
  std::uintptr_t grow(shard* to, std::size_t bytes) {
    auto const left = options_.max_bytes - std::min(options_.max_bytes, heap_.chunk_bytes());
    // What is free at the end of the last chunk needs only the rest beside it.
    auto const end = heap_.top();
    bool const extends = heap_.joins_chunks() && end != heap_.none() && end->second.bytes < bytes &&
                         ready(to, end->second, effort::ask);
    auto const least = rounded(extends ? bytes - end->second.bytes : bytes);
    if (least > left) { return 0; }
    auto wanted = std::min(std::max(least, rounded(options_.growth_bytes)), left);
    for (;;) {
      // The block is cut from the front, so that the rest is beside the next chunk, and apart from
      // ranges whose order it would else take over.
      auto const taken = extends ? 0 : bytes;
      if (auto const chunk = reserve(wanted, taken)) {
        if (!extends) { return noted(chunk); }
        if (auto const found = take(to, bytes, effort::ask)) { return found; }
        return grow(to, bytes);  // upstream has put it elsewhere, where it is whole memory
      }
      if (wanted == least) { return 0; }
      wanted = std::max(least, rounded(wanted / 2));
    }
  }

  // `taken` bytes of it are in use at once.
  std::uintptr_t reserve(std::size_t bytes, std::size_t taken) {
    ++upstream_calls_;
    auto const address = backend_.allocate(bytes);
    refused_ = address == 0;
    if (refused_) { return 0; }
    try {
      heap_.add_chunk(address, bytes, taken);
    } catch (...) {
      backend_.deallocate(address, bytes);
      throw;
    }
    return address;
  }

  Backend& backend_;
  pool_options const& options_;
  book streams_;
  range_heap heap_;
  block_map parked_;
  std::vector<sized_block> moved_;
  std::size_t peak_held_bytes_ = 0;
  std::size_t lost_bytes_ = 0;
  std::uint64_t upstream_calls_ = 0;
  std::uint64_t steals_ = 0;
  std::uint64_t unmarked_ = 0;
  bool refused_ = false;
};

}  // namespace assay::mr
