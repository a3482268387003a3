// SPDX-License-Identifier: Apache-2.0
/// @file
/// `copy::cp_async` in kernels.
#pragma once

#include <assay/copy/concepts.cuh>
#include <assay/copy/cp_async.hpp>

#include <cuda_pipeline_primitives.h>

#include <cstddef>
#include <cstdint>

namespace assay::copy {

namespace detail {

/// The groups of asynchronous copies of one thread, one group for each tile.
template <int Stages>
class copy_groups {
 public:
  __device__ void commit(int tile) {
    __pipeline_commit();
    committed_ = tile + 1;
  }
  /// Waits until this thread's copies of `tile` have arrived.
  ///
  /// The instruction takes a constant, so there are two: for kernels that keep all stages on their
  /// way, and for kernels that load the next tile only after this wait. Near the end, where fewer
  /// tiles are on their way, the wait is for all of them.
  __device__ void wait(int tile) const {
    int const behind = committed_ - 1 - tile;
    if (behind >= Stages - 1) {
      __pipeline_wait_prior(Stages - 1);
      return;
    }
    if constexpr (Stages > 2) {
      if (behind == Stages - 2) {
        __pipeline_wait_prior(Stages - 2);
        return;
      }
    }
    __pipeline_wait_prior(0);
  }

 private:
  int committed_ = 0;
};

}  // namespace detail

template <int Stages, class Group, int TileBytes>
class tile_pipeline<cp_async<Stages>, Group, TileBytes> {
  using slots = detail::slots<Group, TileBytes, Stages>;
  static constexpr int unit = 16;

 public:
  static constexpr int stages = Stages;
  static constexpr std::size_t storage_bytes = slots::bytes;

  __device__ explicit tile_pipeline(void* storage) : slots_(storage) {}

  __device__ void load(int i, void const* source, int bytes) {
    released_.require(i - Stages + 1);
    piece(slots_.place_like(i, source), source, bytes);
    commit(i);
  }

  __device__ void add_rows(int i, int offset, int pitch, void const* source,
                           std::int64_t source_pitch, int rows, int row_bytes) {
    released_.require(i - Stages + 1);
    slots_.place_at_base(i);
    auto* const to = slots_.base(i) + offset;
    auto const* const from = static_cast<std::byte const*>(source);
    if (!detail::rows_aligned(to, pitch, from, source_pitch, row_bytes)) {
      for (int r = 0; r < rows; ++r) { piece(to + r * pitch, from + r * source_pitch, row_bytes); }
      return;
    }
    int const in_row = row_bytes / unit;
    for (int k = Group::rank(); k < rows * in_row; k += Group::threads) {
      __pipeline_memcpy_async(to + k / in_row * pitch + k % in_row * unit,
                              from + k / in_row * source_pitch + k % in_row * unit, unit);
    }
  }

  __device__ void commit(int i) { groups_.commit(i); }

  __device__ std::byte const* wait(int i) {
    groups_.wait(i);
    released_.sync();
    return slots_.tile(i);
  }

  __device__ void release(int i) { released_.release(i); }

 private:
  __device__ static void piece(std::byte* to, void const* source, int bytes) {
    auto const* const from = static_cast<std::byte const*>(source);
    if (!detail::congruent<unit>(to, from)) {
      detail::copy_bytes<Group::threads>(to, from, bytes, Group::rank());
      return;
    }
    auto const at = detail::split_at<unit>(from, bytes);
    for (int k = Group::rank(); k < at.units; k += Group::threads) {
      int const there = at.head + k * unit;
      __pipeline_memcpy_async(to + there, from + there, unit);
    }
    detail::copy_ends<unit, Group::threads>(to, from, at, Group::rank());
  }

  slots slots_;
  detail::released_tiles<Group> released_;
  detail::copy_groups<Stages> groups_;
};
static_assert(tile_pipeline_interface<tile_pipeline<cp_async<2>, warp, 1024>>);

/// Each thread copies what it will read, so none waits for another.
template <int Stages, class Group, int Vectors>
class vectors<cp_async<Stages>, Group, Vectors> {
 public:
  static constexpr int stages = Stages;
  static constexpr std::size_t storage_bytes = std::size_t{16} * Group::threads * Vectors * Stages;

  __device__ explicit vectors(void* storage)
      : mine_(static_cast<uint4*>(storage) + Group::rank()) {}

  __device__ void load(int i, uint4 const* source, int count) {
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      int const at = k * Group::threads + Group::rank();
      if (at < count) { __pipeline_memcpy_async(slot(i) + k * Group::threads, source + at, 16); }
    }
    groups_.commit(i);
  }
  template <class SourceOf>
  __device__ void load_rows(int i, int rows, int row_vectors, int stride,
                            SourceOf const& source_of) {
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      int const at = k * Group::threads + Group::rank();
      auto const* from = detail::vector_of_rows(at, rows, row_vectors, stride, source_of);
      if (from != nullptr) { __pipeline_memcpy_async(slot(i) + k * Group::threads, from, 16); }
    }
    groups_.commit(i);
  }
  __device__ void wait(int i) { groups_.wait(i); }
  __device__ uint4 get(int i, int k) const { return slot(i)[k * Group::threads]; }
  __device__ void release(int) {}

 private:
  __device__ uint4* slot(int i) const { return mine_ + i % Stages * (Group::threads * Vectors); }

  uint4* mine_;
  detail::copy_groups<Stages> groups_;
};

}  // namespace assay::copy
