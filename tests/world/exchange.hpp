// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rounds of all calls of a world, whose bytes each rank checks.
#pragma once

#include "catch.hpp"

#include <assay/world/world.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace assay::test {

/// What a rank sends in a round: longer than what sockets hold in one round of four.
inline std::string words_of(int rank, int round) {
  return std::string(round % 4 == 3 ? 12'000'000 : 10, static_cast<char>('a' + rank % 26)) +
         std::to_string(rank) + ',' + std::to_string(round);
}

/// Rounds of all calls, checked in each rank.
inline std::string exchange(world const& all, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    auto const got = all.gather(words_of(all.rank(), round));
    if (got.size() != (all.rank() == 0 ? static_cast<std::size_t>(all.ranks()) : 0)) {
      return "a wrong number of texts";
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != words_of(static_cast<int>(i), round)) { return "gathered wrong bytes"; }
    }
    if (all.broadcast(words_of(all.rank(), round)) != words_of(0, round)) {
      return "wrong bytes of rank 0";
    }
    all.barrier();
  }
  return "rank " + std::to_string(all.rank()) + " of " + std::to_string(all.ranks()) + ", local " +
         std::to_string(all.local_rank());
}

inline void check_exchange(std::vector<std::string> const& said) {
  for (std::size_t i = 0; i < said.size(); ++i) {
    auto const number = std::to_string(i);
    CHECK(said[i] == "rank " + number + " of " + std::to_string(said.size()) + ", local " + number);
  }
}

}  // namespace assay::test
