// SPDX-License-Identifier: Apache-2.0
/// @file
/// The part of the pool that one stream owns: its free blocks, and how others hand it theirs.
#pragma once

#include <assay/memory/owner_lock.hpp>
#include <assay/memory/size_class.hpp>
#include <assay/memory/thread_identity.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
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

/// Free blocks of one size in the order in which they were freed: the stream takes the newest,
/// which is most likely still in a cache; others take the oldest, whose work is most likely done.
class alignas(32) block_list {
 public:
  std::size_t size() const noexcept { return count_; }
  bool full() const noexcept { return count_ == capacity_; }

  void push_newest(free_block block) {
    if (full()) [[unlikely]] { reserve(count_ + 1); }
    at(oldest_ + count_++) = block;
  }
  free_block pop_newest() noexcept { return at(oldest_ + --count_); }
  free_block pop_oldest() noexcept {
    auto const block = oldest(0);
    oldest_ = (oldest_ + 1) & (capacity_ - 1);
    --count_;
    return block;
  }
  free_block oldest(std::uint32_t nth) const noexcept { return at(oldest_ + nth); }

  /// Makes room, so that pushes up to `wanted` blocks in all do not throw.
  void reserve(std::size_t wanted) {
    if (wanted <= capacity_) { return; }
    auto const larger = static_cast<std::uint32_t>(std::bit_ceil(std::max<std::size_t>(wanted, 8)));
    array_type moved{new (lines) free_block[larger]};
    for (std::uint32_t i = 0; i < count_; ++i) { moved[i] = oldest(i); }
    blocks_ = std::move(moved);
    capacity_ = larger;
    oldest_ = 0;
  }

 private:
  // Cache lines that no other list shares: two, since processors fetch lines in pairs.
  static constexpr std::align_val_t lines{128};
  struct give_back {
    void operator()(free_block* gone) const noexcept { ::operator delete[](gone, lines); }
  };
  using array_type = std::unique_ptr<free_block[], give_back>;

  free_block& at(std::uint32_t place) const noexcept { return blocks_[place & (capacity_ - 1)]; }

  array_type blocks_;
  std::uint32_t capacity_ = 0;  // a power of two
  std::uint32_t oldest_ = 0;
  std::uint32_t count_ = 0;
};

/// Frees from threads other than the one that allocates on the stream: a bounded queue of many
/// producers and one consumer (whoever holds the shard's lock), by D. Vyukov's sequence-number
/// scheme. Cells carry their turn, so a cell cannot be taken for its former self.
class remote_frees {
 public:
  static constexpr std::uint32_t capacity = 128;
  /// A queue may hold this many bytes; past that a free takes the lock, so that an idle stream
  /// cannot keep more than this beyond its cache.
  static constexpr std::size_t limit_bytes = std::size_t{16} << 20U;

  remote_frees() {
    for (std::uint32_t i = 0; i < capacity; ++i) {
      cells_[i].turn.store(i, std::memory_order_relaxed);
    }
  }

  bool push(std::uintptr_t address, unsigned which) noexcept {
    auto const bytes = size_class::bytes(which);
    if (bytes_.load(std::memory_order_relaxed) + bytes > limit_bytes) { return false; }
    auto place = tail_.load(std::memory_order_relaxed);
    for (;;) {
      auto& cell = cells_[place % capacity];
      auto const turn = cell.turn.load(std::memory_order_acquire);
      auto const ahead = static_cast<std::int32_t>(turn - place);
      if (ahead < 0) { return false; }
      if (ahead > 0) {
        place = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) {
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        cell.address = address;
        cell.which = which;
        cell.turn.store(place + 1, std::memory_order_release);
        return true;
      }
    }
  }

  struct freed {
    std::uintptr_t address;
    unsigned which;
  };
  /// The oldest entry that is complete; the caller holds the shard's lock. `drop()` removes it.
  std::optional<freed> front() const noexcept {
    auto const& cell = cells_[head_ % capacity];
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) { return std::nullopt; }
    return freed{cell.address, cell.which};
  }
  void drop() noexcept {
    auto& cell = cells_[head_ % capacity];
    bytes_.fetch_sub(size_class::bytes(cell.which), std::memory_order_relaxed);
    cell.turn.store(head_ + capacity, std::memory_order_release);
    ++head_;
  }

 private:
  struct cell {
    std::atomic<std::uint32_t> turn{0};
    unsigned which = 0;
    std::uintptr_t address = 0;
  };
  alignas(64) std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::size_t> bytes_{0};
  alignas(64) std::uint32_t head_ = 0;  // the consumer's
  alignas(64) std::array<cell, capacity> cells_;
};

/// Everything the pool keeps for one stream. Three neighbourhoods that never share a cache line:
/// what all threads read, what the lock guards, what the pool's mutex guards.
template <class Backend>
struct pool_shard {
  using stream_type = typename Backend::stream_type;

  pool_shard(std::uint32_t number, stream_type handle) : index(number), stream(handle) {}

