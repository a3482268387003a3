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

#include <assay/nn/fused_attention_backward_rows.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::nn {

/// The arrays of a backward kernel; `second_out` is used where rows are keys.
struct backward_arrays {
  head_rows<bfloat16 const> first_rows, second_rows;
  head_rows<bfloat16 const> first_columns, second_columns;
  head_rows<bfloat16> first_out, second_out;
  float const* turns;  ///< null, or the table of `rope` that turned the rows of `first_out`
};

/// The shared memory of a block of a backward kernel: the tiles of its rows, and slots for
/// columns.
template <class Tiles>
struct backward_copies {
  using row_tile = typename Tiles::row_tile;
  using tile = typename Tiles::column_tile;
  detail::attention_head head;
  backward_arrays const& arrays;
  detail::row_terms terms;  ///< of this head

  __device__ static std::byte* rows() { return detail::swizzle_aligned(kernel::dynamic_shared()); }
  __device__ static std::byte* slot(int i) {
    return rows() + 2 * row_tile::bytes + i % Tiles::slots * Tiles::slot_bytes;
  }
  __device__ static float* column_terms(int i) {
    return reinterpret_cast<float*>(rows() + Tiles::tile_bytes) +
           i % Tiles::slots * 2 * Tiles::columns;
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
      auto* const to = column_terms(i) + chunk;
      if (threadIdx.x < chunks) {
        __pipeline_memcpy_async(to, terms.logarithms + position + chunk, 16);
      } else if (threadIdx.x < 2 * chunks) {
        __pipeline_memcpy_async(to + Tiles::columns, terms.means + position + chunk, 16);
      }
    }
  }
};

namespace detail {

/// The inputs and outputs of a gradient.
struct gradient_arrays {
  head_rows<bfloat16 const> q, k, v, d_o;
  head_rows<bfloat16> d_q, d_k, d_v;
  float const* turns;

  __device__ backward_arrays of_keys() const { return {k, v, q, d_o, d_k, d_v, turns}; }
  __device__ backward_arrays of_queries() const { return {q, d_o, k, v, d_q, d_q, turns}; }
};

/// The gradients of a block's rows, the `block`th of its head.
template <class Tiles>
__device__ void backward_block(attention_head const& head, backward_arrays const& arrays,
                               row_terms const& terms, int block) {
  int const first = block * Tiles::rows;
  int const rows = min(Tiles::rows, head.size.context - first);
  int const begin = Tiles::of_keys ? first / Tiles::columns : 0;
  int const seen = Tiles::of_keys ? head.size.context : first + rows;
  int const end = (seen + Tiles::columns - 1) / Tiles::columns;
  backward_copies<Tiles> const copies{head, arrays, terms.of_head(head.size.context)};
  copies.start_rows(first);
  copies.start_columns(begin);
  __pipeline_commit();
  backward_rows<Tiles> out{copies.rows(), first, head.size.scale, copies.terms};
  for (int i = begin; i < end; ++i) {
    __pipeline_wait_prior(0);
    Tiles::products::settle_copies();
    __syncthreads();  // all have the tile, and have left the slot that is filled now
    if (i + 1 < end) { copies.start_columns(i + 1); }
    __pipeline_commit();
    out.take(copies.slot(i), copies.column_terms(i), i * Tiles::columns);
  }
  __syncthreads();  // all have left the tiles of the rows
  out.store(head.at(arrays.first_out, first), static_cast<int>(arrays.first_out.stride),
            head.at(arrays.second_out, first), static_cast<int>(arrays.second_out.stride), rows,
            copies.rows(),
            arrays.turns == nullptr ? nullptr : arrays.turns + first * Tiles::head_size);
}

}  // namespace detail

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

