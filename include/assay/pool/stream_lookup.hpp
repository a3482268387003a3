// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to mr::pool: a map from stream handles to caches, read without a lock.
#pragma once

#include <assay/core/requirements.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace assay::mr {

/// An open-addressing hash map with one writer at a time (who holds the pool's mutex) and any
/// number of readers. Keys are not 0. A cache that was found can belong to another stream by the
/// time that its lock is held: the reader compares the key once more under that lock.
template <class Cache>
class stream_lookup {
 public:
  stream_lookup() { current_ = make(16); }

  Cache* find(std::uintptr_t key) const noexcept {
    auto const& in = *current_.load(std::memory_order_acquire);
    for (auto at = hash(key);; ++at) {
      auto const& entry = in.entries[at & in.mask];
      auto const found = entry.key.load(std::memory_order_acquire);
      if (found == key) { return entry.cache.load(std::memory_order_acquire); }
      if (found == 0) { return nullptr; }
    }
  }

  /// Makes room, so that the next `set` does not throw.
  void reserve_one() {
    auto const& in = *current_.load(std::memory_order_relaxed);
    if (2 * (used_ + 1) <= in.mask) { return; }
    std::vector<std::pair<std::uintptr_t, Cache*>> kept;
    for (std::size_t i = 0; i <= in.mask; ++i) {
      auto* const cache = in.entries[i].cache.load(std::memory_order_relaxed);
      if (cache != nullptr) { kept.push_back({in.entries[i].key.load(), cache}); }
    }
    auto* const larger = make(std::bit_ceil(4 * (kept.size() + 1) + 16));
    used_ = 0;
    for (auto const& [key, cache] : kept) { insert(*larger, key, cache); }
    current_.store(larger, std::memory_order_release);
  }

  void set(std::uintptr_t key, Cache* cache) noexcept {
    insert(*current_.load(std::memory_order_relaxed), key, cache);
  }
  void erase(std::uintptr_t key) noexcept {
    if (find(key) != nullptr) { set(key, nullptr); }
  }

 private:
  struct entry {
    std::atomic<std::uintptr_t> key{0};
    std::atomic<Cache*> cache{nullptr};
  };
  struct table {
    std::size_t mask;
    std::unique_ptr<entry[]> entries;
  };

  static std::size_t hash(std::uintptr_t key) noexcept {
    return (key * 0x9E3779B97F4A7C15U) >> 32U;
  }

  table* make(std::size_t size) {
    all_.push_back(std::make_unique<table>(table{size - 1, std::make_unique<entry[]>(size)}));
    return all_.back().get();
  }

  void insert(table& in, std::uintptr_t key, Cache* cache) noexcept {
    for (auto at = hash(key);; ++at) {
      auto& entry = in.entries[at & in.mask];
      auto const found = entry.key.load(std::memory_order_relaxed);
      if (found != 0 && found != key) { continue; }
      entry.cache.store(cache, std::memory_order_release);
      if (found == 0) {
        entry.key.store(key, std::memory_order_release);
        ++used_;
      }
      return;
    }
  }

  std::vector<std::unique_ptr<table>> all_;  // readers may still be in an older one
  std::atomic<table*> current_;
  std::size_t used_ = 0;
};

}  // namespace assay::mr
