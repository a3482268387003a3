// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's account of blocks that belong to captured graphs.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace assay::mr {

/// The blocks of one graph capture. They serve each other's requests while the capture lasts, and
/// nobody else's until the graph is gone.
template <class Shard>
struct pool_capture {
  struct block {
    unsigned which;
    bool live;
  };
  using block_map = std::map<std::uintptr_t, block>;

  /// A block of a class that is not live; 0 if there is none.
  std::uintptr_t reuse(unsigned which) noexcept {
    for (auto& [address, block] : blocks) {
      if (block.live || block.which != which) { continue; }
      block.live = true;
      return address;
    }
    return 0;
  }

  Shard* stream = nullptr;
  bool open = true;
  block_map blocks;
};

/// All captures whose graphs exist. Guarded by the pool's mutex, but for `any_live()`.
template <class Shard>
class capture_set {
 public:
  using capture = pool_capture<Shard>;

  /// Whether a block that belongs to a graph may be given back: frees look for it here then.
  bool any_live() const noexcept { return live_.load(std::memory_order_relaxed) != 0; }

  void reserve_one() { all_.reserve(all_.size() + 1); }
  void add(capture& one) noexcept { all_.push_back(&one); }

  /// The capture that is on for a stream, which is being captured.
  capture& on(Shard const& stream) noexcept {
    return **std::find_if(all_.begin(), all_.end(), [&](capture const* each) {
      return each->open && each->stream == &stream;
    });
  }

  /// The stream of an open capture for which `is(stream)`; null if there is none.
  template <class Is>
  Shard* find_open(Is const& is) const {
    auto const at = std::find_if(all_.begin(), all_.end(), [&](capture const* each) {
      return each->open && is(*each->stream);
    });
    return at == all_.end() ? nullptr : (*at)->stream;
  }

  void lived() noexcept { live_.fetch_add(1, std::memory_order_relaxed); }

  /// Notes that a block is live no more; false if no graph owns it as a live one.
  bool strike(std::uintptr_t address) noexcept {
    for (auto* const each : all_) {
      auto const at = each->blocks.find(address);
      if (at == each->blocks.end() || !at->second.live) { continue; }
      at->second.live = false;
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
