// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of rotary position embedding.
#pragma once

#include <assay/nn/rope.hpp>
#include <assay/nn/vectors.cuh>

#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// A block row for each position of a sequence, of `columns` elements.
template <int Width, class T>
__global__ void rope_rows(unsigned context, unsigned columns, unsigned head_size,
                          std::size_t stride, bool back, float const* table, T* x) {
  unsigned const c = (blockIdx.y * blockDim.x + threadIdx.x) * Width;
  if (c >= columns) { return; }
  float turn[Width], from[Width];
  auto* const at = x + blockIdx.x * stride + c;
  load(table + (blockIdx.x % context) * head_size + c % head_size, turn);
  load(at, from);
  for (int i = 0; i < Width; i += 2) {
    float const cosine = turn[i], sine = back ? -turn[i + 1] : turn[i + 1];
    float const first = from[i], second = from[i + 1];
    from[i] = first * cosine - second * sine;
    from[i + 1] = first * sine + second * cosine;
  }
  store(at, from);
}

}  // namespace kernels

template <class T>
void enqueue(::cuda::stream_ref stream, rope const& op, in<float> table, std::span<T> x) {
  constexpr int full = full_width<T>;
  auto const columns = op.heads * op.head_size;
  bool const wide = allows_width<full>({op.head_size, op.stride}, {table.data(), x.data()});
  row_shape const shape{op.rows(), columns / (wide ? full : 2)};
  auto const narrow = [](std::size_t size) { return static_cast<unsigned>(size); };
  kernel::launch(wide ? kernels::rope_rows<full, T> : kernels::rope_rows<2, T>, shape.grid,
                 shape.threads, 0, stream, narrow(op.context), narrow(columns),
                 narrow(op.head_size), op.stride, op.back, table.data(), x.data());
}

}  // namespace assay::nn
