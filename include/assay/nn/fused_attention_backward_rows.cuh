// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to fused attention: rows of its gradients, in a block's registers.
#pragma once

#include <assay/nn/fused_attention.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::nn {
namespace detail {

/// Rows that have terms: whole blocks of the largest kind.
__host__ __device__ constexpr int padded_context(int context) {
  constexpr int rows = term_rows;
  return (context + rows - 1) / rows * rows;
}

/// The two terms of each row of scores, batch x heads x padded context elements of each.
struct row_terms {
  float* logarithms;  ///< in base 2; infinite behind the last position, so that p is zero there
  float* means;       ///< D

  __device__ row_terms of_head(int context) const {
    auto const first = static_cast<std::int64_t>(blockIdx.x) * padded_context(context);
    return {logarithms + first, means + first};
  }
};

/// The sum of the products of two pairs of bf16.
__device__ inline float dot_of_pairs(unsigned a, unsigned b) {
  constexpr unsigned upper = 0xFFFF'0000U;
  return __uint_as_float(a << 16U) * __uint_as_float(b << 16U) +
         __uint_as_float(a & upper) * __uint_as_float(b & upper);
}

}  // namespace detail

/// The tiles of a block: each warp has 16 rows, of keys if `OfKeys` and else of queries. 64 of the
/// others are on their way while as many are used, `step` at once.
template <int HeadSize, bool OfKeys>
struct backward_tiles {
  static constexpr int head_size = HeadSize;
  using products = detail::products_of<HeadSize>;
  static constexpr int columns = 64;
  static constexpr int step = products::columns;
  static constexpr bool of_keys = OfKeys;
  static constexpr int threads = 128;
  static constexpr int warp_rows = 16;
  static constexpr int rows = threads / 32 * warp_rows;
  using row_tile = detail::row_tile<rows, HeadSize>;
  using column_tile = detail::row_tile<columns, HeadSize>;
  /// As many as leave room for three blocks, or two of the largest heads, on a multiprocessor.
  static constexpr int slots = HeadSize == 64 ? 3 : 2;
  static constexpr int slot_bytes = 2 * column_tile::bytes;
  static constexpr int tile_bytes = 2 * row_tile::bytes + slots * slot_bytes;
  static constexpr int term_bytes = columns * static_cast<int>(sizeof(float));
  static constexpr int shared_bytes =
      detail::swizzle_bytes + tile_bytes + (OfKeys ? slots * 2 * term_bytes : 0);
  static_assert(128 % rows == 0 && columns % step == 0 && step % 16 == 0);
};

/// A warp's rows of gradients while columns pass by.
template <class Tiles>
class backward_rows {
  using products = typename Tiles::products;
  static constexpr int step = Tiles::step;
  using tile = typename Tiles::column_tile;
  using row_tile = typename Tiles::row_tile;
  using scores = float[static_cast<std::size_t>(step / 8)][4];
  using sums = float[Tiles::head_size / 8][4];
  /// A lane keeps the terms of its rows where the rows are queries; where the rows are keys, it
  /// reads the terms of its columns.
  using terms = float[Tiles::of_keys ? step / 8 : 1][2];

