// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of causal attention on bf16, which keeps no scores (Dao: FlashAttention-2, 2023).
#pragma once

#include <assay/core/ptx.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/nn/attention.hpp>
#include <assay/nn/warpgroup_products.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace assay::nn {
namespace detail {

inline constexpr float log2_of_e = 1.4426950408889634F;

/// The shape, as kernels of attention use it.
struct attention_size {
  int context;
  int heads;
  int head_size;
  float scale;
};

/// The head that a block works on: neighbouring blocks of x have neighbouring heads.
struct attention_head {
  attention_size size;

  /// The head's elements at one position.
  template <class T>
  __device__ T* at(head_rows<T> const& of, int position) const {
    auto const x = static_cast<int>(blockIdx.x);
    auto const row = static_cast<std::int64_t>(x / size.heads) * size.context + position;
    return of.first + row * static_cast<std::int64_t>(of.stride) + x % size.heads * size.head_size;
  }
  /// Starts copies of a tile of positions, zero behind the last.
  template <class Tile, int Threads>
  __device__ void start(std::byte* to, head_rows<bfloat16 const> const& from, int position) const {
    detail::start_rows<Tile, Threads>(to, at(from, position), static_cast<int>(from.stride),
                                      size.context - position);
  }
};

/// Throws unless rows of an array can be read 16 bytes at a time, and 128 of them with offsets of
/// 32 bits.
template <class T>
void require_rows(char const* name, attention_shape const& shape, head_rows<T> const& rows) {
  if (rows.stride < shape.width() || rows.stride % 8 != 0 || rows.stride > 0xFF'FFFF ||
      reinterpret_cast<std::uintptr_t>(rows.first) % 16 != 0) {
    throw std::invalid_argument(std::string{"fused_attention: "} + name + " has a stride of " +
                                std::to_string(rows.stride) +
                                " elements: it is a multiple of 8, from heads x head size = " +
                                std::to_string(shape.width()) +
                                " to 16777215, and the array is aligned to 16 bytes");
  }
}

/// Calls `launch.operator()<HeadSize>()`.
template <class Launch>
void with_head_size(std::size_t size, Launch const& launch) {
  if (size == 64) { launch.template operator()<64>(); }
  if (size == 80) { launch.template operator()<80>(); }
  if (size == 128) { launch.template operator()<128>(); }
}

template <class... Rows>
void require_all_rows(attention_shape const& shape, Rows const&... rows) {
  char const* const names[] = {"q", "k", "v", "o", "d_o", "d_q", "d_k", "d_v"};
  auto const* name = names;
  (require_rows(*name++, shape, rows), ...);
}

inline attention_size size_of(attention_shape const& shape) {
  return {static_cast<int>(shape.context), static_cast<int>(shape.heads),
          static_cast<int>(shape.head_size), static_cast<float>(shape.scale())};
}

/// The blocks of a head, each with `rows` positions.
inline std::size_t blocks_of(attention_shape const& shape, std::size_t rows) {
  return (shape.context + rows - 1) / rows;
}

/// Launches a kernel with so many blocks for each head.
template <class... Parameters>
void launch_attention(void (*kernel)(Parameters...), int threads, std::size_t shared_bytes,
                      std::size_t blocks, attention_shape const& shape, ::cuda::stream_ref stream,
                      std::type_identity_t<Parameters>... arguments) {
  auto const place = current_device();
  if (kernel::kernel_attributes(kernel, place).capability < 80) {
    throw std::invalid_argument("fused_attention: " + place.describe() +
                                " or the code is below compute capability 8.0: compile for 80 or "
                                "newer, or use naive attention");
  }
  kernel::set_max_dynamic_shared_memory(kernel, place, shared_bytes);
  dim3 const grid(static_cast<unsigned>(shape.batch * shape.heads), static_cast<unsigned>(blocks));
  kernel::launch(kernel, grid, dim3(static_cast<unsigned>(threads)), shared_bytes, stream,
                 arguments...);
}

}  // namespace detail

/// The tiles of the forward kernel: each warp keeps 16 queries in registers. 64 keys and values are
/// on their way while as many are used.
template <int HeadSize>
struct forward_tiles {
  static constexpr int head_size = HeadSize;
  using products = detail::products_of<HeadSize>;
  static constexpr int threads = 128;
  static constexpr int warp_queries = 16;
  static constexpr int queries = threads / 32 * warp_queries;
  static constexpr int keys = 64;
  using query_tile = detail::row_tile<queries, HeadSize>;
  using key_tile = detail::row_tile<keys, HeadSize>;
  static constexpr int slot_bytes = 2 * key_tile::bytes;
  static constexpr int shared_bytes = detail::swizzle_bytes + query_tile::bytes + 2 * slot_bytes;
};

/// A warp's rows of the output while keys and values pass by: the sums so far belong to the largest
/// score so far, and shrink whenever a larger one comes.
template <class Tiles>
class forward_rows {
  using products = typename Tiles::products;
  using tile = typename Tiles::key_tile;

 public:
  __device__ forward_rows(std::byte const* query_tile, int first_query, float scale)
      : first_(static_cast<int>(threadIdx.x / 32) * Tiles::warp_queries),
        first_query_(first_query + first_),
        scale_(scale * detail::log2_of_e),
        queries_{query_tile, first_} {
    detail::clear(out_);
  }

