// SPDX-License-Identifier: Apache-2.0
/// @file
/// `copy::regular` in kernels.
#pragma once

#include <assay/copy/concepts.cuh>
#include <assay/copy/regular.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::copy {

namespace detail {

/// The built-in type that moves so many bytes in one instruction.
template <int Bytes>
using word =
    std::conditional_t<Bytes == 16, uint4, std::conditional_t<Bytes == 8, uint2, unsigned>>;

/// Copies words [0, count), shared out over threads: word k from `from(k)` to `to(k)`. All loads of
/// a batch are in flight before its first store.
template <class Word, int Unroll, int Threads, class From, class To>
__device__ void copy_words(int count, int rank, From const& from, To const& to) {
  int k = rank;
  for (; k + (Unroll - 1) * Threads < count; k += Unroll * Threads) {
    Word batch[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) { batch[u] = *from(k + u * Threads); }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) { *to(k + u * Threads) = batch[u]; }
  }
#pragma unroll 1
  for (; k < count; k += Threads) { *to(k) = *from(k); }
}

}  // namespace detail

template <int VectorBytes, int Unroll, class Group, int TileBytes>
class tile_pipeline<regular<VectorBytes, Unroll>, Group, TileBytes> {
  using slots = detail::slots<Group, TileBytes, 1>;
  using word = detail::word<VectorBytes>;

 public:
  static constexpr int stages = 1;
  static constexpr std::size_t storage_bytes = slots::bytes;

  __device__ explicit tile_pipeline(void* storage) : slots_(storage) {}

  __device__ void load(int i, void const* source, int bytes) {
    released_.require(i);
    piece(slots_.place_like(i, source), source, bytes);
  }

  __device__ void add_rows(int i, int offset, int pitch, void const* source,
                           std::int64_t source_pitch, int rows, int row_bytes) {
    released_.require(i);
    slots_.place_at_base(i);
    auto* const to = slots_.base(i) + offset;
    auto const* const from = static_cast<std::byte const*>(source);
    if (!detail::rows_aligned(to, pitch, from, source_pitch, row_bytes)) {
      for (int r = 0; r < rows; ++r) { piece(to + r * pitch, from + r * source_pitch, row_bytes); }
      return;
    }
    int const in_row = row_bytes / VectorBytes;
    detail::copy_words<word, Unroll, Group::threads>(
        rows * in_row, Group::rank(),
        [&](int k) {
          return reinterpret_cast<word const*>(from + k / in_row * source_pitch) + k % in_row;
        },
        [&](int k) { return reinterpret_cast<word*>(to + k / in_row * pitch) + k % in_row; });
  }

  __device__ void commit(int) {}

  __device__ std::byte const* wait(int i) {
    released_.sync();
    return slots_.tile(i);
  }

  __device__ void release(int i) { released_.release(i); }

 private:
  __device__ static void piece(std::byte* to, void const* source, int bytes) {
    auto const* const from = static_cast<std::byte const*>(source);
    if (!detail::congruent<VectorBytes>(to, from)) {
      detail::copy_bytes<Group::threads>(to, from, bytes, Group::rank());
      return;
    }
    auto const at = detail::split_at<VectorBytes>(from, bytes);
    auto const* const words = reinterpret_cast<word const*>(from + at.head);
    auto* const stored = reinterpret_cast<word*>(to + at.head);
    detail::copy_words<word, Unroll, Group::threads>(
        at.units, Group::rank(), [&](int k) { return words + k; },
        [&](int k) { return stored + k; });
    detail::copy_ends<VectorBytes, Group::threads>(to, from, at, Group::rank());
  }

  slots slots_;
  detail::released_tiles<Group> released_;
};
static_assert(tile_pipeline_interface<tile_pipeline<regular<>, warp, 1024>>);

/// Straight into registers: no shared memory, no barrier.
template <int VectorBytes, int Unroll, class Group, int Vectors>
class vectors<regular<VectorBytes, Unroll>, Group, Vectors> {
  using word = detail::word<VectorBytes>;
  static constexpr int words = 16 / VectorBytes;

 public:
  static constexpr int stages = 1;
  static constexpr std::size_t storage_bytes = 0;

  __device__ explicit vectors(void*) {}

  __device__ void load(int, uint4 const* source, int count) {
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      int const at = k * Group::threads + Group::rank();
      if (at < count) { held_[k] = load_vector(source + at); }
    }
  }
  template <class SourceOf>
  __device__ void load_rows(int, int rows, int row_vectors, int stride, SourceOf const& source_of) {
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      int const at = k * Group::threads + Group::rank();
      auto const* from = detail::vector_of_rows(at, rows, row_vectors, stride, source_of);
      if (from != nullptr) { held_[k] = load_vector(from); }
    }
  }
  __device__ void wait(int) {}
  __device__ uint4 get(int, int k) const { return held_[k]; }
  __device__ void release(int) {}

 private:
  __device__ static uint4 load_vector(uint4 const* from) {
    struct alignas(16) parts {
      word at[words];
    } both;
#pragma unroll
    for (int k = 0; k < words; ++k) { both.at[k] = reinterpret_cast<word const*>(from)[k]; }
    return __builtin_bit_cast(uint4, both);
  }

  uint4 held_[static_cast<std::size_t>(Vectors)];
};

}  // namespace assay::copy
