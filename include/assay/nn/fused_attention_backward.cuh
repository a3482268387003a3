// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of the gradient of causal attention on bf16. They compute scores twice and add
/// nothing to what other blocks have written, so equal inputs give equal bits.
///
/// With p = exp(scale q k^T - logarithm) and D = sum(d_o o) of each row, the gradient of the scores
/// is ds = p (d_o v^T - D). Then d_q = scale ds k, d_k = scale ds^T q and d_v = p^T d_o (Dao,
/// 2023). A block has rows of queries for d_q, or rows of keys for d_k and d_v. The others pass by
/// as columns.
#pragma once

#include <assay/nn/fused_attention.cuh>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

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

/// The tiles of a backward kernel: each warp has 16 rows, of keys if `OfKeys` and else of queries.
/// 64 of the others are on their way while as many are used, 32 at once.
template <int HeadSize, bool OfKeys>
struct backward_tiles {
  static constexpr int head_size = HeadSize;
  static constexpr int columns = 64;
  static constexpr int step = 32;
  static constexpr bool of_keys = OfKeys;
  static constexpr int threads = 128;
  static constexpr int warp_rows = 16;
  static constexpr int rows = threads / 32 * warp_rows;
  using row_tile = detail::row_tile<rows, HeadSize>;
  using column_tile = detail::row_tile<columns, HeadSize>;
  static constexpr int term_bytes = columns * static_cast<int>(sizeof(float));
  static constexpr int slot_bytes = 2 * column_tile::bytes + (OfKeys ? 2 * term_bytes : 0);
  static constexpr int shared_bytes = 2 * row_tile::bytes + 2 * slot_bytes;
  static_assert(128 % rows == 0 && columns % step == 0 && step % 16 == 0);
};

/// A warp's rows of gradients while columns pass by.
template <class Tiles>
class backward_rows {
  static constexpr int step = Tiles::step;
  using tile = typename Tiles::column_tile;
  using row_tile = typename Tiles::row_tile;
  using scores = float[step / 8][4];
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

  /// The slot has tiles of queries and gradients of outputs and their terms, or of keys and values.
  __device__ void take(std::byte const* slot, int first_column) {
#pragma unroll 1
    for (int c = 0; c < Tiles::columns; c += step) {
      if (!hidden(first_column + c)) { take_step(slot, c, first_column + c); }
    }
  }

  /// Arrays begin at the first of the block's `rows` positions. The tiles of the rows are the way
  /// out.
  __device__ void store(bfloat16* gradient, int stride, bfloat16* value_gradient, int value_stride,
                        int rows, std::byte* tiles) const {
    detail::store_sums<row_tile>(gradient, stride, rows, tiles, first_, gradient_,
                                 {scale_, scale_});
    if constexpr (Tiles::of_keys) {
      detail::store_sums<row_tile>(value_gradient, value_stride, rows, tiles + row_tile::bytes,
                                   first_, value_gradient_, {1, 1});
    }
  }

 private:
  __device__ void take_step(std::byte const* slot, int c, int column) {
    auto const* const second = slot + tile::bytes;
    auto const* const column_terms = reinterpret_cast<float const*>(second + tile::bytes) + c;
    scores p, ds;
    detail::clear(p);
    detail::multiply_transposed<tile>(p, first_operand_, slot, c);
    read_terms(logarithms_, column_terms);
    bool const crossing = crosses_diagonal(column);
    float const scale = scale_ * detail::log2_of_e;
    detail::for_each_sum(p, [&](float& s, detail::place_of_sum at) {
      s = detail::power_of_two(s * scale - term(logarithms_, at));
      int const ahead = column + at.column - first_row_ - at.row;
      if (crossing && (Tiles::of_keys ? ahead < 0 : ahead > 0)) { s = 0; }
    });
    if constexpr (Tiles::of_keys) { detail::multiply<tile>(value_gradient_, p, second, c); }
    detail::clear(ds);
    detail::multiply_transposed<tile>(ds, second_operand_, second, c);
    read_terms(means_, column_terms + Tiles::columns);
    detail::for_each_sum(ds, [&](float& s, detail::place_of_sum at) {
      s = p[at.block][2 * at.half + at.side] * (s - term(means_, at));
    });
    detail::multiply<tile>(gradient_, ds, slot, c);
  }

