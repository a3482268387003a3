// SPDX-License-Identifier: Apache-2.0
/// @file
/// The pool's state in words, for the message of a request that it cannot meet.
#pragma once

#include <assay/memory/pool_order.hpp>
#include <assay/memory/request.hpp>
#include <assay/memory/slab_heap.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>

namespace assay::mr {

/// What is out of use in a pool, and why.
struct pool_troubles {
  std::size_t parked_blocks;
  std::size_t lost_bytes;
  std::uint64_t unmarked_events;
  bool refused;  ///< the last request that went upstream was
};

/// One clause. Needs the pool's mutex; takes each shard's lock.
template <class Backend>
std::string describe_pool(stream_book<Backend> const& streams, slab_heap const& heap,
                          std::size_t max_bytes, pool_troubles const& troubles) {
  std::size_t cached = 0;
  std::size_t open = 0;
  for (auto const& each : streams.shards()) {
    auto const held = each->lock.look();
    cached += each->cached_bytes;
    open += each->open ? 1U : 0U;
  }
  auto const reserved = heap.chunk_bytes();
  std::string text = describe_bytes(reserved) + " reserved";
  if (max_bytes != std::numeric_limits<std::size_t>::max()) {
    text += " of at most " + describe_bytes(max_bytes);
  }
  text += ", " + describe_bytes(reserved - heap.free_bytes() - cached) + " in use, " +
          describe_bytes(cached) + " kept by " + std::to_string(open) + " streams, " +
          describe_bytes(heap.free_bytes()) + " free in ranges of at most " +
          describe_bytes(heap.largest_range());
  if (troubles.parked_blocks != 0) {
    text += ", " + std::to_string(troubles.parked_blocks) + " blocks of graphs that may still run";
  }
  if (troubles.lost_bytes != 0) {
    text += ", " + describe_bytes(troubles.lost_bytes) + " lost track of";
  }
  if (troubles.unmarked_events != 0) {
    text += ", " + std::to_string(troubles.unmarked_events) + " events not recorded";
  }
  return troubles.refused ? text + "; upstream has no more" : text;
}

}  // namespace assay::mr
