// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's slow path: where blocks come from when a stream has none of its own.
#pragma once

#include <assay/memory/concepts.hpp>
#include <assay/memory/pool_options.hpp>
#include <assay/memory/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
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

  pool_central(Backend& backend, pool_options const& options)
      : backend_(backend), options_(options), streams_(backend) {
    if (options.initial_bytes > 0 && reserve(rounded(options.initial_bytes)) == 0) {
      throw out_of_memory("mr::pool: the card has no room for the initial " +
                          describe_bytes(options.initial_bytes));
    }
  }
  pool_central(pool_central const&) = delete;
  pool_central& operator=(pool_central const&) = delete;
  ~pool_central() {
    heap_.each_chunk(
        [&](std::uintptr_t address, std::size_t bytes) { backend_.deallocate(address, bytes); });
  }

  book& streams() noexcept { return streams_; }
  range_heap& heap() noexcept { return heap_; }
  std::size_t peak_held_bytes() const noexcept { return peak_held_bytes_; }
  std::uint64_t upstream_calls() const noexcept { return upstream_calls_; }
  std::uint64_t steals() const noexcept { return steals_; }

  /// A block of a class for work on `to`, in the order of what it costs: memory that nothing must
  /// precede, that has become ready, more of upstream, a wait, blocks that other streams keep;
  /// then everything is gathered and the device waited for. Throws `out_of_memory`.
  std::uintptr_t acquire(shard& to, unsigned which) {
    auto const bytes = size_class::bytes(which);
    if (auto const found = refill(to, which)) { return found; }
    if (auto const found = take(&to, bytes, effort::ask)) { return found; }
    // An eighth of what is held lies free here, in order behind some stream: waiting is better
    // than reserving ever more.
    bool const crowded = heap_.free_bytes() > (heap_.chunk_bytes() - heap_.free_bytes()) / 8;
    if (options_.growth_before_steal && !crowded) {
      if (auto const found = grow(bytes)) { return found; }
    }
    if (auto const found = take(&to, bytes, effort::wait)) { return found; }
    if (options_.growth_before_steal && crowded) {
      flush(to, 0);
      if (auto const found = take(&to, bytes, effort::wait)) { return found; }
      if (auto const found = grow(bytes)) { return found; }
    }
    flush(to, 0);
    if (auto const found = take(&to, bytes, effort::wait)) { return found; }
    if (auto const found = steal(to, which)) { return found; }
    if (!options_.growth_before_steal) {
      if (auto const found = grow(bytes)) { return found; }
    }
    for (auto const& each : streams_.shards()) { flush(*each, 0); }
    if (auto const found = take(&to, bytes, effort::wait)) { return found; }
    streams_.synchronize();
    if (auto const found = take(&to, bytes, effort::none)) { return found; }
    if (rounded(bytes) <= options_.max_bytes) {
      release_chunks(0);
      if (auto const found = grow(bytes)) { return found; }
    }
    throw out_of_memory("mr::pool: no room for " + describe_bytes(bytes) + ": " + state());
  }

  /// A block that nothing precedes, whatever stream uses it. Records and waits for nothing.
  std::uintptr_t acquire_unordered(std::size_t bytes) {
    if (auto const found = take(nullptr, bytes, effort::ask)) { return found; }
    if (auto const found = grow(bytes)) { return found; }
    for (auto const& each : streams_.shards()) { flush(*each, 0); }
    if (auto const found = take(nullptr, bytes, effort::ask)) { return found; }
    throw out_of_memory("mr::pool: no room for " + describe_bytes(bytes) +
                        " under graph capture: " + state());
  }

  /// Moves a stream's oldest and largest free blocks to the heap until it keeps at most
  /// `keep_bytes`.
  void flush(shard& from, std::size_t keep_bytes) {
    moved_.clear();
    {
      std::lock_guard const lock{from.lock};
      from.drain();
      std::size_t blocks = 0;
      for (auto const& list : from.lists) { blocks += list.size(); }
      moved_.reserve(blocks);
      for (unsigned which = size_class::count; which-- > 0 && from.cached_bytes > keep_bytes;) {
        auto& list = from.lists[which];
        while (list.size() > 0 && from.cached_bytes > keep_bytes) {
          moved_.push_back({list.pop_oldest(), which});
          from.cached_bytes -= size_class::bytes(which);
        }
      }
    }
    if (moved_.empty()) { return; }
    // Only its own thread can name this stream, so it leaves an event for the others. Without one
    // they wait for the device, so a failure to record costs time and no safety.
    if (from.thread_token != 0 && streams_.nameable(from)) {
      try {
        streams_.mark(from);
      } catch (...) { ++unmarked_; }
    }
    for (auto const& [block, which] : moved_) {
      give(block.address, size_class::bytes(which), {{from.index, block.epoch}});
    }
  }

  /// Puts a range into the heap; where the host has no memory to note it, it is lost until the
  /// pool goes.
  void give(std::uintptr_t address, std::size_t bytes, std::vector<order_point> after) noexcept {
    try {
      heap_.insert(address, bytes, std::move(after));
    } catch (...) { lost_bytes_ += bytes; }
  }

  /// Returns chunks that are wholly free to upstream until at most `keep_bytes` are reserved. The
  /// device has been waited for.
  std::size_t release_chunks(std::size_t keep_bytes) {
    std::size_t released = 0;
    while (heap_.chunk_bytes() > keep_bytes) {
      auto const [address, bytes] = heap_.remove_free_chunk([&](range_heap::range const& range) {
        return heap_.chunk_bytes() - range.bytes >= keep_bytes && passed(range);
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
    std::size_t cached = 0;
    std::size_t open = 0;
    for (auto const& each : streams_.shards()) {
      std::lock_guard const lock{each->lock};
      cached += each->cached_bytes;
      open += each->open ? 1U : 0U;
    }
    auto const reserved = heap_.chunk_bytes();
    std::string text = describe_bytes(reserved) + " reserved";
    if (options_.max_bytes != std::numeric_limits<std::size_t>::max()) {
      text += " of at most " + describe_bytes(options_.max_bytes);
    }
    text += ", " + describe_bytes(reserved - heap_.free_bytes() - cached) + " in use, " +
            describe_bytes(cached) + " kept by " + std::to_string(open) + " streams, " +
            describe_bytes(heap_.free_bytes()) + " free in ranges of at most " +
            describe_bytes(heap_.largest_range());
    if (lost_bytes_ != 0) { text += ", " + describe_bytes(lost_bytes_) + " lost track of"; }
    if (unmarked_ != 0) { text += ", " + std::to_string(unmarked_) + " events not recorded"; }
    return refused_ ? text + "; upstream has no more" : text;
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

  std::uintptr_t take(shard* to, std::size_t bytes, effort how) {
    auto const found = heap_.find(bytes, tries, [&](range_heap::range const& range) {
      return std::all_of(range.after.begin(), range.after.end(), [&](order_point point) {
        return how == effort::wait ? streams_.of(to, point) != standing::unknown
                                   : streams_.passed(to, point, how == effort::ask);
      });
    });
    if (found == heap_.none()) { return 0; }
    if (how == effort::wait) {
      for (auto const point : found->second.after) { streams_.require(*to, point); }
    }
    return cut(found, bytes);
  }

  std::uintptr_t cut(range_heap::iterator from, std::size_t bytes) noexcept {
    auto const address = heap_.take(from, bytes);
    peak_held_bytes_ = std::max(peak_held_bytes_, heap_.chunk_bytes() - heap_.free_bytes());
    return address;
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
      if (!keep(to, block.address, which)) {
        give(block.address, bytes, {{victim.index, block.epoch}});
      }
    }
    return moved_.front().first.address;
  }

  bool keep(shard& to, std::uintptr_t address, unsigned which) noexcept {
    auto const bytes = size_class::bytes(which);
    std::lock_guard const lock{to.lock};
    if (to.cached_bytes + bytes > options_.stream_cache_bytes) { return false; }
    try {
      to.lists[which].push_newest({address, to.epoch});
    } catch (...) { return false; }
    to.cached_bytes += bytes;
    return true;
  }

  // A block from a new chunk, 0 if there can be none. Asks for less and less beyond the block while
  // upstream refuses.
  std::uintptr_t grow(std::size_t bytes) {
    auto const least = rounded(bytes);
    auto const left = options_.max_bytes - std::min(options_.max_bytes, heap_.chunk_bytes());
    if (least > left) { return 0; }
    auto wanted = std::min(std::max(least, rounded(options_.growth_bytes)), left);
    for (;;) {
      if (auto const chunk = reserve(wanted)) { return cut(heap_.at(chunk), bytes); }
      if (wanted == least) { return 0; }
      wanted = std::max(least, rounded(wanted / 2));
    }
  }

  std::uintptr_t reserve(std::size_t bytes) {
    ++upstream_calls_;
    auto const address = backend_.allocate(bytes);
    refused_ = address == 0;
    if (refused_) { return 0; }
    try {
      heap_.add_chunk(address, bytes);
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
  std::vector<std::pair<free_block, unsigned>> moved_;
  std::size_t peak_held_bytes_ = 0;
  std::size_t lost_bytes_ = 0;
  std::uint64_t upstream_calls_ = 0;
  std::uint64_t steals_ = 0;
  std::uint64_t unmarked_ = 0;
  bool refused_ = false;
};

}  // namespace assay::mr