  /// Of queries behind the columns, or keys before them, no score is kept.
  __device__ bool hidden(int column) const {
    return Tiles::of_keys ? column + step <= first_row_ : column >= first_row_ + Tiles::warp_rows;
  }
  __device__ bool crosses_diagonal(int column) const {
    return column < first_row_ + Tiles::warp_rows && column + step > first_row_;
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

/// The arrays of a backward kernel; `second_out` is used where rows are keys.
struct backward_arrays {
  head_rows<bfloat16 const> first_rows, second_rows;
  head_rows<bfloat16 const> first_columns, second_columns;
  head_rows<bfloat16> first_out, second_out;
};

/// The shared memory of a block of a backward kernel: the tiles of its rows, and two slots for
/// columns.
template <class Tiles>
struct backward_copies {
  using row_tile = typename Tiles::row_tile;
  using tile = typename Tiles::column_tile;
  detail::attention_head head;
  backward_arrays const& arrays;
  detail::row_terms terms;  ///< of this head

  __device__ static std::byte* rows() { return kernel::dynamic_shared(); }
  __device__ static std::byte* slot(int i) {
    return rows() + 2 * row_tile::bytes + i % 2 * Tiles::slot_bytes;
  }
  __device__ void start_rows(int position) const {
    head.start<row_tile, Tiles::threads>(rows(), arrays.first_rows, position);
    head.start<row_tile, Tiles::threads>(rows() + row_tile::bytes, arrays.second_rows, position);
  }
  __device__ void start_columns(int i) const {
    int const position = i * Tiles::columns;
    head.start<tile, Tiles::threads>(slot(i), arrays.first_columns, position);
    head.start<tile, Tiles::threads>(slot(i) + tile::bytes, arrays.second_columns, position);
    if constexpr (Tiles::of_keys) {
      constexpr int chunks = Tiles::columns / 4;
      int const chunk = static_cast<int>(threadIdx.x) % chunks * 4;
      auto* const to = reinterpret_cast<float*>(slot(i) + 2 * tile::bytes) + chunk;
      if (threadIdx.x < chunks) {
        __pipeline_memcpy_async(to, terms.logarithms + position + chunk, 16);
      } else if (threadIdx.x < 2 * chunks) {
        __pipeline_memcpy_async(to + Tiles::columns, terms.means + position + chunk, 16);
      }
    }
  }
};

namespace kernels {

/// The terms of all rows, padded ones too, with eight lanes for each row.
template <int HeadSize>
__global__ void attention_terms(detail::attention_size size, head_rows<bfloat16 const> o,
                                head_rows<bfloat16 const> d_o, float const* logarithms,
                                detail::row_terms terms) {
  detail::attention_head const head{size};
  auto const position = static_cast<int>((blockIdx.y * blockDim.x + threadIdx.x) / 8);
  bool const inside = position < size.context;
  float sum = 0;
  for (auto i = threadIdx.x % 8; inside && i < HeadSize / 8; i += 8) {
    auto const a = reinterpret_cast<uint4 const*>(head.at(o, position))[i];
    auto const b = reinterpret_cast<uint4 const*>(head.at(d_o, position))[i];
    sum += detail::dot_of_pairs(a.x, b.x) + detail::dot_of_pairs(a.y, b.y) +
           detail::dot_of_pairs(a.z, b.z) + detail::dot_of_pairs(a.w, b.w);
  }
#pragma unroll
  for (int apart = 1; apart < 8; apart *= 2) { sum += __shfl_xor_sync(0xFFFF'FFFFU, sum, apart); }
  if (threadIdx.x % 8 != 0) { return; }
  auto const row = static_cast<std::int64_t>(blockIdx.x) * size.context + position;
  auto const of_head = terms.of_head(size.context);
  of_head.logarithms[position] = inside ? logarithms[row] * detail::log2_of_e : INFINITY;
  of_head.means[position] = sum;
}

/// A block for each head and `Tiles::rows` positions; those with most columns begin first.
template <class Tiles>
__global__ void __launch_bounds__(Tiles::threads, 1)
    attention_backward(detail::attention_size size, backward_arrays arrays,
                       detail::row_terms terms) {
  if constexpr (ptx::architecture >= 80) {
    auto const block = Tiles::of_keys ? blockIdx.y : gridDim.y - 1 - blockIdx.y;
    int const first = static_cast<int>(block) * Tiles::rows;
    int const rows = min(Tiles::rows, size.context - first);
    int const begin = Tiles::of_keys ? first / Tiles::columns : 0;
    int const seen = Tiles::of_keys ? size.context : first + rows;
    int const end = (seen + Tiles::columns - 1) / Tiles::columns;
    backward_copies<Tiles> const copies{{size}, arrays, terms.of_head(size.context)};
    copies.start_rows(first);
    __pipeline_commit();
    copies.start_columns(begin);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    backward_rows<Tiles> out{copies.rows(), first, size.scale, copies.terms};
    for (int i = begin; i < end; ++i) {
      __pipeline_wait_prior(0);
      __syncthreads();  // all have the tile, and have left the slot that is filled now
      if (i + 1 < end) { copies.start_columns(i + 1); }
      __pipeline_commit();
      out.take(copies.slot(i), i * Tiles::columns);
    }
    auto const& head = copies.head;
    out.store(head.at(arrays.first_out, first), static_cast<int>(arrays.first_out.stride),
              head.at(arrays.second_out, first), static_cast<int>(arrays.second_out.stride), rows,
              copies.rows());
  }
}

}  // namespace kernels

/// Enqueues the gradients, from inputs and outputs of `fused_attention`. `scratch` has at least
/// `fused_attention_scratch_bytes(op.shape)` and is aligned to 16 bytes. Equal inputs give equal
/// bits.
inline void enqueue(::cuda::stream_ref stream, fused_attention_gradient const& op,
                    head_rows<bfloat16 const> q, head_rows<bfloat16 const> k,
                    head_rows<bfloat16 const> v, head_rows<bfloat16 const> o,
                    std::span<float const> logarithms, head_rows<bfloat16 const> d_o,
                    head_rows<bfloat16> d_q, head_rows<bfloat16> d_k, head_rows<bfloat16> d_v,
                    std::span<float> scratch) {
  auto const& shape = op.shape;
  detail::require_attention(shape);
  detail::require_all_rows(shape, q, k, v, o, d_o, d_q, d_k, d_v);
  detail::require_size(op.name, "logarithms", logarithms, shape.rows());
  auto const needed = fused_attention_scratch_bytes(shape);
  if (scratch.size_bytes() < needed) {
    throw std::invalid_argument(std::string{op.name} + ": " + std::to_string(needed) +
                                " bytes of scratch are needed, and there are " +
                                std::to_string(scratch.size_bytes()) + ": lower the batch");
  }
  detail::row_terms const terms{scratch.data(), scratch.data() + needed / sizeof(float) / 2};
  auto const size = detail::size_of(shape);
  detail::with_head_size(shape.head_size, [&]<int HeadSize>() {
    using of_keys = backward_tiles<HeadSize, true>;
    using of_queries = backward_tiles<HeadSize, false>;
    auto padded = shape;
    padded.context = static_cast<std::size_t>(detail::padded_context(size.context));
    detail::launch_attention(kernels::attention_terms<HeadSize>, 256, 0, 32, padded, stream, size,
                             o, d_o, logarithms.data(), terms);
    backward_arrays const keys{k, v, q, d_o, d_k, d_v};
    detail::launch_attention(kernels::attention_backward<of_keys>, of_keys::threads,
                             of_keys::shared_bytes, of_keys::rows, shape, stream, size, keys,
                             terms);
    backward_arrays const queries{q, d_o, k, v, d_q, d_q};
    detail::launch_attention(kernels::attention_backward<of_queries>, of_queries::threads,
                             of_queries::shared_bytes, of_queries::rows, shape, stream, size,
                             queries, terms);
  });
}

}  // namespace assay::nn
