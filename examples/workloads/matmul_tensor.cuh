// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arithmetic of `matmul<bfloat16>`: `wgmma` where it is compiled for sm_90a, else `mma.sync`.
#pragma once

#include "matmul_tiles.hpp"
#include "tile_producer.cuh"

#include <assay/core/bfloat16.hpp>
#include <assay/kernel/mma.cuh>
#include <assay/kernel/wgmma.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::workloads {

namespace detail {

/// Exchanges words among four neighbouring lanes, so that lane q has what all had as word q.
__device__ inline void transpose_quad(unsigned (&word)[4], int lane) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
    bool const upper = (lane & bit) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & bit) != 0) { continue; }
      unsigned const sent = upper ? word[i] : word[i + bit];
      unsigned const received = __shfl_xor_sync(0xFFFFFFFFU, sent, bit);
      (upper ? word[i] : word[i + bit]) = received;
    }
  }
}

/// Stores 16 rows of an accumulator, `Count / 4` times 8 columns that begin at `col`: after an
/// exchange each lane has 8 neighbours of a row, which it stores at once.
template <int Count>
__device__ void store_band(float const (&d)[Count], bfloat16* c, std::int64_t pitch,
                           matmul_shape shape, int row, int col) {
  int const lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < Count; i += 16) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned word[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        int const at = i + 4 * w + 2 * half;
        word[w] = kernel::as_bfloat16_pair(d[at], d[at + 1]);
      }
      transpose_quad(word, lane);
      int const r = row + lane / 4 + 8 * half;
      int const s = col + i * 2 + lane % 4 * 8;
      if (r >= shape.m || s >= shape.n) { continue; }
      bfloat16* const to = c + r * pitch + s;
      if (s + 8 <= shape.n) {
        *reinterpret_cast<uint4*>(to) = uint4{word[0], word[1], word[2], word[3]};
      } else {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          if (s + e < shape.n) {
            to[e].bits = static_cast<std::uint16_t>(word[e / 2] >> (16 * (e % 2)));
          }
        }
      }
    }
  }
}

}  // namespace detail

/// Two warpgroups with 64 rows of a tile of 128 x 256 each, and a third that fills the ring: 48 KiB
/// a slot, four of them in shared memory. The accumulators are 128 registers a thread; the
/// producers give up what the readers take: 2 x 208 + 88 are the 3 x 168 that the block begins
/// with.
class wgmma_core {
 public:
  using value_type = bfloat16;
  static constexpr std::string_view instruction = "wgmma";
  static constexpr int m = 128;
  static constexpr int n = 256;
  static constexpr int k = 64;
  static constexpr int readers = 256;
  static constexpr int producers = 128;
  static constexpr int threads = readers + producers;
  static constexpr unsigned consumer_arrivals = readers / 32;
  using pair = copy::tile_pair<copy::swizzled_tile<bfloat16, m, k>,
                               copy::swizzled_tile<bfloat16, k, n>, producers, true>;

  template <class Filler>
  using beside = wgmma_core;

  __device__ static void become_filler() { kernel::setmaxnreg_dec<88>(); }
  __device__ static void become_reader() { kernel::setmaxnreg_inc<208>(); }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < 128; ++i) { sum_[i] = 0; }
  }

  template <class Ring>
  __device__ void multiply(Ring const& ring, typename Ring::position& at, int k_blocks) {
    unsigned const own_rows = threadIdx.x / 128 * 64 * tile_a::row_bytes;
    kernel::wgmma_slots(ring, at, k_blocks, sum_,
                        [&](unsigned slot) { start(slot + own_rows, slot + tile_a::bytes); });
  }

  __device__ void store(bfloat16* c, std::int64_t pitch, matmul_shape shape,
                        tile_position tile) const {
    int const row = tile.row * m + static_cast<int>(threadIdx.x / 32) * 16;
    detail::store_band(sum_, c, pitch, shape, row, tile.col * n);
  }

  /// The distance in bytes from the descriptors of 16 values of k to the next, within A's rows of
  /// 128 and by 16 of B's.
  static constexpr unsigned a_step_bytes = 32;
  static constexpr unsigned b_step_bytes = 16 * 128;

  __device__ static constexpr std::uint64_t describe_a(unsigned address) {
    return kernel::wgmma_descriptor(address, 16, 8 * 128);
  }
  __device__ static constexpr std::uint64_t describe_b(unsigned address) {
    return kernel::wgmma_descriptor(address, pair::b::panel_bytes, 8 * 128);
  }

 private:
  using tile_a = pair::a;

  __device__ void start(unsigned a, unsigned b) {
    auto const a_at = describe_a(a);
    auto const b_at = describe_b(b);
#pragma unroll
    for (unsigned i = 0; i < k / 16; ++i) {
      kernel::wgmma_m64n256k16(sum_, a_at + i * (a_step_bytes / 16),
                               b_at + i * (b_step_bytes / 16));
    }
  }

  float sum_[128];
};

