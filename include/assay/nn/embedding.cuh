// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of the embedding and its gradient, in float32.
#pragma once

#include <assay/kernel/launch.cuh>
#include <assay/nn/embedding.hpp>

#include <cstddef>
#include <span>

namespace assay::nn {
namespace kernels {

/// One block for each token.
template <int Threads>
__global__ void embedding_rows(int width, token const* tokens, float const* table, float* out) {
  auto const from = static_cast<std::size_t>(tokens[blockIdx.x]) * width;
  auto const to = static_cast<std::size_t>(blockIdx.x) * width;
  for (int c = threadIdx.x; c < width; c += Threads) { out[to + c] = table[from + c]; }
}

/// One block for each word of the vocabulary: it adds the rows of its tokens in their order.
template <int Threads>
__global__ void embedding_gradient_rows(int rows, int width, token const* tokens,
                                        float const* out_gradient, float* table_gradient) {
  auto* const row = table_gradient + static_cast<std::size_t>(blockIdx.x) * width;
  for (int c = threadIdx.x; c < width; c += Threads) { row[c] = 0; }
  for (int i = 0; i < rows; ++i) {
    if (tokens[i] != static_cast<token>(blockIdx.x)) { continue; }
    auto const from = static_cast<std::size_t>(i) * width;
    for (int c = threadIdx.x; c < width; c += Threads) { row[c] += out_gradient[from + c]; }
  }
}

}  // namespace kernels

/// Enqueues the operation. Tokens beyond the vocabulary are undefined behaviour: `require_batch`
/// refuses them on the host.
inline void enqueue(::cuda::stream_ref stream, embedding const& op, std::span<token const> tokens,
                    std::span<float const> table, std::span<float> out) {
  constexpr int threads = 256;
  kernel::launch(kernels::embedding_rows<threads>, dim3(static_cast<unsigned>(op.rows)), threads, 0,
                 stream, static_cast<int>(op.width), tokens.data(), table.data(), out.data());
}

inline void enqueue(::cuda::stream_ref stream, embedding_gradient const& op,
                    std::span<token const> tokens, std::span<float const> out_gradient,
                    std::span<float> table_gradient) {
  constexpr int threads = 256;
  kernel::launch(kernels::embedding_gradient_rows<threads>,
                 dim3(static_cast<unsigned>(op.vocabulary)), threads, 0, stream,
                 static_cast<int>(op.rows), static_cast<int>(op.width), tokens.data(),
                 out_gradient.data(), table_gradient.data());
}

}  // namespace assay::nn
