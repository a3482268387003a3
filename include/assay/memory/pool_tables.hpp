// SPDX-License-Identifier: Apache-2.0
/// @file
/// Each thread's map from stream handles to shards, kept by the pool.
#pragma once

#include <assay/memory/per_thread.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::mr {

namespace detail {

inline std::uint64_t next_tables_number() noexcept {
  static std::atomic<std::uint64_t> numbers{0};
  return numbers.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace detail

/// Handle -> shard, one table for each thread index, each used by one thread alone.
///
/// The tables belong to the pool, so no thread holds a pointer into a pool that has gone, and no
/// new pool at an old one's address can be taken for it. An index that passes to another thread
/// takes its table along; the token tells, and the table starts empty: a handle may mean another
/// stream on another thread. `Shard::state` is compared with what it was when the entry was made,
/// so entries of closed shards are void. A thread's last answer stands in its record, with the
/// number of the tables that gave it, which no others ever have.
template <class Shard>
class shard_tables {
 public:
  struct entry {
    std::uintptr_t key = 0;
    Shard* shard = nullptr;
    std::uint32_t state = 0;
    bool current() const noexcept { return shard->state.load(std::memory_order_relaxed) == state; }
  };

  /// The shard of a handle as this thread, `me`, knows it; null if it does not, or no longer.
  Shard* find(thread_record& me, std::uintptr_t key) const noexcept {
    auto const* const at = entry_of(me, key);
    if (at == nullptr || !at->current()) { return nullptr; }
    me.recent = {number_, key, at->shard, at->state};
    return at->shard;
  }

  /// The same if it is what this thread asked for last: found in one cache line, without a call.
  Shard* find_recent(thread_record const& me, std::uintptr_t key) const noexcept {
    auto const& last = me.recent;
    if (last.tables != number_ || last.key != key) [[unlikely]] { return nullptr; }
    entry const at{key, static_cast<Shard*>(last.shard), last.state};
    return at.current() ? at.shard : nullptr;
  }

  /// Like `find`, but tells of closed shards too.
  Shard* find_any(thread_record const& me, std::uintptr_t key) const noexcept {
    auto const* const at = entry_of(me, key);
    return at == nullptr ? nullptr : at->shard;
  }

  /// Notes that this thread's `key` means `shard`.
  void set(thread_record& me, std::uintptr_t key, Shard& shard, std::uint32_t state) {
    me.recent = {number_, key, &shard, state};
    auto& mine = tables_.at(me.index);
    if (mine.token != me.token) {
      mine.clear();
      mine.token = me.token;
    }
    if (2 * (mine.used + 1) > mine.slots.size()) { mine.rehash(); }
    for (auto slot = hash(key);; ++slot) {
      auto& at = mine.slots[slot & mine.mask];
      if (at.shard == nullptr) { ++mine.used; }
      if (at.shard == nullptr || at.key == key) {
        at = {key, &shard, state};
        return;
      }
    }
  }

 private:
  struct alignas(64) table {
    std::uint64_t token = 0;
    std::size_t mask = 0;
    std::size_t used = 0;
    std::vector<entry> slots;

    void clear() {
      slots.assign(16, {});
      mask = 15;
      used = 0;
    }
    void rehash() {
      std::vector<entry> kept;
      for (auto const& each : slots) {
        if (each.shard != nullptr && each.current()) { kept.push_back(each); }
      }
      std::size_t size = 16;
      while (size < 4 * (kept.size() + 1)) { size *= 2; }
      std::vector<entry> fresh(size);
      for (auto const& each : kept) {
        auto slot = hash(each.key);
        while (fresh[slot & (size - 1)].shard != nullptr) { ++slot; }
        fresh[slot & (size - 1)] = each;
      }
      slots = std::move(fresh);
      mask = size - 1;
      used = kept.size();
    }
  };

  // Null if this thread has noted none.
  entry const* entry_of(thread_record const& me, std::uintptr_t key) const noexcept {
    auto const* const mine = tables_.find(me.index);
    if (mine == nullptr || mine->token != me.token) { return nullptr; }
    for (auto slot = hash(key);; ++slot) {
      auto const& at = mine->slots[slot & mine->mask];
      if (at.shard == nullptr) { return nullptr; }
      if (at.key == key) { return &at; }
    }
  }

  static std::size_t hash(std::uintptr_t key) noexcept {
    return (key * 0x9E3779B97F4A7C15U) >> 40U;
  }

  std::uint64_t const number_ = detail::next_tables_number();
  per_thread<table> tables_;
};

}  // namespace assay::mr
