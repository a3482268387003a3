// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of rotary position embedding, in float32.
#pragma once

#include <assay/kernel/element_wise_shape.cuh>
#include <assay/kernel/grid_stride.cuh>
#include <assay/nn/rope.hpp>

#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// One thread for each pair. `row` is the pairs of one position, `head` the pairs of one head.
template <class Pair>
__global__ void rope_pairs(std::size_t count, unsigned context, unsigned row, unsigned head,
                           bool back, Pair const* table, Pair* x) {
  for (auto const at : kernel::grid_stride(count)) {
    auto const position = static_cast<unsigned>(at / row % context);
    Pair const turn = table[position * head + static_cast<unsigned>(at % head)];
    Pair const from = x[at];
    float const sine = back ? -turn.y : turn.y;
    x[at] = {from.x * turn.x - from.y * sine, from.x * sine + from.y * turn.x};
  }
}

}  // namespace kernels

/// Enqueues the operation. Both arrays are aligned to 8 bytes.
inline void enqueue(::cuda::stream_ref stream, rope const& op, std::span<float const> table,
                    std::span<float> x) {
  auto const pairs = op.elements() / 2;
  auto const head = static_cast<unsigned>(op.head_size / 2);
  kernel::launch(kernels::rope_pairs<float2>, kernel::element_wise_shape(pairs), 0, stream, pairs,
                 static_cast<unsigned>(op.context), head * static_cast<unsigned>(op.heads), head,
                 op.back, reinterpret_cast<float2 const*>(table.data()),
                 reinterpret_cast<float2*>(x.data()));
}

}  // namespace assay::nn
