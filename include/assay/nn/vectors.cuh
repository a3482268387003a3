// SPDX-License-Identifier: Apache-2.0
/// @file
/// Neighbouring elements of an activation, or weights, as floats, in accesses of 16 bytes.
#pragma once

#include <assay/core/bfloat16.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/nn/operation.hpp>

#include <cuda_bf16.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace assay::nn {

/// Elements of one access. Kernels take as many at once, or 1 (RoPE: 2) where arrays do not allow.
template <class T>
inline constexpr int full_width = 16 / static_cast<int>(sizeof(T));

/// True if `Width` elements from the beginning of each row are aligned: `sizes` are the elements of
/// a row and those between rows, `arrays` the first rows.
template <int Width>
bool allows_width(std::initializer_list<std::size_t> sizes,
                  std::initializer_list<void const*> arrays) {
  return std::ranges::all_of(sizes, [](auto size) { return size % Width == 0; }) &&
         std::ranges::all_of(
             arrays, [](auto* array) { return std::bit_cast<std::uintptr_t>(array) % 16 == 0; });
}

/// The arrays of some weights, all of which must allow wide accesses.
inline std::array<void const*, 2> arrays_of(std::span<float const> all) {
  return {all.data(), all.data()};
}
inline std::array<void const*, 2> arrays_of(split_floats const& all) {
  return {all.high.data(), all.low.data()};
}

/// A block for each row, and more where a row has more groups of elements than threads.
struct row_shape {
  static constexpr unsigned threads = 128;
  dim3 grid;
  row_shape(std::size_t rows, std::size_t groups)
      : grid(static_cast<unsigned>(rows),
             static_cast<unsigned>(std::max<std::size_t>(1, (groups + threads - 1) / threads))) {}
};

namespace kernels {

template <std::size_t Width>
__device__ void load(float const* from, float (&to)[Width]) {
  if constexpr (Width % 4 == 0) {
    for (int i = 0; i < int{Width}; i += 4) {
      float4 const four = *reinterpret_cast<float4 const*>(from + i);
      to[i] = four.x;
      to[i + 1] = four.y;
      to[i + 2] = four.z;
      to[i + 3] = four.w;
    }
  } else {
    for (int i = 0; i < int{Width}; ++i) { to[i] = from[i]; }
  }
}

template <std::size_t Width>
__device__ void store(float* to, float const (&from)[Width]) {
  if constexpr (Width % 4 == 0) {
    for (int i = 0; i < int{Width}; i += 4) {
      *reinterpret_cast<float4*>(to + i) = {from[i], from[i + 1], from[i + 2], from[i + 3]};
    }
  } else {
    for (int i = 0; i < int{Width}; ++i) { to[i] = from[i]; }
  }
}

/// Words of two elements, as many as one access has.
template <std::size_t Width>
struct alignas(2 * Width) pair_words {
  unsigned at[Width / 2];
};

template <std::size_t Width>
__device__ void load(bfloat16 const* from, float (&to)[Width]) {
  if constexpr (Width == 4 || Width == 8) {
    auto const words = *reinterpret_cast<pair_words<Width> const*>(from);
    for (int i = 0; i < int{Width / 2}; ++i) {
      to[2 * i] = __uint_as_float(words.at[i] << 16);
      to[2 * i + 1] = __uint_as_float(words.at[i] & 0xFFFF'0000U);
    }
  } else {
    for (int i = 0; i < int{Width}; ++i) { to[i] = __uint_as_float(unsigned{from[i].bits} << 16); }
  }
}

/// Rounds to nearest, ties to even.
template <std::size_t Width>
__device__ void store(bfloat16* to, float const (&from)[Width]) {
  auto const bits = [&](int i) { return __bfloat16_as_ushort(__float2bfloat16_rn(from[i])); };
  if constexpr (Width == 4 || Width == 8) {
    pair_words<Width> words;
    for (int i = 0; i < int{Width / 2}; ++i) {
      words.at[i] = unsigned{bits(2 * i)} | unsigned{bits(2 * i + 1)} << 16;
    }
    *reinterpret_cast<pair_words<Width>*>(to) = words;
  } else {
    for (int i = 0; i < int{Width}; ++i) { to[i].bits = bits(i); }
  }
}

/// A pointer to floats in two halves.
struct split_pointer {
  bfloat16* high = nullptr;
  std::uint16_t* low = nullptr;

  __host__ __device__ split_pointer operator+(std::size_t count) const {
    return {high + count, low + count};
  }
};

template <class T>
T* begin_of(std::span<T> all) {
  return all.data();
}
inline split_pointer begin_of(split_floats const& all) { return {all.high.data(), all.low.data()}; }

/// Two floats from words with their upper and their lower halves, as `float_halves` has it.
inline __device__ void join(unsigned high, unsigned low, float& first, float& second) {
  first = __uint_as_float(__byte_perm(low, high, 0x5410) - detail::half_step);
  second = __uint_as_float(__byte_perm(low, high, 0x7632) - detail::half_step);
}
inline __device__ unsigned moved_bits(float value) {
  return (value == value ? __float_as_uint(value) : detail::any_nan) + detail::half_step;
}

template <std::size_t Width>
__device__ void load(split_pointer from, float (&to)[Width]) {
  if constexpr (Width == 4 || Width == 8) {
    auto const high = *reinterpret_cast<pair_words<Width> const*>(from.high);
    auto const low = *reinterpret_cast<pair_words<Width> const*>(from.low);
    for (int i = 0; i < int{Width / 2}; ++i) {
      join(high.at[i], low.at[i], to[2 * i], to[2 * i + 1]);
    }
  } else {
    float unused = 0;
    for (int i = 0; i < int{Width}; ++i) { join(from.high[i].bits, from.low[i], to[i], unused); }
  }
}

template <std::size_t Width>
__device__ void store(split_pointer to, float const (&from)[Width]) {
  if constexpr (Width == 4 || Width == 8) {
    pair_words<Width> high, low;
    for (int i = 0; i < int{Width / 2}; ++i) {
      unsigned const first = moved_bits(from[2 * i]), second = moved_bits(from[2 * i + 1]);
      high.at[i] = __byte_perm(first, second, 0x7632);
      low.at[i] = __byte_perm(first, second, 0x5410);
    }
    *reinterpret_cast<pair_words<Width>*>(to.high) = high;
    *reinterpret_cast<pair_words<Width>*>(to.low) = low;
  } else {
    for (int i = 0; i < int{Width}; ++i) {
      unsigned const bits = moved_bits(from[i]);
      to.high[i].bits = static_cast<std::uint16_t>(bits >> 16);
      to.low[i] = static_cast<std::uint16_t>(bits);
    }
  }
}

/// The sum over a warp, in each of its threads, always in the same order.
template <class T>
__device__ T warp_sum(T mine) {
  for (int apart = 16; apart > 0; apart /= 2) { mine += __shfl_xor_sync(~0U, mine, apart); }
  return mine;
}
template <class T>
__device__ T warp_maximum(T mine) {
  for (int apart = 16; apart > 0; apart /= 2) {
    mine = fmaxf(mine, __shfl_xor_sync(~0U, mine, apart));
  }
  return mine;
}

}  // namespace kernels
}  // namespace assay::nn
