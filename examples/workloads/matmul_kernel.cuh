// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `matmul`: one for all strategies and types, and its launch.
#pragma once

#include "matmul_simt.cuh"
#include "matmul_tensor.cuh"
#include "matmul_tiles.hpp"
#include "tile_producer.cuh"

#include <assay/copy/require_code.cuh>
#include <assay/core/ptx.cuh>
#include <assay/kernel/kernel_attributes.cuh>
#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace assay::workloads {

/// The cores that multiply elements of a type, in code for sm_90a and in other code. A launch tells
/// the two apart by their threads, and by nothing else.
template <class T>
struct matmul_cores {
  using sm_90a = simt_core<true>;
  using others = simt_core<false>;
};
template <>
struct matmul_cores<bfloat16> {
  using sm_90a = wgmma_core;
  using others = mma_core;
};

/// The one of them that this pass of the compiler uses.
template <class T>
using matmul_core = std::conditional_t<kernel::has_wgmma, typename matmul_cores<T>::sm_90a,
                                       typename matmul_cores<T>::others>;

/// The pairs of tiles that this block needs, in order: for each of its tiles of C, all along k. The
/// grid's blocks take tiles in turn.
template <class Core>
class matmul_walk {
 public:
  __device__ explicit matmul_walk(matmul_shape shape)
      : order_{tiles_over(shape.m, Core::m), tiles_over(shape.n, Core::n)},
        k_blocks_(tiles_over(shape.k, Core::k)),
        tile_(static_cast<int>(blockIdx.x)) {
    if (k_blocks_ == 0) { tile_ = order_.count(); }
    locate();
  }
  __device__ bool done() const { return tile_ >= order_.count(); }
  __device__ void next() {
    if (++block_ < k_blocks_) { return; }
    block_ = 0;
    tile_ += static_cast<int>(gridDim.x);
    locate();
  }
  __device__ int a_row() const { return at_.row * Core::m; }
  __device__ int a_col() const { return block_ * Core::k; }
  __device__ int b_row() const { return block_ * Core::k; }
  __device__ int b_col() const { return at_.col * Core::n; }

 private:
  __device__ void locate() {
    if (!done()) { at_ = order_.at(tile_); }
  }

  tile_rasterization order_;
  int k_blocks_;
  int tile_;
  int block_ = 0;
  tile_position at_;
};

/// The ring of tiles of a strategy.
template <class Core, class Strategy>
using matmul_ring =
    copy::tile_ring<copy::tile_producer<Strategy, typename Core::pair>::slots, Core::pair::bytes>;

/// C = A x B: some warps bring tiles by `Strategy`, the others multiply them.
template <class T, class Strategy>
__global__ void __launch_bounds__(matmul_core<T>::threads, 1)
    matmul_tiles(copy::tile_source<T> const __grid_constant__ a,
                 copy::tile_source<T> const __grid_constant__ b, T* c, std::int64_t pitch,
                 matmul_shape shape) {
  if constexpr (ptx::architecture >= 80) {
    using producer = copy::tile_producer<Strategy, typename matmul_core<T>::pair>;
    using core = typename matmul_core<T>::template beside<producer>;
    using ring_type = matmul_ring<core, Strategy>;
    extern __shared__ __align__(1024) unsigned char matmul_storage[];
    ring_type const ring{matmul_storage};
    if (threadIdx.x == 0) { ring.initialise(producer::arrivals, core::consumer_arrivals); }
    __syncthreads();

    if (threadIdx.x >= core::readers) {
      core::become_filler();
      producer::run(ring, matmul_walk<core>{shape}, a, b,
                    static_cast<int>(threadIdx.x) - core::readers);
    } else {
      core::become_reader();
      core sums;
      tile_rasterization const order{tiles_over(shape.m, core::m), tiles_over(shape.n, core::n)};
      typename ring_type::position at;
      for (int tile = static_cast<int>(blockIdx.x); tile < order.count(); tile += gridDim.x) {
        sums.clear();
        sums.multiply(ring, at, tiles_over(shape.k, core::k));
        sums.store(c, pitch, shape, order.at(tile));
      }
    }
  } else {
    __trap();  // not launched: `make_matmul_shape` refuses code for less than 8.0
  }
}

/// The launch parameters of a kernel on a device, and its instruction there.
struct matmul_launch_shape {
  unsigned threads = 0;
  unsigned most_blocks = 0;
  std::size_t shared_bytes = 0;
  tile_position tile;  ///< the part of C that a block computes at a time, in elements
  std::string_view instruction;
};

