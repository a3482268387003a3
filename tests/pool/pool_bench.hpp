// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pool on a fake device, with streams, and blocks that are used when they are taken and left.
#pragma once

#include "pool/fake_device.hpp"

#include <assay/core/units.hpp>
#include <assay/pool/pool_core.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace assay::test {

/// All memory from the begin.
inline mr::pool fixed_pool(std::size_t bytes) {
  using namespace literals;
  return {.initial_bytes = bytes, .max_bytes = bytes, .growth_bytes = 2_MiB};
}

struct pool_bench {
  explicit pool_bench(mr::pool const& options = {}, unsigned ready_every = 0)
      : pool(std::in_place, fake_backend{&device, ready_every}, options) {}

  void* take(int stream, std::size_t bytes) {
    void* const block = pool->allocate(stream, bytes);
    device.take(stream, block, bytes, ++tags);
    tag_of[block] = tags;
    return block;
  }
  void leave(int stream, void* block, std::size_t bytes) {
    device.leave(stream, block, bytes, tag_of.at(block));
    pool->deallocate(stream, block, bytes);
  }
  std::uint64_t live() { return pool->stats().live_bytes; }

  fake_device device{std::size_t{64} << 20U};
  int a = device.create();
  int b = device.create();
  int c = device.create();
  std::uint32_t tags = 0;
  std::map<void*, std::uint32_t> tag_of;
  std::optional<mr::pool_core<fake_backend>> pool;
};

}  // namespace assay::test
