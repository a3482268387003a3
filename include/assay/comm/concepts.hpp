// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements, buffers and reductions of an all-reduce.
#pragma once

#include <assay/comm/algorithm.hpp>

#include <array>
#include <concepts>
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

}  // namespace assay::comm
