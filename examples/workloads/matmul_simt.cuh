// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arithmetic of `matmul<float>`: FFMA, no tensor cores.
#pragma once

#include "matmul_tiles.hpp"
#include "tile_producer.cuh"

#include <assay/kernel/wgmma.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace assay::workloads {

/// Eight warps that multiply, each thread 16 x 8 of C or 8 x 8, and others that fill the ring.
///
/// A part of 16 x 8 takes 128 FFMA, which need 6 loads of 16 bytes from shared memory. These loads
/// are three eighths of its bandwidth where neighbours share them; for 8 x 8 they are half. A part
/// of 16 x 8 takes 128 accumulators and 80 registers for fragments, and a thread has 168 from 9
/// warps on. So the shape is `Wide` where warps can hand registers over, which is on sm_90a. There
/// two warpgroups take what the producers leave of the 3 x 168 that the block begins with:
/// `FillerRegisters` is what these need.
///
/// The limit are the two banks of registers, even and odd: each gives an operand a cycle, and an
/// FFMA has three. One of them is kept from the FFMA before (`reuse` in SASS), and the other two
/// should differ in their banks. Along a row A's value is kept; B's value j is in bank j % 2, since
/// it was loaded by 16 bytes; and so the sum of column j belongs in the other. Along a column no
/// bank is right for a sum, since A's value of k is in bank k % 2. Rows of 16 x 8 are so short that
/// the compiler mostly goes along rows. Against 8 x 16, cycles in which a warp waits to read
/// registers fell from 0.94 to 0.36 per instruction (H200, `smsp` dispatch stalls), and the time by
/// a sixth.
template <bool Wide, int FillerRegisters = 40>
class simt_core {
 public:
  using value_type = float;
  static constexpr std::string_view instruction = "FFMA";
  static constexpr int m = 128;
  static constexpr int n = Wide ? 256 : 128;
  static constexpr int k = 32;
  static constexpr int readers = 256;
  static constexpr int producers = Wide ? 128 : 64;
  static constexpr int threads = readers + producers;
  static constexpr unsigned consumer_arrivals = readers / 32;
  using pair = copy::tile_pair<copy::swizzled_tile<float, m, k>, copy::swizzled_tile<float, k, n>,
                               producers, false>;
  /// The same core beside producers of this kind.
  template <class Filler>
  using beside = simt_core<Wide, Filler::registers>;

