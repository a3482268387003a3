// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of the embedding and its gradient.
#pragma once

#include <assay/nn/embedding.hpp>
#include <assay/nn/vectors.cuh>

#include <cstddef>
#include <span>
#include <type_traits>

namespace assay::nn {
namespace kernels {

/// A block row for each token.
template <int Width, class Table>
__global__ void embedding_rows(int width, token const* tokens, Table table, float* out) {
  int const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= width) { return; }
  float x[Width];
  load(table + static_cast<std::size_t>(tokens[blockIdx.x]) * width + c, x);
  store(out + static_cast<std::size_t>(blockIdx.x) * width + c, x);
}

/// A block row for each word of the vocabulary: it adds the rows of its positions in their order.
template <int Width>
__global__ void embedding_gradient_rows(int width, token const* order, token const* begins,
                                        float const* out_gradient, float* table_gradient) {
  int const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= width) { return; }
  float sum[Width] = {}, x[Width];
  for (int i = begins[blockIdx.x]; i < begins[blockIdx.x + 1]; ++i) {
    load(out_gradient + static_cast<std::size_t>(order[i]) * width + c, x);
    for (int j = 0; j < Width; ++j) { sum[j] += x[j]; }
  }
  store(table_gradient + static_cast<std::size_t>(blockIdx.x) * width + c, sum);
}

}  // namespace kernels

/// Enqueues the operation. Tokens beyond the vocabulary are undefined behaviour: `require_batch`
/// refuses them on the host. The table has floats, or floats in two halves.
template <class Table>
void enqueue(::cuda::stream_ref stream, embedding const& op, std::span<token const> tokens,
             Table const& table, std::span<float> out) {
  constexpr int full = full_width<float>;
  auto const [begin, other] = arrays_of(table);
  bool const wide = allows_width<full>({op.width}, {begin, other, out.data()});
  auto const from = kernels::begin_of(table);
  using pointer = std::remove_const_t<decltype(from)>;
  row_shape const shape{op.rows, op.width / (wide ? full : 1)};
  kernel::launch(
      wide ? kernels::embedding_rows<full, pointer> : kernels::embedding_rows<1, pointer>,
      shape.grid, shape.threads, 0, stream, static_cast<int>(op.width), tokens.data(), from,
      out.data());
}

inline void enqueue(::cuda::stream_ref stream, embedding_gradient const& op,
                    token_positions const& tokens, std::span<float const> out_gradient,
                    std::span<float> table_gradient) {
  constexpr int full = full_width<float>;
  bool const wide = allows_width<full>({op.width}, {out_gradient.data(), table_gradient.data()});
  row_shape const shape{op.vocabulary, op.width / (wide ? full : 1)};
  kernel::launch(
      wide ? kernels::embedding_gradient_rows<full> : kernels::embedding_gradient_rows<1>,
      shape.grid, shape.threads, 0, stream, static_cast<int>(op.width), tokens.order.data(),
      tokens.begins.data(), out_gradient.data(), table_gradient.data());
}

}  // namespace assay::nn
