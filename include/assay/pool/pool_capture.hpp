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

/// The captures of all graphs that exist. A block may be in several: each graph that uses it keeps
/// it. Guarded by the pool's mutex, but for `any_live()`.
template <class Cache>
class capture_set {
 public:
  using capture = pool_capture<Cache>;
  using block = typename capture::block;

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
  /// Stands for all captures that the pool was not told of. The pool does not learn when their
  /// graphs end, so it keeps their blocks.
  capture& untold() noexcept { return untold_; }

  void count_live() noexcept { live_.fetch_add(1, std::memory_order_relaxed); }

  /// Takes a block back that a graph uses: one that was allocated in a capture, or is given back in
  /// the capture `by` (null: in none). False, without effect, where no graph uses it. Throws, if it
  /// does, before it changes anything.
  ///
  /// A graph's own requests do not get a block from before its capture: a replay on another stream
  /// does not come after the work from before.
  bool give_back(std::uintptr_t address, unsigned class_index, capture* by) {
    if (by != nullptr) { by->blocks.emplace(address, block{class_index, false, false}); }
    bool found = by != nullptr;
    for (auto* const each : all_) {
      auto const at = each->blocks.find(address);
      if (at == each->blocks.end() || !at->second.live) { continue; }
      at->second.live = false;
      at->second.reusable = each == by;
      live_.fetch_sub(1, std::memory_order_relaxed);
      found = true;
    }
    return found;
  }

  /// Forgets a capture, its live blocks, which are ordinary ones from here, and its blocks that
  /// other graphs use. The rest is free.
  void remove(capture& one) noexcept {
    std::erase(all_, &one);
    std::erase_if(one.blocks, [&](auto const& each) {
      if (each.second.live) { live_.fetch_sub(1, std::memory_order_relaxed); }
      auto const keeps = [&](capture const* of) { return of->blocks.contains(each.first); };
      return each.second.live || keeps(&untold_) || std::any_of(all_.begin(), all_.end(), keeps);
    });
  }

 private:
  std::vector<capture*> all_;
  capture untold_{nullptr, false, {}};
  std::atomic<std::uint64_t> live_{0};
};

}  // namespace assay::mr
