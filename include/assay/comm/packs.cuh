// SPDX-License-Identifier: Apache-2.0
/// @file
/// Arithmetic on packs of 16 bytes, and bringing them in from buffers of any alignment.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/slicing.hpp>

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace assay::comm {

/// The elements of a pack, in `float`.
template <class T>
struct lanes {
  static constexpr int count = static_cast<int>(pack_bytes / sizeof(T));
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
    // Not the built-in cast: with class types nvcc 13.0 fails on it.
    T const both[] = {static_cast<T>(from[0]), static_cast<T>(from[1])};
    unsigned word;
    memcpy(&word, both, sizeof(word));
    return word;
  }
}

}  // namespace detail

template <class T>
__device__ lanes<T> widened(uint4 const& pack) {
  unsigned const words[] = {pack.x, pack.y, pack.z, pack.w};
  lanes<T> wide;
#pragma unroll
  for (int i = 0; i < lanes<T>::count; ++i) {
    constexpr int in_word = static_cast<int>(4 / sizeof(T));
    wide.at[i] = static_cast<float>(detail::element_of<T>(words[i / in_word], i % in_word));
  }
  return wide;
}

/// Rounds to the nearest.
template <class T>
__device__ uint4 narrowed(lanes<T> const& wide) {
  constexpr int in_word = static_cast<int>(4 / sizeof(T));
  return {detail::word_of<T>(wide.at), detail::word_of<T>(wide.at + in_word),
          detail::word_of<T>(wide.at + 2 * in_word), detail::word_of<T>(wide.at + 3 * in_word)};
}

/// What is done with the elements: `scale` is what the sum is multiplied with at the end.
struct combining {
  bool greatest = false;
  float scale = 1;
};

/// Takes the next rank's elements in. Of a number and a NaN the number is the greater.
template <class T>
__device__ void combine(lanes<T>& all, uint4 const& next, combining how) {
  auto const wide = widened<T>(next);
#pragma unroll
  for (int i = 0; i < lanes<T>::count; ++i) {
    all.at[i] = how.greatest ? fmaxf(all.at[i], wide.at[i]) : all.at[i] + wide.at[i];
  }
}

/// Reduces the packs of ranks 0, 1, ... of `Ranks` at most, in this order.
template <class T, int Ranks>
__device__ lanes<T> reduced(uint4 const (&packs)[Ranks], int ranks, combining how) {
  auto all = widened<T>(packs[0]);
#pragma unroll
  for (int rank = 1; rank < Ranks; ++rank) {
    if (rank < ranks) { combine<T>(all, packs[rank], how); }
  }
#pragma unroll
  for (float& each : all.at) { each *= how.scale; }
  return all;
}

/// Element 0 of pack 0, which may stand before the buffer.
template <class T>
__device__ T* grid_origin(T* buffer, pack_grid const& grid) {
  return buffer - grid.shift;  // no cast to a number: the compiler would lose that it is global
}

/// Whether pack `k` can be accessed 16 bytes at a time.
__device__ inline bool is_wide(pack_grid const& grid, std::uint64_t k) {
  return grid.wide && k >= grid.first_whole && k < grid.end_whole;
}

/// Pack `k`, element by element; what is outside the buffer reads as zero.
template <class T>
__device__ uint4 load_elements(T const* buffer, pack_grid const& grid, std::uint64_t k) {
  constexpr int in_word = static_cast<int>(4 / sizeof(T));
  unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < lanes<T>::count; ++i) {
    auto const at = k * lanes<T>::count + static_cast<unsigned>(i) - grid.shift;
    if (at >= grid.count) { continue; }  // also before the buffer: the difference is unsigned
    std::conditional_t<sizeof(T) == 4, unsigned, unsigned short> bits;
    T const value = buffer[at];
    memcpy(&bits, &value, sizeof(bits));
    words[i / in_word] |= unsigned{bits} << (16 * (i % in_word));
  }
  return {words[0], words[1], words[2], words[3]};
}

template <class T>
__device__ void store_elements(T* buffer, pack_grid const& grid, std::uint64_t k,
                               uint4 const& pack) {
  constexpr int in_word = static_cast<int>(4 / sizeof(T));
  unsigned const words[] = {pack.x, pack.y, pack.z, pack.w};
#pragma unroll
  for (int i = 0; i < lanes<T>::count; ++i) {
    auto const at = k * lanes<T>::count + static_cast<unsigned>(i) - grid.shift;
    if (at < grid.count) { buffer[at] = detail::element_of<T>(words[i / in_word], i % in_word); }
  }
}

template <class T>
__device__ uint4 load_pack(T const* buffer, pack_grid const& grid, std::uint64_t k) {
  if (is_wide(grid, k)) { return reinterpret_cast<uint4 const*>(grid_origin(buffer, grid))[k]; }
  return load_elements(buffer, grid, k);
}

template <class T>
__device__ void store_pack(T* buffer, pack_grid const& grid, std::uint64_t k, uint4 const& pack) {
  if (is_wide(grid, k)) {
    reinterpret_cast<uint4*>(grid_origin(buffer, grid))[k] = pack;
  } else {
    store_elements(buffer, grid, k, pack);
  }
}

}  // namespace assay::comm
