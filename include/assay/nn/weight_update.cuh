// SPDX-License-Identifier: Apache-2.0
/// @file
/// `weight_update` on a device: one kernel for several weights, or a product and AdamW for each.
#pragma once

#include <assay/copy/tensor_map.hpp>
#include <assay/copy/tile_layout.hpp>
#include <assay/core/bfloat16.hpp>
#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/core/place.hpp>
#include <assay/kernel/kernel_attributes.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/nn/adamw.cuh>
#include <assay/nn/vectors.cuh>
#include <assay/nn/weight_update.hpp>
#include <assay/nn/weight_update_kernel.cuh>

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace assay::nn {

/// True if a device runs the kernel: this program has its code for sm_90a. The kernel's image for
/// the device says so by its launch bound.
template <class Tile = update_tile>
bool has_weight_update(on::device place) {
  return kernel::kernel_attributes(kernels::weight_update_tiles<Tile>, place).most_threads ==
         Tile::threads;
}

/// True for a weight that the kernel can update: bulk copies take rows of whole 16 bytes.
inline bool allows_weight_update(linear const& layer, weight_arrays<float, bfloat16> const& of) {
  return layer.rows > 0 &&
         allows_width<8>({layer.in, layer.out},
                         {of.dy.data(), of.x.data(), of.weights.high.data(), of.weights.low.data(),
                          of.first.data(), of.second.data()});
}

/// The launches of the kernel over weights for which `allows_weight_update` is true.
template <class Tile = update_tile>
class weight_update_launches {
 public:
  weight_update_launches(::cuda::stream_ref stream, adamw_factors const* factors)
      : stream_(stream), factors_(factors) {}

  /// One launch takes weights with equal numbers of tokens, at most `update_group::most`.
  void add(linear const& layer, weight_arrays<float, bfloat16> const& of) {
    auto const& [rows, in, out] = layer;
    auto const slots = copy::tiles_of(rows, Tile::depth);
    if (group_.count == update_group::most || slots != group_.slots) { launch(); }
    auto const across = copy::tiles_of(in, Tile::columns);
    group_.slots = slots;
    group_.of[group_.count++] = {copy::tensor_map(of.dy.data(), rows, out, out, Tile::depth),
                                 copy::tensor_map(of.x.data(), rows, in, in, Tile::depth),
                                 kernels::begin_of(of.weights),
                                 of.first.data(),
                                 of.second.data(),
                                 static_cast<int>(out),
                                 static_cast<int>(in),
                                 group_.tiles,
                                 across};
    group_.tiles += across * copy::tiles_of(out, Tile::rows);
  }
  /// Enqueues what was added since the last launch.
  void launch() {
    if (group_.count == 0) { return; }
    auto const run = kernels::weight_update_tiles<Tile>;
    auto const place = current_device();
    kernel::set_max_dynamic_shared_memory(run, place, Tile::shared_bytes);
    auto const blocks = std::min(group_.tiles, attribute(place, cudaDevAttrMultiProcessorCount));
    kernel::launch(run, kernel::launch_shape{static_cast<unsigned>(blocks), Tile::threads},
                   Tile::shared_bytes, stream_, group_, factors_);
    group_.count = group_.tiles = 0;
  }

 private:
  ::cuda::stream_ref stream_;
  adamw_factors const* factors_;
  update_group group_{};
};

/// Enqueues the updates of some weights: by one kernel where it can run, else by a product of
/// `products` and AdamW, with the gradient in the scratch of the weight.
template <class T, class Products>
void enqueue(::cuda::stream_ref stream, weight_updates const& ops,
             std::vector<weight_arrays<float, T>> const& arrays, adamw_factors const* factors,
             Products& products) {
  weight_update_launches<> together{stream, factors};
  bool const has_kernel = std::is_same_v<T, bfloat16> && has_weight_update(current_device());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    auto const& op = ops.all[i];
    auto const& each = arrays[i];
    if constexpr (std::is_same_v<T, bfloat16>) {
      if (has_kernel && allows_weight_update(op.layer, each)) {
        together.add(op.layer, each);
        continue;
      }
    }
    products.enqueue(stream, op.gradient(), each.dy, each.x, each.scratch);
    enqueue(stream, op.update(), each.scratch, each.weights, each.first, each.second, factors);
  }
  together.launch();
}

}  // namespace assay::nn