  __device__ static void become_filler() {
    if constexpr (Wide) { kernel::setmaxnreg_dec<FillerRegisters>(); }
  }
  __device__ static void become_reader() {
    if constexpr (Wide) { kernel::setmaxnreg_inc<reader_registers>(); }
  }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < cols; ++j) { sum_[i][j] = 0; }
    }
  }

  template <class Ring>
  __device__ void multiply(Ring const& ring, typename Ring::position& at, int k_blocks) {
    int const col = map::warp_col(warp());
    for (int block = 0; block < k_blocks; ++block, at.advance()) {
      ring.await_full(at);
      auto const* const a = ring.slot(at) + map::row(thread(), 0) * tile_a::row_bytes;
      auto const* const b =
          ring.slot(at) + tile_a::bytes + col / tile_b::panel_cols * tile_b::panel_bytes;
#pragma unroll 1
      for (int step = 0; step < k; step += unrolled) { multiply_step(a, b, step); }
      __syncwarp();
      if (lane() == 0) { ring.release(at); }
    }
  }

  /// Each sum is exchanged with its own lane on the way, so that it may be in any register. Stored
  /// as it is, by 16 bytes, that of column j would be in bank j % 2, which is B's: 1 to 8 % slower.
  __device__ void store(float* c, std::int64_t pitch, matmul_shape shape,
                        tile_position tile) const {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      int const r = tile.row * m + map::row(thread(), i);
#pragma unroll
      for (int j = 0; j < cols; j += 4) {
        int const s = tile.col * n + map::col(thread(), j);
        float value[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) { value[e] = __shfl_sync(0xFFFFFFFFU, sum_[i][j + e], lane()); }
        if (r >= shape.m) { continue; }
        float* const to = c + r * pitch + s;
        if (s + 4 <= shape.n) {
          *reinterpret_cast<float4*>(to) = float4{value[0], value[1], value[2], value[3]};
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (s + e < shape.n) { to[e] = value[e]; }
          }
        }
      }
    }
  }

 private:
  using tile_a = typename pair::a;
  using tile_b = typename pair::b;
  static constexpr int rows = Wide ? 16 : 8;
  static constexpr int cols = 8;
  using map = thread_tiles<n, rows, cols>;
  static_assert(map::warp_rows * map::warp_cols * (readers / 32) == m * n);
  static constexpr int reader_registers = (3 * 168 - FillerRegisters) / 2;
  /// Values of k in one body of the loop: the period of the swizzle, and 18 KiB of code. With all
  /// 32, 70 KiB, warps wait for instructions: a fifth slower.
  static constexpr int unrolled = 8;
  /// Values of k that A is loaded by: 16 bytes, or 8 where registers are short.
  static constexpr int a_depth = Wide && reader_registers >= 232 ? 4 : 2;
  using a_values = std::conditional_t<a_depth == 4, float4, float2>;

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int warp() { return thread() / 32; }

  /// `a_depth` values of k for each of the thread's rows, which are all swizzled alike.
  __device__ static void load_a(float (&to)[a_depth][rows], std::byte const* a, int at) {
    int const chunk = copy::swizzled_chunk(map::lane_row(lane()), at / 4);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      auto const* const from = a + i * map::row_step * tile_a::row_bytes + chunk * 16 + at % 4 * 4;
      auto const values = *reinterpret_cast<a_values const*>(from);
      to[0][i] = values.x;
      to[1][i] = values.y;
      if constexpr (a_depth == 4) {
        to[2][i] = values.z;
        to[3][i] = values.w;
      }
    }
  }
  /// One value of k for each of the thread's columns; `at % 8` is a constant.
  __device__ static void load_b(float4 (&to)[cols / 4], std::byte const* b, int at) {
#pragma unroll
    for (int j = 0; j < cols / 4; ++j) {
      to[j] = *reinterpret_cast<float4 const*>(
          b + tile_b::chunk_offset(0, at, map::lane_col(lane()) + j * map::col_step / 4));
    }
  }

  __device__ void multiply_step(std::byte const* a, std::byte const* b, int step) {
    float row_values[2][a_depth][rows];
    float4 col_values[2][cols / 4];
    load_a(row_values[0], a, step);
    load_b(col_values[0], b + step * tile_b::row_bytes, 0);
#pragma unroll
    for (int i = 0; i < unrolled; ++i) {
      if (i + 1 < unrolled) {
        load_b(col_values[(i + 1) % 2], b + step * tile_b::row_bytes, i + 1);
      }
      if (i % a_depth == 0 && i + a_depth < unrolled) {
        load_a(row_values[(i / a_depth + 1) % 2], a, step + i + a_depth);
      }
      add_products(row_values[i / a_depth % 2][i % a_depth], col_values[i % 2]);
    }
  }

  /// Along one row and back along the next, so that B's value at a turn is kept too.
  __device__ void add_products(float const (&a)[rows], float4 const (&b)[cols / 4]) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int step = 0; step < cols; ++step) {
        int const j = i % 2 == 0 ? step : cols - 1 - step;
        sum_[i][j] = fmaf(a[i], element(b[j / 4], j % 4), sum_[i][j]);
      }
    }
  }
  __device__ static float element(float4 const& of, int which) {
    return which == 0 ? of.x : which == 1 ? of.y : which == 2 ? of.z : of.w;
  }

  float sum_[rows][cols];
};

}  // namespace assay::workloads
