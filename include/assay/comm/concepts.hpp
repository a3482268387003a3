// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements, buffers and engines of an all-reduce.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/core/cccl.hpp>
#include <assay/core/place.hpp>
#include <assay/core/policy.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay::comm {

/// The reduction of the ranks' elements; `average` divides the sum by the number of ranks.
enum class reduction { sum, max, average };

constexpr std::string_view to_string(reduction what) noexcept {
  constexpr std::string_view words[] = {"sum", "max", "average"};
  return words[static_cast<int>(what)];
}

/// An element type: `float`, or a 16-bit floating-point type that converts to `float` and back, as
/// `__half` and `__nv_bfloat16`. Sums are kept in `float`.
template <class T>
concept element = std::same_as<T, float> || (sizeof(T) == 2 && std::is_trivially_copyable_v<T> &&
                                             !std::integral<T> && requires(T value, float wide) {
                                               static_cast<float>(value);
                                               static_cast<T>(wide);
                                             });

/// Each rank's input and output, in rank order. They are in memory of the rank's device, and all
/// other ranks reach them. An output may be its rank's input; no other buffers overlap.
template <class T>
struct rank_buffers {
  std::array<T const*, max_ranks> in{};
  std::array<T*, max_ranks> out{};
  bool operator==(rank_buffers const&) const = default;
};

/// Runs all-reduces over the ranks of this process, each a device.
///
/// `enqueue<T>(rank, stream, buffers, count, what)` enqueues one rank's part on a stream of its
/// device. It does not block and can be recorded into a graph. Each operation takes one call for
/// every rank, with equal `buffers`, `count` and `what`. The order of operations is the same on all
/// ranks. The calls come from one thread for each device, or from one thread rank after rank. Wait
/// for a device only after all ranks of its operations are enqueued. A rank's output is complete,
/// and its input free, when its own stream has passed the operation.
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
