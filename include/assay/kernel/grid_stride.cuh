// SPDX-License-Identifier: Apache-2.0
/// @file
/// Range-for over the indices that fall to one thread of a grid.
#pragma once

#include <assay/core/requirements.hpp>

namespace assay::kernel {

/// The indices `first, first + step, ...` below `count`.
template <class Index>
class stride_range {
 public:
  struct sentinel {
    Index count;
  };
  struct iterator {
    Index at;
    Index step;
    __host__ __device__ constexpr Index operator*() const { return at; }
    __host__ __device__ constexpr iterator& operator++() {
      at += step;
      return *this;
    }
    __host__ __device__ constexpr bool operator!=(sentinel end) const { return at < end.count; }
  };

  __host__ __device__ constexpr stride_range(Index first, Index step, Index count)
      : first_(first), step_(step), count_(count) {}
  __host__ __device__ constexpr iterator begin() const { return {first_, step_}; }
  __host__ __device__ constexpr sentinel end() const { return {count_}; }

 private:
  Index first_;
  Index step_;
  Index count_;
};

/// This thread's share of the indices [0, count) in a one-dimensional grid, neighbours to
/// neighbours. `Index` must hold `count` plus the number of threads in the grid.
template <class Index>
__device__ stride_range<Index> grid_stride(Index count) {
  return {static_cast<Index>(static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) +
                             static_cast<Index>(threadIdx.x)),
          static_cast<Index>(static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x)),
          count};
}

}  // namespace assay::kernel
