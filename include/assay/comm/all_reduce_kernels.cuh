// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which kernel is for which algorithm and number of ranks.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/all_reduce_direct.cuh>
#include <assay/comm/all_reduce_norm.cuh>
#include <assay/comm/all_reduce_push.cuh>
#include <assay/comm/all_reduce_ring.cuh>
#include <assay/comm/all_reduce_two_shot_push.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::comm {

namespace detail {

/// Calls `use.operator()<Ranks>()` with the least of 2, 4 and 8 that holds so many ranks: what is
/// in registers for each rank is compiled for these.
template <class Use>
decltype(auto) with_ranks(int ranks, Use const& use) {
  if (ranks <= 2) { return use(std::integral_constant<int, 2>{}); }
  if (ranks <= 4) { return use(std::integral_constant<int, 4>{}); }
  return use(std::integral_constant<int, 8>{});
}

}  // namespace detail

/// The kernels for elements of `T`.
template <class T, class Copy, int Threads>
struct all_reduce_kernels {
  using kernel = void (*)(all_reduce_call<T>);
  using norm_kernel = void (*)(norm_call<T>);

  static kernel of(algorithm how, int ranks) {
    return detail::with_ranks(ranks, [how](auto most) -> kernel {
      constexpr int Ranks = decltype(most)::value;
      switch (how) {
        case algorithm::ll_push:
          return ll_push<T, Ranks>;
        case algorithm::lamport_push:
          return lamport_push<T, Ranks>;
        case algorithm::lamport_two_shot:
          return lamport_two_shot<T, Ranks>;
        case algorithm::ring_push:
          return ring_push<T, Ranks>;
        case algorithm::ring_two_shot:
          return ring_two_shot<T, Ranks>;
        default:
          return all_reduce_direct<T, Ranks, Copy, Threads>;
      }
    });
  }

  static norm_kernel rms_norm(int ranks) {
    return detail::with_ranks(ranks, [](auto most) -> norm_kernel {
      return all_reduce_rms_norm<T, decltype(most)::value>;
    });
  }
};

/// The fixed part of a launch in tiles.
struct tiled_launch {
  unsigned threads;
  unsigned tile_packs;
  std::size_t shared_bytes;
};

/// Of an algorithm that is no push of everything at once.
template <class Copy, int Threads>
tiled_launch tiled_shape(algorithm how, int ranks) {
  return detail::with_ranks(ranks, [how](auto most) -> tiled_launch {
    constexpr int Ranks = decltype(most)::value;
    using tuning = direct_tuning<Copy, Ranks, Threads>;
    switch (how) {
      case algorithm::ring_push:
      case algorithm::ring_two_shot:
        return {ring_block::threads, ring_tile_packs, 0};
      default:
        return {static_cast<unsigned>(tuning::threads), tuning::tile_packs, tuning::shared_bytes};
    }
  });
}

}  // namespace assay::comm
