// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to fused attention: its products, by each warp alone, or by the four warps of a
/// warpgroup together where the code is compiled for sm_90a.
///
/// Both keep sums as `warp_products.cuh` says. Products are started, in order, and awaited.
#pragma once

#include <assay/core/ptx.cuh>
#include <assay/kernel/wgmma_narrow.cuh>
#include <assay/nn/warp_products.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::nn::detail {

/// Tiles of rows of 128 bytes are permuted as `wgmma` reads them, from a multiple of so many bytes.
inline constexpr int swizzle_bytes = 1024;

/// The first such address from one on, `swizzle_bytes` or less behind it.
__device__ inline std::byte* swizzle_aligned(std::byte* at) {
  return at + (-kernel::shared_address(at) & (swizzle_bytes - 1U));
}

/// By `mma.sync`.
struct products_by_warp {
  static constexpr int warps = 1;           ///< that work together
  static constexpr int columns = 32;        ///< of the gradient's scores, at once
  static constexpr int blocks = 1;          ///< that a multiprocessor has registers for
  static constexpr int forward_blocks = 1;  ///< the same of the forward kernel

  /// 16 rows of a tile, as a left operand that is used for many tiles.
  template <class Tile>
  using kept_rows = rows_in_registers<Tile>;

  __device__ static void settle_copies() {}
  template <class Tile, class Left, std::size_t Blocks>
  __device__ static void start_transposed(float (&sum)[Blocks][4], Left const& left,
                                          std::byte const* tile, int first) {
    clear(sum);
    multiply_transposed<Tile>(sum, left, tile, first);
  }
  template <class Tile, std::size_t Blocks, std::size_t Inner>
  __device__ static void start(float (&sum)[Blocks][4], float const (&left)[Inner][4],
                               std::byte const* tile, int first) {
    multiply<Tile>(sum, left, tile, first);
  }
  template <int Pending, std::size_t Blocks>
  __device__ static void await(float (&)[Blocks][4]) {}
};

/// By `wgmma`, of tiles of 64 rows. Of the ways to share the registers among more blocks or more
/// columns at once, these were the fastest on an H200.
template <int HeadSize>
struct products_by_warpgroup {
  static constexpr int warps = 4;
  static constexpr int columns = HeadSize < 128 ? 32 : 64;
  static constexpr int blocks = HeadSize < 128 ? 3 : 2;
  static constexpr int forward_blocks = HeadSize == 64 ? 4 : 2;
  template <class Tile>
  using kept_rows = rows_in_shared<Tile>;

  /// Makes a thread's finished copies visible to `wgmma`, before a barrier.
  __device__ static void settle_copies() {
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  }

  /// sum = left x tile^T, of all 64 rows of the left tile. The columns of the sums are rows of the
  /// other, from `first` on.
  template <class Tile, class Left, std::size_t Blocks>
  __device__ static void start_transposed(float (&sum)[Blocks][4], Left const& left,
                                          std::byte const* tile, int first) {
    static_assert(Tile::rows == 64);
    kernel::wgmma_fence();
#pragma unroll
    for (int i = 0; i < Tile::cols / 16; ++i) {
      multiply_rows(i == 0, sum, columns_of<Tile>(left.tile, 0, i),
                    columns_of<Tile>(tile, first, i));
    }
    kernel::wgmma_commit();
  }

  /// sum += left x tile, where `left` are sums, rounded to bf16. Their columns meet the rows of the
  /// tile from `first` on.
  template <class Tile, std::size_t Blocks, std::size_t Inner>
  __device__ static void start(float (&sum)[Blocks][4], float const (&left)[Inner][4],
                               std::byte const* tile, int first) {
    static_assert(Tile::rows == 64 && int{Blocks} == Tile::chunks);
    unsigned a[Inner / 2][4];
#pragma unroll
    for (int i = 0; i < int{2 * Inner}; ++i) {
      auto const& from = left[i / 2];
      a[i / 4][i % 4] = kernel::as_bfloat16_pair(from[i % 2 * 2], from[i % 2 * 2 + 1]);
    }
    kernel::wgmma_fence();
#pragma unroll
    for (int i = 0; i < int{Inner / 2}; ++i) {
#pragma unroll
      for (int n = 0; n < Tile::panels; ++n) {
        kernel::wgmma_m64n64k16(part<8>(sum, 8 * n), a[i], panel<Tile>(tile, n, first + 16 * i));
      }
      if constexpr (Tile::has_rest) {
        kernel::wgmma_m64n16k16(part<2>(sum, 8 * Tile::panels), a[i],
                                rest<Tile>(tile, first + 16 * i));
      }
    }
    kernel::wgmma_commit();
  }

  /// Until at most `Pending` of the products that were started go on, and `sum` is not among them.
  template <int Pending, std::size_t Blocks>
  __device__ static void await(float (&sum)[Blocks][4]) {
    kernel::wgmma_wait<Pending>();
    kernel::wgmma_settle(part<Blocks>(sum, 0));
  }

 private:
  template <std::size_t Count, std::size_t Blocks>
  __device__ static float (&part(float (&sum)[Blocks][4], int first))[4 * Count] {
    return reinterpret_cast<float(&)[4 * Count]>(sum[first]);
  }
  __device__ static void multiply_rows(bool fresh, float (&sum)[8][4], std::uint64_t a,
                                       std::uint64_t b) {
    fresh ? kernel::wgmma_m64n64k16<true>(part<8>(sum, 0), a, b)
          : kernel::wgmma_m64n64k16<false>(part<8>(sum, 0), a, b);
  }
  __device__ static void multiply_rows(bool fresh, float (&sum)[4][4], std::uint64_t a,
                                       std::uint64_t b) {
    fresh ? kernel::wgmma_m64n32k16<true>(part<4>(sum, 0), a, b)
          : kernel::wgmma_m64n32k16<false>(part<4>(sum, 0), a, b);
  }
  /// What a descriptor adds for so many bytes.
  __device__ static constexpr unsigned further(int bytes) {
    return static_cast<unsigned>(bytes) / 16;
  }
  /// Rows of a panel from a multiple of eight on. Groups of eight lie behind each other, whether
  /// rows or columns are the inner dimension.
  template <class Tile>
  __device__ static std::uint64_t panel(std::byte const* tile, int n, int first) {
    return kernel::wgmma_descriptor(kernel::shared_address(tile), 16, 8 * Tile::panel_row_bytes) +
           further(n * Tile::panel_bytes + first * Tile::panel_row_bytes);
  }
  template <class Tile>
  __device__ static std::uint64_t rest(std::byte const* tile, int first) {
    return kernel::wgmma_descriptor(kernel::shared_address(tile), 16, 8 * Tile::rest_row_bytes,
                                    kernel::wgmma_swizzle::over_32_bytes) +
           further(Tile::panels * Tile::panel_bytes + first * Tile::rest_row_bytes);
  }
  /// 16 columns from 16 * step on.
  template <class Tile>
  __device__ static std::uint64_t columns_of(std::byte const* tile, int first, int step) {
    if (step / 4 == Tile::panels) { return rest<Tile>(tile, first); }
    return panel<Tile>(tile, step / 4, first) + further(step % 4 * 32);
  }
};

template <int HeadSize>
using products_of =
    std::conditional_t<kernel::has_wgmma, products_by_warpgroup<HeadSize>, products_by_warp>;

}  // namespace assay::nn::detail
