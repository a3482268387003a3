// SPDX-License-Identifier: Apache-2.0
/// @file
/// What an all-reduce is: its elements and buffers, and the engines that run it.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/core/cccl.hpp>
#include <assay/core/named.hpp>
#include <assay/core/place.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay::comm {

/// What becomes of the ranks' elements; `average` divides the sum by the number of ranks.
enum class reduction { sum, max, average };

constexpr std::string_view in_words(reduction what) noexcept {
  constexpr std::string_view words[] = {"sum", "max", "average"};
  return words[static_cast<int>(what)];
}

/// What can be reduced: `float`, and floating-point types of 16 bits that convert to it and back,
/// as
/// `__half` and `__nv_bfloat16` do once their headers are included. Sums are kept in `float`.
template <class T>
concept element = std::same_as<T, float> || (sizeof(T) == 2 && std::is_trivially_copyable_v<T> &&
                                             !std::integral<T> && requires(T value, float wide) {
                                               static_cast<float>(value);
                                               static_cast<T>(wide);
                                             });

/// Where each rank's input and output begin, in rank order, in memory of that rank's device which
/// all others reach. An output may be its rank's input; otherwise none overlap.
template <class T>
struct rank_buffers {
  std::array<T const*, max_ranks> in{};
  std::array<T*, max_ranks> out{};
  bool operator==(rank_buffers const&) const = default;
};

/// Runs all-reduces over the ranks of this process, each a device.
///
/// `enqueue<T>(rank, stream, buffers, count, what)` enqueues one rank's part on a stream of its
/// device and does not block; it can be recorded into a graph. Each operation takes one call for
/// every rank, with equal arguments but the first two, and in the same order of operations on all:
/// from one thread for each device, or from one thread for all, rank after rank. No device may be
/// waited for before all ranks of its operations are enqueued. A rank's output is complete, and its
/// input free, when its own stream has passed.
template <class E>
concept all_reduce_engine =
    named<E> && requires(E& engine, E const& constant, int rank, ::cuda::stream_ref stream,
                         rank_buffers<float> const& buffers, std::size_t count, reduction what) {
      { constant.ranks() } -> std::same_as<int>;
      { constant.device(rank) } -> std::same_as<on::device>;
      { constant.describe() } -> std::convertible_to<std::string>;
      engine.template enqueue<float>(rank, stream, buffers, count, what);
    };

}  // namespace assay::comm