  // Read by all, written rarely. `state` is twice the generation, plus one while a capture is on.
  alignas(128) std::uint32_t const index;
  std::atomic<std::uint32_t> state{0};
  std::atomic<std::uint64_t> user{0};  // token of the thread that last allocated here
  stream_type stream;
  std::uint64_t id = 0;            // of the stream, as the backend knows it
  std::uint64_t thread_token = 0;  // of the thread whose default stream this is, else 0

  // Under `lock`.
  alignas(64) owner_lock<> lock;
  alignas(64) std::uint64_t epoch = 1;  // of frees that happen now
  // What an allocation counts and what a free counts take turns: side by side, two of one kind
  // would be read as one word, which a processor cannot do right after they were written as two.
  std::uint64_t allocations = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t deallocated_bytes = 0;
  std::uint64_t misses = 0;
  std::size_t cached_bytes = 0;
  std::array<block_list, size_class::count> lists;
  remote_frees remote;

  // Under the pool's mutex.
  alignas(64) typename Backend::event_type event{};
  bool has_event = false;
  bool open = true;                 // the stream exists and may be named
  std::uint64_t event_epoch = 0;    // frees up to this epoch come before `event`
  std::uint64_t completed = 0;      // frees up to this epoch come before now
  std::vector<std::uint64_t> seen;  // by shard: this stream comes after its frees up to that epoch

  /// Adds a block for work after now, unless more than `most_bytes` were kept then. Takes the lock.
  bool keep(std::uintptr_t address, unsigned which, std::size_t most_bytes) noexcept {
    auto const held = lock.take();
    auto const block_bytes = size_class::bytes(which);
    if (cached_bytes + block_bytes > most_bytes) { return false; }
    try {
      lists[which].push_newest({address, epoch});
    } catch (...) { return false; }
    cached_bytes += block_bytes;
    return true;
  }

  /// Whether a capture is on for the stream. Needs the pool's mutex.
  bool capturing() const noexcept { return (state.load(std::memory_order_relaxed) & 1U) != 0; }

  /// Notes that this thread allocates here: others queue what they free.
  void note_user(thread_identity const& me) noexcept {
    if (user.load(std::memory_order_relaxed) != me.token) {
      user.store(me.token, std::memory_order_relaxed);
    }
  }
  bool used_elsewhere(thread_identity const& me) const noexcept {
    auto const token = user.load(std::memory_order_relaxed);
    return token != me.token && token != 0;
  }

  /// Whether this thread's handle can mean the stream: it is not another thread's default stream.
  bool nameable_here() const noexcept {
    return thread_token == 0 || thread_token == this_thread().token;
  }

  /// Takes a block if the calling thread, `me`, owns the lock and one is there; else 0. Without a
  /// call and without a locked instruction.
  std::uintptr_t pop_as_owner(thread_record& me, unsigned which) noexcept {
    auto const held = lock.own(me);
    return held ? pop(which) : 0;
  }
  /// The same for a block that comes back: false unless there is room for it.
  bool push_as_owner(thread_record& me, std::uintptr_t address, unsigned which,
                     std::size_t most_bytes) noexcept {
    auto const held = lock.own(me);
    if (!held || lists[which].full()) [[unlikely]] { return false; }
    if (cached_bytes + size_class::sizes[which] > most_bytes) [[unlikely]] { return false; }
    push(address, which);
    return true;
  }

  // The following need `lock`.

  void count_allocation(std::size_t block_bytes) noexcept {
    ++allocations;
    allocated_bytes += block_bytes;
  }

  void count_deallocation(std::size_t block_bytes) noexcept {
    ++deallocations;
    deallocated_bytes += block_bytes;
  }

  /// Takes the newest free block of a class; 0 if there is none.
  std::uintptr_t pop(unsigned which) noexcept {
    auto& list = lists[which];
    if (list.size() == 0) { return 0; }
    auto const block_bytes = size_class::sizes[which];
    cached_bytes -= block_bytes;
    count_allocation(block_bytes);
    return list.pop_newest().address;
  }

  /// Takes back a block that was in use. Does not throw unless the list of its class is full.
  void push(std::uintptr_t address, unsigned which) {
    auto const block_bytes = size_class::sizes[which];
    lists[which].push_newest({address, epoch});
    cached_bytes += block_bytes;
    count_deallocation(block_bytes);
  }

  /// Moves what other threads freed into the lists.
  void drain() {
    while (auto const block = remote.front()) {
      push(block->address, block->which);
      remote.drop();
    }
  }

  /// Moves the oldest and largest free blocks out until at most `keep_bytes` stay.
  void shed(std::size_t keep_bytes, std::vector<sized_block>& into) {
    std::size_t blocks = 0;
    for (auto const& list : lists) { blocks += list.size(); }
    into.reserve(blocks);
    for (unsigned which = size_class::count; which-- > 0 && cached_bytes > keep_bytes;) {
      auto& list = lists[which];
      while (list.size() > 0 && cached_bytes > keep_bytes) {
        into.push_back({list.pop_oldest(), which});
        cached_bytes -= size_class::bytes(which);
      }
    }
  }

  std::uint64_t seen_of(std::uint32_t other) const noexcept {
    return other < seen.size() ? seen[other] : 0;
  }
};

}  // namespace assay::mr
