// SPDX-License-Identifier: Apache-2.0
/// @file
/// `copy::bulk` in kernels.
#pragma once

#include <assay/copy/bulk.hpp>
#include <assay/copy/concepts.cuh>
#include <assay/core/ptx.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::copy {

namespace detail {

/// True where this pass compiles for an architecture with bulk copies. In other code, kernels that
/// use them trap, also on a newer device. `require_code` on the host refuses to launch such code.
inline constexpr bool has_bulk = ptx::architecture >= 90;

/// The two barriers of each stage in shared memory: `full` ends a phase when a tile is there,
/// `empty` when all warps of the group have released it. The first warp of the group starts copies.
template <class Group, int Stages>
class bulk_stages {
 public:
  static constexpr int bytes = round_up(16 * Stages, static_cast<int>(storage_alignment));

  /// Collective over the group.
  __device__ explicit bulk_stages(void* storage) : full_(static_cast<std::uint64_t*>(storage)) {
    if constexpr (has_bulk) {
      if (Group::rank() == 0) {
        for (int s = 0; s < Stages; ++s) {
          ::cuda::ptx::mbarrier_init(full_ + s, 1U);
          ::cuda::ptx::mbarrier_init(full_ + Stages + s, static_cast<std::uint32_t>(warps));
        }
        // The accelerator must see the barriers as initialised.
        ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
      }
      Group::sync();
    } else {
      __trap();
    }
  }

  __device__ static bool starts_copies() { return Group::rank() < 32; }
  __device__ static int lane() { return Group::rank() % 32; }

  /// By the first warp: waits until the slot of `tile` is free, at the first piece of the tile.
  __device__ void open(int tile) {
    if (opened_ > tile) { return; }
    opened_ = tile + 1;
    if constexpr (warps == 1) {
      __syncwarp();
    } else {
      if (tile >= Stages) { wait_for(full_ + Stages + tile % Stages, tile / Stages - 1); }
    }
  }

  /// By one thread: starts a copy of `size` bytes, a multiple of 16 between such addresses. The
  /// bytes are expected before they can arrive, and the phase cannot end before `close`.
  __device__ void copy(int tile, void* to, void const* from, int size) {
    if constexpr (has_bulk) {
      auto* const barrier = full_ + tile % Stages;
      auto const count = static_cast<std::uint32_t>(size);
      ::cuda::ptx::mbarrier_expect_tx(::cuda::ptx::sem_relaxed, ::cuda::ptx::scope_cta,
                                      ::cuda::ptx::space_shared, barrier, count);
      ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_cluster, ::cuda::ptx::space_global, to, from,
                                 count, barrier);
    }
  }

  /// By the first warp: nothing more will be added to `tile`.
  __device__ void close(int tile) {
    if constexpr (has_bulk) {
      __syncwarp();  // the arrival releases the stores of all lanes
      if (lane() == 0) { ::cuda::ptx::mbarrier_arrive(full_ + tile % Stages); }
    }
  }

  __device__ void wait(int tile) { wait_for(full_ + tile % Stages, tile / Stages); }

  __device__ void release(int tile) {
    if constexpr (has_bulk && warps > 1) {
      __syncwarp();
      if (lane() == 0) { ::cuda::ptx::mbarrier_arrive(full_ + Stages + tile % Stages); }
    }
  }

  /// After bytes of a slot were stored by this thread, before the accelerator writes there again.
  __device__ static void order_stores() {
    if constexpr (has_bulk) { ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared); }
  }

 private:
  static constexpr int warps = Group::threads / 32;

  __device__ static void wait_for(std::uint64_t* barrier, int phase) {
    if constexpr (has_bulk) { ptx::await_parity(barrier, static_cast<unsigned>(phase & 1)); }
  }

  std::uint64_t* full_;
  int opened_ = 0;
};

}  // namespace detail

template <int Stages, class Group, int TileBytes>
class tile_pipeline<bulk<Stages>, Group, TileBytes> {
  using slots = detail::slots<Group, TileBytes, Stages>;
  using barriers = detail::bulk_stages<Group, Stages>;
  static constexpr int unit = 16;