/// A block for each head and `rows` positions of queries, and one for as many keys. Those with most
/// columns begin first.
template <int HeadSize>
__global__ void __launch_bounds__(128, detail::products_of<HeadSize>::blocks)
    attention_backward(detail::attention_size size, detail::gradient_arrays arrays,
                       detail::row_terms terms) {
  if constexpr (ptx::architecture >= 80) {
    detail::attention_head const head{size};
    auto const from_longest = static_cast<int>(blockIdx.y / 2);
    if (blockIdx.y % 2 == 0) {
      detail::backward_block<backward_tiles<HeadSize, true>>(head, arrays.of_keys(), terms,
                                                             from_longest);
    } else {
      auto const blocks = static_cast<int>(gridDim.y / 2);
      detail::backward_block<backward_tiles<HeadSize, false>>(head, arrays.of_queries(), terms,
                                                              blocks - 1 - from_longest);
    }
  }
}

}  // namespace kernels

namespace detail {

inline void launch_gradient(::cuda::stream_ref stream, std::string_view name,
                            attention_shape const& shape, gradient_arrays const& arrays,
                            head_rows<bfloat16 const> o, std::span<float const> logarithms,
                            std::span<float> scratch) {
  require_attention(shape);
  require_all_rows(shape, arrays.q, arrays.k, arrays.v, o, arrays.d_o, arrays.d_q, arrays.d_k,
                   arrays.d_v);
  require_size(name, "logarithms", logarithms, shape.rows());
  auto const needed = fused_attention_scratch_bytes(shape);
  if (scratch.size_bytes() < needed) {
    throw std::invalid_argument(std::string{name} + ": " + std::to_string(needed) +
                                " bytes of scratch are needed, and there are " +
                                std::to_string(scratch.size_bytes()) + ": lower the batch");
  }
  row_terms const terms{scratch.data(), scratch.data() + needed / sizeof(float) / 2};
  auto const size = size_of(shape);
  with_head_size(shape.head_size, [&]<int HeadSize>() {
    using tiles = backward_tiles<HeadSize, true>;
    auto const padded = static_cast<std::size_t>(padded_context(size.context));
    launch_attention(kernels::attention_terms<HeadSize>, 256, 0, padded / 32, shape, stream, size,
                     o, arrays.d_o, logarithms.data(), terms);
    launch_attention(kernels::attention_backward<HeadSize>, tiles::threads, tiles::shared_bytes,
                     2 * blocks_of(shape, tiles::rows), shape, stream, size, arrays, terms);
  });
}

}  // namespace detail

/// Enqueues the gradients, from inputs and outputs of `fused_attention`. `scratch` has at least
/// `fused_attention_scratch_bytes(op.shape)` and is aligned to 16 bytes. Equal inputs give equal
/// bits.
inline void enqueue(::cuda::stream_ref stream, fused_attention_gradient const& op,
                    head_rows<bfloat16 const> q, head_rows<bfloat16 const> k,
                    head_rows<bfloat16 const> v, head_rows<bfloat16 const> o,
                    std::span<float const> logarithms, head_rows<bfloat16 const> d_o,
                    head_rows<bfloat16> d_q, head_rows<bfloat16> d_k, head_rows<bfloat16> d_v,
                    std::span<float> scratch) {
  detail::launch_gradient(stream, op.name, op.shape, {q, k, v, d_o, d_q, d_k, d_v, nullptr}, o,
                          logarithms, scratch);
}

/// The same of queries and keys that were turned. `turns` is aligned to 8 bytes.
inline void enqueue(::cuda::stream_ref stream, turned_attention_gradient const& op,
                    head_rows<bfloat16 const> q, head_rows<bfloat16 const> k,
                    head_rows<bfloat16 const> v, head_rows<bfloat16 const> o,
                    std::span<float const> logarithms, head_rows<bfloat16 const> d_o,
                    head_rows<bfloat16> d_q, head_rows<bfloat16> d_k, head_rows<bfloat16> d_v,
                    in<float> turns, std::span<float> scratch) {
  detail::require_size(op.name, "turns", turns, op.shape.context * op.shape.head_size);
  detail::launch_gradient(stream, op.name, op.shape, {q, k, v, d_o, d_q, d_k, d_v, turns.data()}, o,
                          logarithms, scratch);
}

}  // namespace assay::nn
