// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to mr::pool: the free blocks that the pool keeps for one stream.
#pragma once

#include <assay/memory/thread_identity.hpp>
#include <assay/pool/size_class.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace assay::mr {

/// A free block, and the epoch of its stream in which it was freed.
struct free_block {
  std::uintptr_t address;
  std::uint64_t epoch;
};

/// A free block and its size class.
using sized_block = std::pair<free_block, unsigned>;

/// A lock that is held for a few instructions. An uncontended pair of calls takes half the time of
/// a `std::mutex`.
class spin_lock {
 public:
  [[gnu::always_inline]] void lock() noexcept {
    while (held_.exchange(true, std::memory_order_acquire)) {
      for (int i = 0; held_.load(std::memory_order_relaxed); ++i) {
        if (i >= 64) { std::this_thread::yield(); }  // the holder may have lost its processor
      }
    }
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

/// The name of a stream in the pool's lookup. `value` is the stream's handle, or stands for the
/// default stream of a thread. `token` is 0, or the token of the thread that has this default
/// stream: a later thread may have an equal value, and no other thread ever has an equal token.
struct stream_key {
  std::uintptr_t value = 0;
  std::uint64_t token = 0;
  bool operator==(stream_key const&) const = default;
};

/// How a stream is captured.
enum class capture_state {
  none,
  captured,
  /// The legacy default stream beside a capture of a stream that waits for it. It is not captured
  /// itself, but work on it would end that capture.
  blocked,
};

/// The key of the calling thread's default stream.
inline stream_key thread_key() noexcept {
  auto const& me = this_thread();
  return {(std::uintptr_t{1} << 63U) | me.index, me.token};
}

/// Everything that the pool keeps for one stream. A cache outlives its stream: it serves another
/// stream later, and goes with the pool.
template <class Backend>
struct stream_cache {
  using stream_type = typename Backend::stream_type;

  explicit stream_cache(std::uint32_t number) : index(number) {}

  std::uint32_t const index;

  // Under `lock`, which is never held together with another cache's, nor across a driver call.
  alignas(64) spin_lock lock;
  bool open = false;      ///< serves the stream `key`
  bool captured = false;  ///< a `capture_hold` is open for the stream
  stream_key key;
  std::uint64_t id = 0;     ///< the stream's number, which no other stream of the process ever has
  std::uint64_t epoch = 1;  ///< the epoch of frees that happen now
  std::uint64_t answered = 0;  ///< the last call for events that this cache has followed
  std::size_t cached_bytes = 0;
  std::size_t uncovered_bytes = 0;  ///< freed since the last event
  std::uint64_t allocations = 0, deallocations = 0, misses = 0;
  std::uint64_t allocated_bytes = 0, deallocated_bytes = 0;
  /// Free blocks by class, the oldest first. The stream takes the newest, which is most likely
  /// still in a cache. Others take the oldest, which are most likely out of use.
  std::array<std::vector<free_block>, size_class::count> lists;
  unsigned lists_used = 0;  ///< all lists from here on are empty

  // Under the pool's mutex.
  alignas(64) std::optional<stream_type> stream;  ///< none before the first one
  std::optional<typename Backend::event_type> event;
  std::uint64_t event_epoch = 0;    ///< frees up to this epoch come before `event`
  std::uint64_t completed = 0;      ///< frees up to this epoch come before now
  std::uint64_t asked_in = 0;       ///< the last turn in which the device was asked for `event`
  std::vector<std::uint64_t> seen;  ///< by cache: this stream comes after its frees up to there
  /// Free blocks too large for the lists that no event covers yet, the oldest first.
  std::vector<sized_block> large;
  std::size_t large_bytes = 0;

  // The following need `lock`.

  /// True if the cache serves `who`, and no hold is open for it.
  bool serves(stream_key const& who) const noexcept { return open && key == who && !captured; }

  void count_allocation(std::size_t block_bytes) noexcept {
    ++allocations;
    allocated_bytes += block_bytes;
  }
  void count_deallocation(std::size_t block_bytes) noexcept {
    ++deallocations;
    deallocated_bytes += block_bytes;
  }

  /// Takes the newest free block of a class; 0 if there is none.
  std::uintptr_t pop(unsigned class_index) noexcept {
    auto& list = lists[class_index];
    if (list.empty()) { return 0; }
    auto const block_bytes = size_class::sizes[class_index];
    cached_bytes -= block_bytes;
    count_allocation(block_bytes);
    auto const address = list.back().address;
    list.pop_back();
    return address;
  }

  /// The same of a large block's class. Needs the pool's mutex too.
  std::uintptr_t pop_large(unsigned class_index) noexcept {
    auto const found = std::find_if(large.rbegin(), large.rend(),
                                    [&](auto const& each) { return each.second == class_index; });
    if (found == large.rend()) { return 0; }
    auto const block_bytes = size_class::sizes[class_index];
    large_bytes -= block_bytes;
    count_allocation(block_bytes);
    auto const address = found->first.address;
    large.erase(std::prev(found.base()));
    return address;
  }

  /// Takes back a block that was in use.
  void push(std::uintptr_t address, unsigned class_index) {
    auto const block_bytes = size_class::sizes[class_index];
    lists[class_index].push_back({address, epoch});
    lists_used = std::max(lists_used, class_index + 1);
    cached_bytes += block_bytes;
    uncovered_bytes += block_bytes;
    count_deallocation(block_bytes);
  }

  /// Moves the oldest and largest free blocks out until at most `keep_bytes` stay, but no block
  /// that was freed after `last_epoch`.
  void evict(std::size_t keep_bytes, std::uint64_t last_epoch, std::vector<sized_block>& into) {
    auto const evicted = [&](unsigned class_index, std::size_t kept_bytes) -> std::size_t {
      auto const& list = lists[class_index];
      if (list.empty()) { return 0; }  // most are
      auto const later = std::partition_point(
          list.begin(), list.end(), [&](auto const& each) { return each.epoch <= last_epoch; });
      auto const bytes = size_class::sizes[class_index];
      return std::min(static_cast<std::size_t>(later - list.begin()),
                      (kept_bytes - keep_bytes + bytes - 1) / bytes);
    };
    std::size_t blocks = 0;
    auto left = cached_bytes;
    for (unsigned class_index = lists_used; class_index-- > 0 && left > keep_bytes;) {
      blocks += evicted(class_index, left);
      left -= evicted(class_index, left) * size_class::sizes[class_index];
    }
    into.reserve(blocks);
    for (unsigned class_index = lists_used; class_index-- > 0 && cached_bytes > keep_bytes;) {
      take_oldest(class_index, evicted(class_index, cached_bytes), into);
    }
  }

  /// Moves the oldest free blocks of a class out. `into` has room for them.
  void take_oldest(unsigned class_index, std::size_t count,
                   std::vector<sized_block>& into) noexcept {
    auto& list = lists[class_index];
    auto const end = list.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto at = list.begin(); at != end; ++at) { into.push_back({*at, class_index}); }
    list.erase(list.begin(), end);
    cached_bytes -= count * size_class::sizes[class_index];
  }
};

}  // namespace assay::mr
