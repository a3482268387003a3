// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arithmetic on vec16s, and their loads and stores in buffers of any alignment.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/slicing.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace assay::comm {

/// The elements of a vec16 as `float`.
template <class T>
struct unpacked_vec {
  static constexpr int count = static_cast<int>(vec16_bytes / sizeof(T));
  float at[count];
};

template <class T>
__device__ unpacked_vec<T> unpack(uint4 const& vec) {
  T elements[unpacked_vec<T>::count];
  memcpy(elements, &vec, sizeof vec);
  unpacked_vec<T> wide;
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) { wide.at[i] = static_cast<float>(elements[i]); }
  return wide;
}

/// Rounds to nearest.
template <class T>
__device__ uint4 pack(unpacked_vec<T> const& wide) {
  T elements[unpacked_vec<T>::count];
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) { elements[i] = static_cast<T>(wide.at[i]); }
  uint4 vec;
  memcpy(&vec, elements, sizeof vec);
  return vec;
}

/// The reduction. `scale` multiplies the result.
struct reduce_op {
  bool maximum = false;
  float scale = 1;
};

/// Adds the next rank's elements to `all`, or takes their maximum, which prefers numbers to NaNs.
template <class T>
__device__ void combine(unpacked_vec<T>& all, uint4 const& next, reduce_op how) {
  auto const wide = unpack<T>(next);
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) {
    all.at[i] = how.maximum ? fmaxf(all.at[i], wide.at[i]) : all.at[i] + wide.at[i];
  }
}

/// Reduces the vec16s of ranks 0, 1, ..., `ranks` - 1 in this order.
template <class T, int Ranks>
__device__ unpacked_vec<T> reduced(uint4 const (&vecs)[Ranks], int ranks, reduce_op how) {
  auto all = unpack<T>(vecs[0]);
#pragma unroll
  for (int rank = 1; rank < Ranks; ++rank) {
    if (rank < ranks) { combine<T>(all, vecs[rank], how); }
  }
#pragma unroll
  for (float& each : all.at) { each *= how.scale; }
  return all;
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
  return k * unpacked_vec<T>::count + static_cast<unsigned>(i) - grid.shift;
}

/// Loads vec16 `k` element by element; elements outside the buffer read as zero.
template <class T>
__device__ uint4 load_elements(T const* buffer, vec16_grid const& grid, std::uint64_t k) {
  T elements[unpacked_vec<T>::count] = {};
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) {
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
  T elements[unpacked_vec<T>::count];
  memcpy(elements, &vec, sizeof vec);
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) {
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
