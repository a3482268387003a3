// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's account of blocks that belong to captured graphs.
#pragma once

#include <assay/core/requirements.hpp>
#include <assay/pool/stream_cache.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

namespace assay::mr {

/// The blocks of one graph capture. Those that were freed on the captured stream serve its later
/// requests. No other stream gets any of them until the graph is gone.
template <class Cache>
struct pool_capture {
  struct block {
    unsigned class_index;
    bool live;
    bool reusable = true;  ///< its frees are on the stream of the capture
  };
  using block_map = std::map<std::uintptr_t, block>;

  /// A block of a class that is not live; 0 if there is none.
  std::uintptr_t reuse(unsigned class_index) noexcept {
    for (auto& [address, each] : blocks) {
      if (each.live || !each.reusable || each.class_index != class_index) { continue; }
      each.live = true;
      return address;
    }
    return 0;
  }

  Cache* stream = nullptr;
  bool open = true;
  block_map blocks;
};

/// The captures of all graphs that exist. Guarded by the pool's mutex, but for `any_live()`.
template <class Cache>
class capture_set {
 public:
  using capture = pool_capture<Cache>;

  /// True if a block that belongs to a graph may be given back: frees look for it here then.
  bool any_live() const noexcept { return live_.load(std::memory_order_relaxed) != 0; }

  void reserve_one() { all_.reserve(all_.size() + 1); }
  void add(capture& one) noexcept { all_.push_back(&one); }

  /// The open capture of a stream; null if there is none.
  capture* of(stream_key const& key) const noexcept {
    auto const at = std::find_if(all_.begin(), all_.end(), [&](capture const* each) {
      return each->open && each->stream->key == key;
    });
    return at == all_.end() ? nullptr : *at;
  }
  /// The capture that is open alone; null if there is none, or more than one.
  capture* only_open() const noexcept {
    capture* found = nullptr;
    for (auto* const each : all_) {
      if (!each->open) { continue; }
      if (found != nullptr) { return nullptr; }
      found = each;
    }
    return found;
  }

  void count_live() noexcept { live_.fetch_add(1, std::memory_order_relaxed); }

  /// Notes that a block is live no more; false if no graph owns it as a live one.
  /// `by` is the open capture of the stream of this free, if it has one.
  bool mark_freed(std::uintptr_t address, capture const* by) noexcept {
    for (auto* const each : all_) {
      auto const at = each->blocks.find(address);
      if (at == each->blocks.end() || !at->second.live) { continue; }
      at->second.live = false;
      at->second.reusable = each == by;
      live_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  /// Forgets a capture; its live blocks are ordinary ones from here, and its no more.
  void remove(capture& one) noexcept {
    std::erase(all_, &one);
    live_.fetch_sub(std::erase_if(one.blocks, [](auto const& each) { return each.second.live; }),
                    std::memory_order_relaxed);
  }

 private:
  std::vector<capture*> all_;
  std::atomic<std::uint64_t> live_{0};
};

}  // namespace assay::mr
