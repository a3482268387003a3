// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements, buffers and reductions of an all-reduce, and one rank's end of it.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/core/cccl.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace assay::comm {

/// The reduction of the ranks' elements; `average` divides the sum by the number of ranks.
enum class reduction { sum, max, average };

constexpr std::string_view to_string(reduction what) noexcept {
  constexpr std::string_view words[] = {"sum", "max", "average"};
  return words[static_cast<int>(what)];
}

/// A floating-point type of 8 or 16 bits that converts to `float` and back, as `__half`,
/// `__nv_bfloat16`, `__nv_fp8_e4m3` and `__nv_fp8_e5m2`. Sums are kept in `float`.
template <class T>
concept small_float = sizeof(T) <= 2 && std::is_trivially_copyable_v<T> && !std::integral<T> &&
                      !std::is_enum_v<T> && requires(T value, float wide) {
                        static_cast<float>(value);
                        static_cast<T>(wide);
                      };

/// Types of which four bytes of ones are no number. An array of one can be its own flag of arrival.
template <class T>
concept has_sentinel = std::same_as<T, float> || small_float<T>;

/// An element type. Sums of `double` and `std::int32_t` are kept in the type itself; sums of
/// integers wrap, and their average is rounded towards zero.
template <class T>
concept element = has_sentinel<T> || std::same_as<T, double> || std::same_as<T, std::int32_t>;

/// The type that sums of `T` are kept in.
template <element T>
using sum_of = std::conditional_t<has_sentinel<T>, float, T>;

/// Each rank's input and output, in rank order. They are in memory of the rank's device, and all
/// other ranks reach them. An output may be its rank's input; no other buffers overlap.
template <class T>
struct rank_buffers {
  std::array<T const*, max_ranks> in{};
  std::array<T*, max_ranks> out{};
  bool operator==(rank_buffers const&) const = default;
};

/// One rank's end of an all-reduce, which takes the arrays of this rank alone: `comm::nccl`, and
/// `all_reduce.rank(r)`. All ranks enqueue the same operations in the same order.
template <class C, class T = float>
concept collective =
    requires(C const& end, ::cuda::stream_ref on, T const* in, T* out, std::size_t count) {
      { end.rank() } -> std::same_as<int>;
      { end.ranks() } -> std::same_as<int>;
      end.device();
      end.enqueue(on, in, out, count, reduction::sum);  // `out` may be `in`
      end.synchronize(on);                              // throws where an operation failed
    };

/// One rank's end of an engine that has all ranks in this process. The engine has to outlive it.
template <class Engine>
class rank_of {
 public:
  rank_of(Engine& all, int rank) : all_(&all), rank_(rank) { (void)all.device(rank); }

  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return all_->ranks(); }
  auto device() const { return all_->device(rank_); }

  /// Enqueues this rank's part; see the engine's `enqueue` with one rank's own buffers.
  template <element T>
  void enqueue(::cuda::stream_ref on, T const* in, T* out, std::size_t count,
               reduction what) const {
    all_->enqueue(rank_, on, in, out, count, what);
  }
  void synchronize(::cuda::stream_ref on) const { all_->synchronize(rank_, on); }

 private:
  Engine* all_;
  int rank_;
};

}  // namespace assay::comm