 public:
  /// `rows` has the tiles of keys and values, or of queries and gradients of outputs. `first_row`
  /// is the block's first position.
  __device__ backward_rows(std::byte const* rows, int first_row, float scale,
                           detail::row_terms const& row_terms)
      : first_(static_cast<int>(threadIdx.x / 32) * Tiles::warp_rows),
        first_row_(first_row + first_),
        scale_(scale),
        first_operand_{rows, first_},
        second_operand_{rows + row_tile::bytes, first_} {
    detail::clear(gradient_);
    if constexpr (Tiles::of_keys) {
      detail::clear(value_gradient_);
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int const row = first_row_ + 8 * half + detail::lane_of_warp() / 4;
        logarithms_[0][half] = row_terms.logarithms[row];
        means_[0][half] = row_terms.means[row];
      }
    }
  }

  /// The slot has tiles of queries and gradients of outputs, whose terms are apart, or of keys and
  /// values.
  __device__ void take(std::byte const* slot, float const* column_terms, int first_column) {
#pragma unroll 1
    for (int c = 0; c < Tiles::columns; c += step) {
      if (!hidden(first_column + c)) { take_step(slot, column_terms + c, c, first_column + c); }
    }
    // The copy that starts next fills this slot if there are two. If there are three, products go
    // on beside those of the next tile.
    if constexpr (Tiles::slots == 2) { await_all(); }
  }

  /// Arrays begin at the first of the block's `rows` positions. The tiles of the rows are the way
  /// out.
  __device__ void store(bfloat16* gradient, int stride, bfloat16* value_gradient, int value_stride,
                        int rows, std::byte* tiles, float const* turns) {
    await_all();
    if (turns != nullptr) { turn_back(turns, rows); }
    detail::store_sums<row_tile>(gradient, stride, rows, tiles, first_, gradient_,
                                 {scale_, scale_});
    if constexpr (Tiles::of_keys) {
      detail::store_sums<row_tile>(value_gradient, value_stride, rows, tiles + row_tile::bytes,
                                   first_, value_gradient_, {1, 1});
    }
  }

 private:
  __device__ void take_step(std::byte const* slot, float const* column_terms, int c, int column) {
    auto const* const second = slot + tile::bytes;
    scores p, ds;
    products::template start_transposed<tile>(p, first_operand_, slot, c);
    products::template start_transposed<tile>(ds, second_operand_, second, c);
    products::template await<1>(p);
    read_terms(logarithms_, column_terms);
    float const scale = scale_ * detail::log2_of_e;
    detail::for_each_sum(p, [&](float& s, detail::place_of_sum at) {
      s = detail::power_of_two(s * scale - term(logarithms_, at));
    });
    if (has_hidden(column)) {
      detail::for_each_sum(p, [&](float& s, detail::place_of_sum at) {
        int const ahead = column + at.column - first_row_ - at.row;
        if (Tiles::of_keys ? ahead < 0 : ahead > 0) { s = 0; }
      });
    }
    if constexpr (Tiles::of_keys) { products::template start<tile>(value_gradient_, p, second, c); }
    products::template await<Tiles::of_keys ? 1 : 0>(ds);
    read_terms(means_, column_terms + Tiles::columns);
    detail::for_each_sum(ds, [&](float& s, detail::place_of_sum at) {
      s = p[at.block][2 * at.half + at.side] * (s - term(means_, at));
    });
    products::template start<tile>(gradient_, ds, slot, c);
  }

  __device__ void await_all() {
    products::template await<0>(gradient_);
    if constexpr (Tiles::of_keys) { products::template await<0>(value_gradient_); }
  }

  /// As `rope` does; `turns` begins at the first of the block's `rows` positions.
  __device__ void turn_back(float const* turns, int rows) {
    int const lane = detail::lane_of_warp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int const row = first_ + 8 * half + lane / 4;
      auto const* const of_row = turns + row * Tiles::head_size + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < Tiles::head_size / 8 && row < rows; ++n) {
        auto const turn = *reinterpret_cast<float2 const*>(of_row + 8 * n);
        float &x = gradient_[n][2 * half], &y = gradient_[n][2 * half + 1];
        float const before = x;
        x = before * turn.x + y * turn.y;
        y = y * turn.x - before * turn.y;
      }
    }
  }

  /// Of queries behind the columns, or keys before them, no score is kept.
  __device__ bool hidden(int column) const {
    if (products::warps > 1) { return false; }
    return Tiles::of_keys ? column + step <= first_row_ : column >= first_row_ + Tiles::warp_rows;
  }
  __device__ bool has_hidden(int column) const {
    return Tiles::of_keys ? column < first_row_ + Tiles::warp_rows : column + step > first_row_;
  }
  __device__ static void read_terms(terms& to, float const* from) {
    if constexpr (Tiles::of_keys) {
#pragma unroll
      for (int n = 0; n < step / 8; ++n) {
        auto const two =
            *reinterpret_cast<float2 const*>(from + 8 * n + detail::lane_of_warp() % 4 * 2);
        to[n][0] = two.x;
        to[n][1] = two.y;
      }
    }
  }
  __device__ static float term(terms const& of, detail::place_of_sum at) {
    return Tiles::of_keys ? of[at.block][at.side] : of[0][at.half];
  }

  int first_;      ///< the warp's first row in the block
  int first_row_;  ///< its position
  float scale_;
  detail::rows_in_shared<row_tile> first_operand_;
  detail::rows_in_shared<row_tile> second_operand_;
  terms logarithms_;
  terms means_;
  sums gradient_;
  sums value_gradient_;  ///< of keys alone
};

}  // namespace assay::nn
