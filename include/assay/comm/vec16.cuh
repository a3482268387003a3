// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arithmetic on vec16s, and their loads and stores in buffers of any alignment.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/slicing.hpp>

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace assay::comm {

/// Elements of a vec16.
template <class T>
inline constexpr int per_vec16 = static_cast<int>(vec16_bytes / sizeof(T));

/// The reduction. `scale` multiplies the result; of integers, it divides the result.
template <class T>
struct reduce_op {
  bool maximum = false;
  sum_of<T> scale = 1;

  static reduce_op of(reduction what, int ranks) {
    if (what != reduction::average) { return {what == reduction::max, 1}; }
    auto const number = static_cast<sum_of<T>>(ranks);
    return {false, std::integral<T> ? number : 1 / number};
  }
};

/// Combines two ranks' elements. A maximum prefers numbers to NaNs.
__device__ inline float combine(float all, float next, bool maximum) {
  return maximum ? fmaxf(all, next) : all + next;
}
__device__ inline double combine(double all, double next, bool maximum) {
  return maximum ? fmax(all, next) : all + next;
}
__device__ inline int combine(int all, int next, bool maximum) {
  auto const sum = static_cast<int>(static_cast<unsigned>(all) + static_cast<unsigned>(next));
  return maximum ? max(all, next) : sum;
}

/// Element `i` of a vec16, as sums are kept.
template <class T>
__device__ sum_of<T> element_of(uint4 const& vec, int i) {
  T element;
  memcpy(&element, reinterpret_cast<std::byte const*>(&vec) + i * sizeof(T), sizeof(T));
  return static_cast<sum_of<T>>(element);
}

/// Reduces the vec16s of ranks 0, 1, ..., `ranks` - 1 in this order. Rounds to nearest; numbers
/// beyond the largest of an 8-bit type become the largest.
///
/// One element after the other, since all 16 sums of an 8-bit type take more registers than there
/// are.
template <class T, std::size_t Ranks>
__device__ uint4 reduced(uint4 const (&vecs)[Ranks], int ranks, reduce_op<T> how) {
  T results[per_vec16<T>];
#pragma unroll
  for (int i = 0; i < per_vec16<T>; ++i) {
    auto all = element_of<T>(vecs[0], i);
#pragma unroll
    for (int rank = 1; rank < int{Ranks}; ++rank) {
      if (rank < ranks) { all = combine(all, element_of<T>(vecs[rank], i), how.maximum); }
    }
    if constexpr (!std::integral<T>) {
      all *= how.scale;
    } else if (how.scale != 1) {
      all /= how.scale;
    }
    results[i] = static_cast<T>(all);
  }
  uint4 vec;
  memcpy(&vec, results, sizeof vec);
  return vec;
}

/// The address of element 0 of vec16 0, which may lie before the buffer.
template <class T>
__device__ T* grid_origin(T* buffer, vec16_grid const& grid) {
  return buffer -
         grid.shift;  // no integer cast, which would hide the address space from the compiler
}

/// True where vec16 `k` can be accessed as 16 aligned bytes.
__device__ inline bool is_wide(vec16_grid const& grid, std::uint64_t k) {
  return grid.wide && k >= grid.first_whole && k < grid.end_whole;
}

/// The number of element `i` of vec16 `k`. Before the buffer it is larger than any count.
template <class T>
__device__ std::uint64_t element_number(vec16_grid const& grid, std::uint64_t k, int i) {
  return k * per_vec16<T> + static_cast<unsigned>(i) - grid.shift;
}

/// Loads vec16 `k` element by element; elements outside the buffer read as zero.
template <class T>
__device__ uint4 load_elements(T const* buffer, vec16_grid const& grid, std::uint64_t k) {
  T elements[per_vec16<T>] = {};
#pragma unroll
  for (int i = 0; i < per_vec16<T>; ++i) {
    auto const at = element_number<T>(grid, k, i);
    if (at < grid.count) { elements[i] = buffer[at]; }
  }
  uint4 vec;
  memcpy(&vec, elements, sizeof vec);
  return vec;
}

template <class T>
__device__ void store_elements(T* buffer, vec16_grid const& grid, std::uint64_t k,
                               uint4 const& vec) {
  T elements[per_vec16<T>];
  memcpy(elements, &vec, sizeof vec);
#pragma unroll
  for (int i = 0; i < per_vec16<T>; ++i) {
    auto const at = element_number<T>(grid, k, i);
    if (at < grid.count) { buffer[at] = elements[i]; }
  }
}

template <class T>
__device__ uint4 load_vec16(T const* buffer, vec16_grid const& grid, std::uint64_t k) {
  if (is_wide(grid, k)) { return reinterpret_cast<uint4 const*>(grid_origin(buffer, grid))[k]; }
  return load_elements(buffer, grid, k);
}

template <class T>
__device__ void store_vec16(T* buffer, vec16_grid const& grid, std::uint64_t k, uint4 const& vec) {
  if (is_wide(grid, k)) {
    reinterpret_cast<uint4*>(grid_origin(buffer, grid))[k] = vec;
  } else {
    store_elements(buffer, grid, k, vec);
  }
}

}  // namespace assay::comm
