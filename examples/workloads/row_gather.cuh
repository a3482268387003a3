// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::row_gather` on the device.
#pragma once

#include "capped_grid.cuh"
#include "row_gather.hpp"

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/core/stream.hpp>
#include <assay/workload/array_workload.cuh>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace assay {

namespace kernel {

/// The arguments of the gather kernel, with rows in vectors. A warp cuts rows into tiles of
/// `tile_rows` whole rows. A row that is longer than a tile is cut into `parts` tiles.
struct gather_shape {
  uint4 const* table;
  std::int32_t const* index;
  uint4* out;
  std::int64_t rows;
  int row_vectors;
  int tile_rows;
  int parts;
  int part_vectors;

  /// Some rows from `row` on, and of each the `vectors` from `first` on.
  struct part {
    std::int64_t row;
    int rows;
    int first;
    int vectors;
  };

  __device__ part tile(std::int64_t number) const {
    auto const row = number / parts * tile_rows;
    auto const first = static_cast<int>(number % parts) * part_vectors;
    auto const left_rows = rows - row;
    auto const left = row_vectors - first;
    return {row, left_rows < tile_rows ? static_cast<int>(left_rows) : tile_rows, first,
            left < part_vectors ? left : part_vectors};
  }
};

/// The rows of a warp's next tile. Their indices are looked up while the rows of this tile are on
/// their way; otherwise every tile would wait for its indices.
class rows_ahead {
 public:
  __device__ rows_ahead(gather_shape const& what, std::int32_t* shown)
      : what_(what), shown_(shown) {}

  /// By the whole warp: asks for the rows of a tile.
  __device__ void fetch(gather_shape::part const& at) {
    int const lane = copy::warp::rank();
    mine_ = lane < at.rows ? what_.index[at.row + lane] : 0;
  }
  /// By the whole warp: lets all lanes see what was asked for last.
  __device__ void show() {
    __syncwarp();  // all have read what was shown before
    shown_[copy::warp::rank()] = mine_;
    __syncwarp();
  }
  __device__ uint4 const* source(int row, int first) const {
    return what_.table + std::int64_t{shown_[row]} * what_.row_vectors + first;
  }

 private:
  gather_shape const& what_;
  std::int32_t* shown_;
  std::int32_t mine_ = 0;
};

/// Each warp brings in its tiles by a pipeline of its own, and stores them as one contiguous run.
template <class Strategy, int Threads>
__global__ __launch_bounds__(Threads) void gather_rows(gather_shape what) {
  constexpr int each = copy::vectors_per_thread<Strategy>();
  constexpr int warps = Threads / 32;
  using warp_tiles = copy::vectors<Strategy, copy::warp, each>;
  auto const warp = static_cast<int>(threadIdx.x / 32);
  warp_tiles tiles{dynamic_shared() + warp * warp_tiles::storage_bytes};
  auto const total = (what.rows + what.tile_rows - 1) / what.tile_rows * what.parts;
  auto const walker = std::int64_t{blockIdx.x} * warps + warp;
  auto const walkers = std::int64_t{gridDim.x} * warps;
  auto const count = tiles_of(total, walker, walkers);
  auto const cut = [&](int i) { return what.tile(walker + i * walkers); };
  __shared__ std::int32_t shown[warps][32];
  rows_ahead ahead{what, shown[warp]};
  if (count > 0) { ahead.fetch(cut(0)); }
  copy::walk(
      tiles, count,
      [&](int i) {
        auto const at = cut(i);
        ahead.show();
        if (i + 1 < count) { ahead.fetch(cut(i + 1)); }
        tiles.load_rows(i, at.rows, at.vectors, at.vectors,
                        [&](int r) { return ahead.source(r, at.first); });
      },
      [&](int i) {
        auto const at = cut(i);
        auto* const to = what.out + at.row * what.row_vectors + at.first;
#pragma unroll
        for (int k = 0; k < each; ++k) {
          int const v = k * 32 + copy::warp::rank();
          if (v < at.rows * at.vectors) { to[v] = tiles.get(i, k); }
        }
      });
}

/// The kernel for so many threads, `std::integral_constant<int, Threads>`; its warps take tiles.
template <class Strategy, int Threads>
auto gather_kernel(std::integral_constant<int, Threads>) {
  constexpr int warps = Threads / 32;
  using tiles = copy::vectors<Strategy, copy::warp, copy::vectors_per_thread<Strategy>()>;
  return tile_kernel{gather_rows<Strategy, Threads>, Threads, warps * tiles::storage_bytes, warps};
}

/// Enqueues a gather; pointers are multiples of 16.
template <class Strategy>
void launch_gather(on::device place, ::cuda::stream_ref stream, uint4 const* table,
                   std::int32_t const* index, uint4* out, workloads::row_gather const& work) {
  if (work.rows == 0) { return; }
  constexpr int tile = 32 * copy::vectors_per_thread<Strategy>();
  auto const row_vectors = static_cast<int>(work.row_bytes / 16);
  gather_shape const what{table,
                          index,
                          out,
                          work.rows,
                          row_vectors,
                          std::clamp(tile / row_vectors, 1, 32),  // a lane looks up one
                          (row_vectors + tile - 1) / tile,
                          std::min(tile, row_vectors)};
  auto const tiles = (what.rows + what.tile_rows - 1) / what.tile_rows * what.parts;
  with_threads(work.threads, [&](auto constant) {
    launch_tiles<Strategy>(gather_kernel<Strategy>(constant), {place, stream, work.max_sms}, tiles,
                           what);
  });
}

}  // namespace kernel

namespace workloads {

/// Throws `std::invalid_argument` that says why, unless the gather can run so on a device.
template <copy_strategy Strategy>
void require_on(on::device place, row_gather const& work, Strategy) {
  kernel::with_threads(work.threads, [&](auto constant) {
    kernel::require_tiles<Strategy>(kernel::gather_kernel<Strategy>(constant), place);
  });
}

/// Launches one kernel on the lane's stream. The device must be current on this thread.
template <device_lane Lane>
void run_on(Lane& where, row_gather const& work, gather_arrays const& all) {
  kernel::launch_gather<typename Lane::copy_type>(
      where.place, where.stream, reinterpret_cast<uint4 const*>(all.table), all.index,
      reinterpret_cast<uint4*>(all.out), work);
}

}  // namespace workloads
}  // namespace assay