namespace detail {

template <class Core, class Strategy>
matmul_launch_shape shape_of_core() {
  static_assert(Core::threads <= 1024);
  return {Core::threads,
          0,
          matmul_ring<Core, Strategy>::storage_bytes,
          {Core::m, Core::n},
          Core::instruction};
}

/// Throws unless the ring fits in shared memory.
template <class Strategy>
void require_ring(Strategy const& strategy, matmul_launch_shape const& shape, on::device place) {
  auto const room =
      static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  if (shape.shared_bytes <= room) { return; }
  auto const slots = static_cast<std::size_t>(Strategy::stages);
  throw std::invalid_argument(describe(strategy) + " needs " + std::to_string(shape.shared_bytes) +
                              " bytes of shared memory for matmul, and a block of device " +
                              std::to_string(place.id) + " has " + std::to_string(room) +
                              ": use at most " +
                              std::to_string(room / (shape.shared_bytes / slots)) + " stages");
}

template <class T, class Strategy>
matmul_launch_shape make_matmul_shape(on::device place) {
  using cores = matmul_cores<T>;
  static_assert(cores::sm_90a::threads != cores::others::threads);
  auto const run = matmul_tiles<T, Strategy>;
  copy::require_code<Strategy>(run, place);
  if (int const found = place_traits<on::device>::capability(place); found < 80) {
    throw std::invalid_argument("matmul needs a device of compute capability 8.0 or higher, and " +
                                place.describe() + " has " + copy::capability_text(found));
  }
  auto const& compiled = kernel::kernel_attributes(run, place);
  copy::require_built_for("matmul", 80, compiled.capability);
  // The kernel's image for this device says by its launch bound which core it was compiled with.
  auto shape = compiled.most_threads == cores::sm_90a::threads
                   ? shape_of_core<typename cores::sm_90a, Strategy>()
                   : shape_of_core<typename cores::others, Strategy>();
  require_ring(Strategy{}, shape, place);
  device_guard const guard{place};
  check(cudaFuncSetAttribute(reinterpret_cast<void const*>(run),
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shape.shared_bytes)));
  shape.most_blocks = static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount));
  return shape;
}

}  // namespace detail

/// The launch shape of `matmul<T>` on a device with a strategy; each thread asks once. Throws
/// `std::invalid_argument` where the device lacks the instructions or the shared memory.
template <class T, class Strategy>
matmul_launch_shape const& matmul_shape_on(on::device place) {
  thread_local std::map<int, matmul_launch_shape> known;
  auto const found = known.find(place.id);
  if (found != known.end()) { return found->second; }
  return known.emplace(place.id, detail::make_matmul_shape<T, Strategy>(place)).first->second;
}

/// A and B as `launch_matmul` takes them: with tensor maps where `mapped` and elements are.
template <class T>
struct matmul_inputs {
  using cores = matmul_cores<T>;

  copy::tile_source<T> a;
  copy::tile_source<T> b;

  matmul_inputs(copy::matrix_view<T> const& left, copy::matrix_view<T> const& right, bool mapped)
      : a(copy::source_of<typename cores::sm_90a::pair::a>(left, mapped)),
        b(copy::source_of<typename cores::sm_90a::pair::b>(right, mapped)) {
    static_assert(cores::sm_90a::m == cores::others::m && cores::sm_90a::k == cores::others::k,
                  "one map serves both: panels of as many rows");
    if (left.cols == right.rows) { return; }
    throw std::invalid_argument("A has " + std::to_string(left.cols) + " columns and B has " +
                                std::to_string(right.rows) + " rows: they must be as many");
  }
};

/// Enqueues C = A x B on the stream; its device must be current. All matrices are row-major; C has
/// `pitch` elements from row to row. Addresses and pitches are whole units of 16 bytes. For
/// `copy::bulk` the inputs must be mapped.
template <class T, class Strategy>
void launch_matmul(on::device place, ::cuda::stream_ref stream, Strategy const&,
                   matmul_inputs<T> const& inputs, T* c, std::int64_t pitch) {
  matmul_shape const shape{inputs.a.view.rows, inputs.b.view.cols, inputs.a.view.cols};
  copy::require_chunked(copy::matrix_view<T>{c, shape.m, shape.n, pitch});
  if (shape.m == 0 || shape.n == 0) { return; }
  auto const& how = matmul_shape_on<T, Strategy>(place);
  tile_rasterization const order{tiles_over(shape.m, how.tile.row),
                                 tiles_over(shape.n, how.tile.col)};
  unsigned const blocks = std::min(static_cast<unsigned>(order.count()), how.most_blocks);
  kernel::launch(matmul_tiles<T, Strategy>, kernel::launch_shape{blocks, how.threads},
                 how.shared_bytes, stream, inputs.a, inputs.b, c, pitch, shape);
}

}  // namespace assay::workloads