  /// Keys and values lie behind each other in the slot. The first tile has key 0, which all
  /// queries see, so no later one can find a row without a largest score.
  __device__ void take(std::byte const* slot, int first_key) {
    float score[Tiles::keys / 8][4];
    products::template start_transposed<tile>(score, queries_, slot, 0);
    products::template await<0>(score);
    if (first_key + Tiles::keys - 1 > first_query_) {
      detail::for_each_sum(score, [&](float& s, detail::place_of_sum at) {
        if (first_key + at.column > first_query_ + at.row) { s = -INFINITY; }
      });
    }
    raise_largest(score);
    detail::for_each_sum(score, [&](float& s, detail::place_of_sum at) {
      s = detail::power_of_two(s * scale_ - largest_[at.half]);
      sum_[at.half] += s;
    });
    products::template start<tile>(out_, score, slot + tile::bytes, 0);
    products::template await<0>(out_);
  }

  /// `to` and `logarithms` begin at the first of the block's `rows` queries. The query tile is the
  /// way out.
  __device__ void store(bfloat16* to, int stride, float* logarithms, int rows,
                        std::byte* query_tile) {
    int const lane = detail::lane_of_warp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float& sum = sum_[half];
      sum = detail::over_quad(sum, [](float a, float b) { return a + b; });
      int const row = first_ + 8 * half + lane / 4;
      if (row < rows && lane % 4 == 0) {
        logarithms[row] = largest_[half] / detail::log2_of_e + logf(sum);
      }
      sum = 1 / sum;
    }
    detail::store_sums<typename Tiles::query_tile>(to, stride, rows, query_tile, first_, out_,
                                                   sum_);
  }

 private:
  __device__ void raise_largest(float const (&score)[Tiles::keys / 8][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float found = score[0][2 * half];
#pragma unroll
      for (int n = 0; n < Tiles::keys / 8; ++n) {
        found = fmaxf(found, fmaxf(score[n][2 * half], score[n][2 * half + 1]));
      }
      found = detail::over_quad(found, [](float a, float b) { return fmaxf(a, b); });
      float const before = largest_[half];
      largest_[half] = fmaxf(before, found * scale_);
      float const factor = detail::power_of_two(before - largest_[half]);
      sum_[half] *= factor;
#pragma unroll
      for (int n = 0; n < Tiles::head_size / 8; ++n) {
        out_[n][2 * half] *= factor;
        out_[n][2 * half + 1] *= factor;
      }
    }
  }

  int first_;  ///< the warp's first row in the block
  int first_query_;
  float scale_;  ///< of scores that are exponents of 2
  typename products::template kept_rows<typename Tiles::query_tile> queries_;
  float out_[Tiles::head_size / 8][4];
  float largest_[2] = {-INFINITY, -INFINITY};
  float sum_[2] = {0, 0};  ///< each lane's part
};

namespace kernels {

/// A block for each head and `Tiles::queries` positions; those with most keys begin first.
template <class Tiles>
__global__ void __launch_bounds__(Tiles::threads, Tiles::products::forward_blocks)
    attention_forward(detail::attention_size size, head_rows<bfloat16 const> q,
                      head_rows<bfloat16 const> k, head_rows<bfloat16 const> v,
                      head_rows<bfloat16> o, float* logarithms) {
  if constexpr (ptx::architecture >= 80) {
    using tile = typename Tiles::key_tile;
    detail::attention_head const head{size};
    int const first = static_cast<int>(gridDim.y - 1 - blockIdx.y) * Tiles::queries;
    int const rows = min(Tiles::queries, size.context - first);
    int const tiles = (first + rows + Tiles::keys - 1) / Tiles::keys;
    auto* const shared = detail::swizzle_aligned(kernel::dynamic_shared());
    auto const slot = [&](int i) {
      return shared + Tiles::query_tile::bytes + i % 2 * Tiles::slot_bytes;
    };
    auto const start = [&](int i) {
      if (i < tiles) {
        head.start<tile, Tiles::threads>(slot(i), k, i * Tiles::keys);
        head.start<tile, Tiles::threads>(slot(i) + tile::bytes, v, i * Tiles::keys);
      }
      __pipeline_commit();
    };
    head.start<typename Tiles::query_tile, Tiles::threads>(shared, q, first);
    __pipeline_commit();
    start(0);
    __pipeline_wait_prior(1);
    __syncthreads();
    forward_rows<Tiles> out{shared, first, size.scale};
    for (int i = 0; i < tiles; ++i) {
      __pipeline_wait_prior(0);
      Tiles::products::settle_copies();
      __syncthreads();  // all have the tile, and have left the slot that is filled now
      start(i + 1);
      out.take(slot(i), i * Tiles::keys);
    }
    __syncthreads();  // all have left the tile of queries
    auto const row = static_cast<std::int64_t>(blockIdx.x) * size.context + first;
    out.store(head.at(o, first), static_cast<int>(o.stride), logarithms + row, rows, shared);
  }
}

}  // namespace kernels

/// Enqueues causal attention of bf16 with sums in float32. Equal inputs give equal bits. Needs
/// compute capability 8.0 and a head size of 64, 80 or 128.
inline void enqueue(::cuda::stream_ref stream, fused_attention const& op,
                    head_rows<bfloat16 const> q, head_rows<bfloat16 const> k,
                    head_rows<bfloat16 const> v, head_rows<bfloat16> o,
                    std::span<float> logarithms) {
  auto const& shape = op.shape;
  detail::require_attention(shape);
  detail::require_size(op.name, "logarithms", logarithms, shape.rows());
  detail::require_all_rows(shape, q, k, v, o);
  auto const launch = [&]<int HeadSize>() {
    using tiles = forward_tiles<HeadSize>;
    detail::launch_attention(kernels::attention_forward<tiles>, tiles::threads, tiles::shared_bytes,
                             detail::blocks_of(shape, tiles::queries), shape, stream,
                             detail::size_of(shape), q, k, v, o, logarithms.data());
  };
  detail::with_head_size(shape.head_size, launch);
}

}  // namespace assay::nn
