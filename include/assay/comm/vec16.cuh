// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arithmetic on vec16s, and their loads and stores in buffers of any alignment.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/slicing.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace assay::comm {

/// The elements of a vec16 as `float`.
template <class T>
struct unpacked_vec {
  static constexpr int count = static_cast<int>(vec16_bytes / sizeof(T));
  float at[count];
};

namespace detail {

template <class T>
__device__ T element_of(unsigned word, int half) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, word);
  } else {
    auto const bits = static_cast<unsigned short>(word >> (16 * half));
    T value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
}

template <class T>
__device__ unsigned word_of(float const* from) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(unsigned, *from);
  } else {
    // `memcpy`, since nvcc 13.0 rejects the built-in cast for class types.
    T const both[] = {static_cast<T>(from[0]), static_cast<T>(from[1])};
    unsigned word;
    memcpy(&word, both, sizeof(word));
    return word;
  }
}

}  // namespace detail

template <class T>
__device__ unpacked_vec<T> unpack(uint4 const& vec) {
  unsigned const words[] = {vec.x, vec.y, vec.z, vec.w};
  unpacked_vec<T> wide;
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) {
    constexpr int in_word = static_cast<int>(4 / sizeof(T));
    wide.at[i] = static_cast<float>(detail::element_of<T>(words[i / in_word], i % in_word));
  }
  return wide;
}

/// Rounds to nearest.
template <class T>
__device__ uint4 pack(unpacked_vec<T> const& wide) {
  constexpr int in_word = static_cast<int>(4 / sizeof(T));
  return {detail::word_of<T>(wide.at), detail::word_of<T>(wide.at + in_word),
          detail::word_of<T>(wide.at + 2 * in_word), detail::word_of<T>(wide.at + 3 * in_word)};
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

/// Loads vec16 `k` element by element; elements outside the buffer read as zero.
template <class T>
__device__ uint4 load_elements(T const* buffer, vec16_grid const& grid, std::uint64_t k) {
  constexpr int in_word = static_cast<int>(4 / sizeof(T));
  unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) {
    auto const at = k * unpacked_vec<T>::count + static_cast<unsigned>(i) - grid.shift;
    if (at >= grid.count) { continue; }  // also before the buffer: the difference is unsigned
    std::conditional_t<sizeof(T) == 4, unsigned, unsigned short> bits;
    T const value = buffer[at];
    memcpy(&bits, &value, sizeof(bits));
    words[i / in_word] |= unsigned{bits} << (16 * (i % in_word));
  }
  return {words[0], words[1], words[2], words[3]};
}

template <class T>
__device__ void store_elements(T* buffer, vec16_grid const& grid, std::uint64_t k,
                               uint4 const& vec) {
  constexpr int in_word = static_cast<int>(4 / sizeof(T));
  unsigned const words[] = {vec.x, vec.y, vec.z, vec.w};
#pragma unroll
  for (int i = 0; i < unpacked_vec<T>::count; ++i) {
    auto const at = k * unpacked_vec<T>::count + static_cast<unsigned>(i) - grid.shift;
    if (at < grid.count) { buffer[at] = detail::element_of<T>(words[i / in_word], i % in_word); }
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
