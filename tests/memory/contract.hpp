// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every memory resource must do, checked once for all of them.
#pragma once

#include "catch.hpp"

#include <assay/memory/concepts.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace assay::test {

/// Runs the battery over a resource of `policy` opened on `place`. `touch(block, bytes)` writes
/// every byte of a block that is live, wherever it is.
template <class Policy, class Place, class Stream, class Touch>
void check_contract(Policy const& policy, Place place, Stream stream, Touch touch) {
  static_assert(memory_policy<Policy, Place>);
  static_assert(memory_resource<resource_of<Policy, Place>, Stream>);
  auto resource = policy.open(place);

  INFO(describe(policy));
  CHECK(policy == Policy{policy});
  auto copy = resource;
  CHECK(copy == resource);

  // Zero bytes may be asked for and given back.
  resource.deallocate(stream, resource.allocate(stream, 0, mr::default_alignment), 0,
                      mr::default_alignment);

  // Live blocks are aligned and apart; a copy frees what the other allocated.
  auto const seed = fresh_seed();
  INFO("seed " << seed);
  std::mt19937_64 random{seed};
  struct block {
    void* data;
    std::size_t bytes;
    std::size_t alignment;
  };
  std::vector<block> live;
  for (int i = 0; i < 200; ++i) {
    if (live.size() > 20 || (!live.empty() && random() % 3 == 0)) {
      auto const which = random() % live.size();
      copy.deallocate(stream, live[which].data, live[which].bytes, live[which].alignment);
      live[which] = live.back();
      live.pop_back();
      continue;
    }
    std::size_t const bytes = 1 + random() % (std::size_t{1} << random() % 17);
    std::size_t const alignment = std::size_t{1} << random() % 9;
    block const fresh{resource.allocate(stream, bytes, alignment), bytes, alignment};
    auto const begin = reinterpret_cast<std::uintptr_t>(fresh.data);
    REQUIRE(begin % alignment == 0);
    for (auto const& other : live) {
      auto const at = reinterpret_cast<std::uintptr_t>(other.data);
      REQUIRE((begin + bytes <= at || at + other.bytes <= begin));
    }
    touch(fresh.data, bytes);
    live.push_back(fresh);
  }
  for (auto const& each : live) { copy.deallocate(stream, each.data, each.bytes, each.alignment); }

  // What cannot be is refused in words, and changes nothing.
  CHECK_THROWS_AS(resource.allocate(stream, 64, 3), std::invalid_argument);
  CHECK_THROWS_AS(resource.allocate(stream, std::size_t{1} << 60U, mr::default_alignment),
                  mr::out_of_memory);
  void* const after = resource.allocate(stream, 64, mr::default_alignment);
  CHECK(after != nullptr);
  touch(after, 64);
  resource.deallocate(stream, after, 64, mr::default_alignment);

  // Without a stream.
  if constexpr (requires { resource.allocate_sync(std::size_t{64}); }) {
    void* const plain = resource.allocate_sync(4096);
    touch(plain, 4096);
    stream_traits<Stream>::synchronize(stream);  // no work may use it any more
    resource.deallocate_sync(plain, 4096);
  }
}

}  // namespace assay::test