/// The same tile by eight warps of 64 x 64 and the instructions of compute capability 8.0. Two
/// warps fill the ring.
class mma_core {
 public:
  using value_type = bfloat16;
  static constexpr std::string_view instruction = "mma.sync";
  static constexpr int m = 128;
  static constexpr int n = 256;
  static constexpr int k = 64;
  static constexpr int readers = 256;
  static constexpr int producers = 64;
  static constexpr int threads = readers + producers;
  static constexpr unsigned consumer_arrivals = readers / 32;
  using pair = copy::tile_pair<copy::swizzled_tile<bfloat16, m, k>,
                               copy::swizzled_tile<bfloat16, k, n>, producers, false>;

  template <class Filler>
  using beside = mma_core;

  __device__ static void become_filler() {}
  __device__ static void become_reader() {}

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < bands; ++i) {
#pragma unroll
      for (int j = 0; j < 4 * groups; ++j) { sum_[i][j / 4][j % 4] = 0; }
    }
  }

  template <class Ring>
  __device__ void multiply(Ring const& ring, typename Ring::position& at, int k_blocks) {
    for (int block = 0; block < k_blocks; ++block, at.advance()) {
      ring.await_full(at);
#pragma unroll 1  // more would not fit in the registers
      for (int step = 0; step < k / 16; ++step) { multiply_step(ring.slot(at), step); }
      __syncwarp();
      if (threadIdx.x % 32 == 0) { ring.release(at); }
    }
  }

  __device__ void store(bfloat16* c, std::int64_t pitch, matmul_shape shape,
                        tile_position tile) const {
#pragma unroll
    for (int i = 0; i < bands; ++i) {
      float flat[4 * groups];
#pragma unroll
      for (int j = 0; j < 4 * groups; ++j) { flat[j] = sum_[i][j / 4][j % 4]; }
      detail::store_band(flat, c, pitch, shape, tile.row * m + row() + 16 * i,
                         tile.col * n + warp() % 4 * 64);
    }
  }

  /// The place where lane `lane` has its row of the matrices that make up a fragment of A (16 rows
  /// from `row`) or B (16 columns, of panel `panel`), for 16 values of k.
  __host__ __device__ static constexpr int a_offset(int row, int step, int lane) {
    return pair::a::chunk_offset(0, row + lane % 16, step * 2 + lane / 16);
  }
  __host__ __device__ static constexpr int b_offset(int panel, int pair_of_groups, int step,
                                                    int lane) {
    return pair::b::chunk_offset(panel, step * 16 + lane % 16, pair_of_groups * 2 + lane / 16);
  }

 private:
  static constexpr int bands = 4;   ///< of 16 rows
  static constexpr int groups = 8;  ///< of 8 columns

  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }
  __device__ static int row() { return warp() / 4 * 64; }

  __device__ void multiply_step(std::byte const* slot, int step) {
    unsigned a[bands][4];
#pragma unroll
    for (int i = 0; i < bands; ++i) {
      kernel::load_matrices(a[i], slot + a_offset(row() + 16 * i, step, lane()));
    }
#pragma unroll
    for (int j = 0; j < groups; j += 2) {
      unsigned b[4];
      kernel::load_matrices_transposed(
          b, slot + pair::a::bytes + b_offset(warp() % 4, j / 2, step, lane()));
#pragma unroll
      for (int i = 0; i < bands; ++i) {
        kernel::mma_m16n8k16(sum_[i][j], a[i], b[0], b[1]);
        kernel::mma_m16n8k16(sum_[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }

  float sum_[bands][groups][4];
};

}  // namespace assay::workloads
