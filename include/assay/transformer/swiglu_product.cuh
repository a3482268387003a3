// SPDX-License-Identifier: Apache-2.0
/// @file
/// Products with SwiGLU on a device: a kernel for both, or a product and SwiGLU's kernel.
#pragma once

#include <assay/copy/tensor_map.hpp>
#include <assay/copy/tile_layout.hpp>
#include <assay/core/bfloat16.hpp>
#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/core/place.hpp>
#include <assay/kernel/kernel_attributes.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/nn/swiglu.cuh>
#include <assay/nn/vectors.cuh>
#include <assay/transformer/swiglu_product.hpp>
#include <assay/transformer/swiglu_product_kernel.cuh>

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace assay::nn {

namespace detail {

/// Launches the kernel over a call that has its maps and arrays.
template <class Tile>
void launch_swiglu(::cuda::stream_ref stream, swiglu_call& call, std::size_t rows,
                   std::size_t width, std::size_t depth) {
  call.rows = static_cast<int>(rows);
  call.width = static_cast<int>(width);
  call.slots = copy::tiles_of(depth, Tile::depth);
  call.tiles_down = copy::tiles_of(rows, Tile::rows);
  call.tiles = call.tiles_down * copy::tiles_of(width, Tile::width);
  auto const run = kernels::swiglu_product_tiles<Tile>;
  auto const place = current_device();
  kernel::set_max_dynamic_shared_memory(run, place, Tile::shared_bytes);
  auto const blocks = std::min(call.tiles, attribute(place, cudaDevAttrMultiProcessorCount));
  kernel::launch(run, kernel::launch_shape{static_cast<unsigned>(blocks), Tile::threads},
                 Tile::shared_bytes, stream, call);
}

}  // namespace detail

/// True if a device runs the kernel: this program has its code for sm_90a. The kernel's image for
/// the device says so by its launch bound.
inline bool has_swiglu_product(on::device place) {
  return kernel::kernel_attributes(kernels::swiglu_product_tiles<gated_tile>, place).most_threads ==
         gated_tile::threads;
}

/// True for arrays that the kernel takes: bulk copies need rows of whole 16 bytes.
inline bool allows_swiglu_product(std::initializer_list<std::size_t> columns,
                                  std::initializer_list<void const*> arrays) {
  return allows_width<8>(columns, arrays);
}

/// Enqueues the kernel, for a device and arrays that allow it.
inline void enqueue_kernel(::cuda::stream_ref stream, swiglu_product const& op, in<bfloat16> x,
                           in<bfloat16> weights, std::span<bfloat16> ab, std::span<bfloat16> out) {
  using tile = gated_tile;
  swiglu_call call{};
  call.tokens = copy::tensor_map(x.data(), op.rows, op.in, op.in, tile::rows);
  call.weights = copy::tensor_map(weights.data(), 2 * op.width, op.in, op.in, tile::width);
  call.sums = ab.data();
  call.gated = out.data();
  detail::launch_swiglu<tile>(stream, call, op.rows, op.width, op.in);
}
inline void enqueue_kernel(::cuda::stream_ref stream, swiglu_product_gradient const& op,
                           in<bfloat16> dy, in<bfloat16> weights, in<bfloat16> ab,
                           std::span<bfloat16> ab_gradient) {
  using tile = gate_gradient_tile;
  swiglu_call call{};
  auto const inputs = [&](bfloat16 const* first) {
    return copy::tensor_map(first, op.rows, op.width, 2 * op.width, tile::chunk::rows);
  };
  call.tokens = copy::tensor_map(dy.data(), op.rows, op.out, op.out, tile::rows);
  call.weights = copy::tensor_map(weights.data(), op.out, op.width, op.width, tile::depth);
  call.gate = inputs(ab.data());
  call.up = inputs(ab.data() + op.width);
  call.sums = ab_gradient.data();
  detail::launch_swiglu<tile>(stream, call, op.rows, op.width, op.out);
}

/// Enqueues a product with SwiGLU: by one kernel where it can run, else by a product of `products`
/// and SwiGLU's kernel.
template <class T, class Products>
void enqueue(::cuda::stream_ref stream, swiglu_product const& op, in<T> x, in<T> weights,
             std::span<T> ab, std::span<T> out, Products& products) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (has_swiglu_product(current_device()) &&
        allows_swiglu_product({op.in, op.width},
                              {x.data(), weights.data(), ab.data(), out.data()})) {
      return enqueue_kernel(stream, op, x, weights, ab, out);
    }
  }
  auto const n = op.gate().extent();
  products.enqueue(stream, op.both(), x, weights, ab);
  enqueue(stream, op.gate(), ab.first(n), ab.subspan(op.width, n), out);
}
/// The same of a gradient. The scratch has the gradient of SwiGLU's result in the latter case.
template <class T, class Products>
void enqueue(::cuda::stream_ref stream, swiglu_product_gradient const& op, in<T> dy, in<T> weights,
             in<T> ab, std::span<T> scratch, std::span<T> ab_gradient, Products& products) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (has_swiglu_product(current_device()) &&
        allows_swiglu_product({op.width, op.out},
                              {dy.data(), weights.data(), ab.data(), ab_gradient.data()})) {
      return enqueue_kernel(stream, op, dy, weights, ab, ab_gradient);
    }
  }
  auto const n = op.gate().extent();
  products.enqueue(stream, op.of_gated(), dy, weights, scratch);
  enqueue(stream, op.gate(), ab.first(n), ab.subspan(op.width, n), in<T>{scratch},
          ab_gradient.first(n), ab_gradient.subspan(op.width, n));
}

}  // namespace assay::nn