 public:
  static constexpr int stages = Stages;
  static constexpr std::size_t storage_bytes = slots::bytes + barriers::bytes;

  __device__ explicit tile_pipeline(void* storage)
      : slots_(storage), barriers_(static_cast<std::byte*>(storage) + slots::bytes) {}

  __device__ void load(int i, void const* source, int bytes) {
    auto* const to = slots_.place_like(i, source);
    if (!barriers::starts_copies()) { return; }
    barriers_.open(i);
    piece(i, to, static_cast<std::byte const*>(source), bytes);
    barriers_.close(i);
  }

  __device__ void add_rows(int i, int offset, int pitch, void const* source,
                           std::int64_t source_pitch, int rows, int row_bytes) {
    slots_.place_at_base(i);
    if (!barriers::starts_copies()) { return; }
    barriers_.open(i);
    auto* const to = slots_.base(i) + offset;
    auto const* const from = static_cast<std::byte const*>(source);
    if (!detail::rows_aligned(to, pitch, from, source_pitch, row_bytes)) {
      for (int r = 0; r < rows; ++r) {
        piece(i, to + r * pitch, from + r * source_pitch, row_bytes);
      }
    } else if (row_bytes > 0) {
      for (int r = barriers::lane(); r < rows; r += 32) {
        barriers_.copy(i, to + r * pitch, from + r * source_pitch, row_bytes);
      }
    }
  }

  __device__ void commit(int i) {
    if (!barriers::starts_copies()) { return; }
    barriers_.open(i);
    barriers_.close(i);
  }

  __device__ std::byte const* wait(int i) {
    barriers_.wait(i);
    return slots_.tile(i);
  }

  __device__ void release(int i) { barriers_.release(i); }

 private:
  __device__ void piece(int i, std::byte* to, std::byte const* from, int bytes) {
    if (!detail::congruent<unit>(to, from)) {
      detail::copy_bytes<32>(to, from, bytes, barriers::lane());
      barriers::order_stores();
      return;
    }
    auto const at = detail::split_at<unit>(from, bytes);
    if (at.units > 0 && barriers::lane() == 0) {
      barriers_.copy(i, to + at.head, from + at.head, at.units * unit);
    }
    if (at.head + at.tail > 0) {
      detail::copy_ends<unit, 32>(to, from, at, barriers::lane());
      barriers::order_stores();
    }
  }

  slots slots_;
  barriers barriers_;
};
static_assert(tile_pipeline_interface<tile_pipeline<bulk<4>, warp, 1024>>);

template <int Stages, class Group, int Vectors>
class vectors<bulk<Stages>, Group, Vectors> {
  using barriers = detail::bulk_stages<Group, Stages>;
  static constexpr int slot = Group::threads * Vectors;

 public:
  static constexpr int stages = Stages;
  static constexpr std::size_t storage_bytes = std::size_t{16} * slot * Stages + barriers::bytes;

  __device__ explicit vectors(void* storage)
      : slots_(static_cast<uint4*>(storage)), barriers_(slots_ + slot * Stages) {}

  __device__ void load(int i, uint4 const* source, int count) {
    if (!barriers::starts_copies()) { return; }
    barriers_.open(i);
    if (barriers::lane() == 0 && count > 0) {
      barriers_.copy(i, slots_ + i % Stages * slot, source, count * 16);
    }
    barriers_.close(i);
  }
  template <class SourceOf>
  __device__ void load_rows(int i, int rows, int row_vectors, int stride,
                            SourceOf const& source_of) {
    if (!barriers::starts_copies()) { return; }
    barriers_.open(i);
    auto* const to = slots_ + i % Stages * slot;
    for (int r = barriers::lane(); r < rows && row_vectors > 0; r += 32) {
      barriers_.copy(i, to + r * stride, source_of(r), row_vectors * 16);
    }
    barriers_.close(i);
  }
  __device__ void wait(int i) { barriers_.wait(i); }
  __device__ uint4 get(int i, int k) const {
    return slots_[i % Stages * slot + k * Group::threads + Group::rank()];
  }
  __device__ void release(int i) { barriers_.release(i); }

 private:
  uint4* slots_;
  barriers barriers_;
};

}  // namespace assay::copy
