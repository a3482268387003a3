// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::transpose` on the device.
#pragma once

#include "capped_grid.cuh"
#include "transpose.hpp"

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/core/stream.hpp>
#include <assay/workload/array_workload.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay {

namespace kernel {

/// A square tile of a transpose. The pitch of its rows is a multiple of 16, as bulk copies need it.
/// The multiple is odd, so that a column lies in eight banks: memory is the limit then.
struct transpose_tile {
  static constexpr int side = 64;
  static constexpr int pitch = side * 4 + 16;
  static constexpr int bytes = side * pitch;
};

/// Brings in squares of the input by rows; a warp stores columns of them as rows of the output.
template <class Strategy, int Threads>
__global__ __launch_bounds__(Threads) void transpose_tiles(std::uint32_t const* in,
                                                           std::uint32_t* out, std::int64_t rows,
                                                           std::int64_t columns) {
  constexpr int side = transpose_tile::side;
  constexpr int pitch = transpose_tile::pitch;
  copy::tile_pipeline<Strategy, copy::block<Threads>, transpose_tile::bytes> tiles{
      dynamic_shared()};
  auto const across = (columns + side - 1) / side;
  auto const total = (rows + side - 1) / side * across;
  auto const row = [&](int i) {
    return (blockIdx.x + std::int64_t{gridDim.x} * i) / across * side;
  };
  auto const column = [&](int i) {
    return (blockIdx.x + std::int64_t{gridDim.x} * i) % across * side;
  };
  auto const of_side = [](std::int64_t left) {
    return left < side ? static_cast<int>(left) : side;
  };
  copy::walk(
      tiles, tiles_of(total, blockIdx.x, gridDim.x),
      [&](int i) {
        tiles.add_rows(i, 0, pitch, in + row(i) * columns + column(i), columns * 4,
                       of_side(rows - row(i)), of_side(columns - column(i)) * 4);
        tiles.commit(i);
      },
      [&](int i, std::byte const* tile) {
        int const high = of_side(rows - row(i));
        int const wide = of_side(columns - column(i));
        for (int c = static_cast<int>(threadIdx.x / 32); c < wide; c += Threads / 32) {
          auto* const to = out + (column(i) + c) * rows + row(i);
          for (int r = static_cast<int>(threadIdx.x % 32); r < high; r += 32) {
            to[r] = *reinterpret_cast<std::uint32_t const*>(tile + r * pitch + c * 4);
          }
        }
      });
}

/// The kernel for so many threads, `std::integral_constant<int, Threads>`; it takes tiles.
template <class Strategy, int Threads>
auto transpose_kernel(std::integral_constant<int, Threads>) {
  using tiles = copy::tile_pipeline<Strategy, copy::block<Threads>, transpose_tile::bytes>;
  return tile_kernel{transpose_tiles<Strategy, Threads>, Threads, tiles::storage_bytes, 1};
}

/// Enqueues the transpose of a row-major matrix.
template <class Strategy>
void launch_transpose(on::device place, ::cuda::stream_ref stream, std::uint32_t const* in,
                      std::uint32_t* out, workloads::transpose const& work) {
  if (work.count() == 0) { return; }
  constexpr int side = transpose_tile::side;
  auto const tiles = ((work.rows + side - 1) / side) * ((work.columns + side - 1) / side);
  with_threads(work.threads, [&](auto constant) {
    launch_tiles<Strategy>(transpose_kernel<Strategy>(constant), {place, stream, work.max_sms},
                           tiles, in, out, work.rows, work.columns);
  });
}

}  // namespace kernel

namespace workloads {

/// Throws `std::invalid_argument` that says why, unless the transpose can run so on a device.
template <copy_strategy Strategy>
void require_on(on::device place, transpose const& work, Strategy) {
  kernel::with_threads(work.threads, [&](auto constant) {
    kernel::require_tiles<Strategy>(kernel::transpose_kernel<Strategy>(constant), place);
  });
}

/// Launches one kernel on the lane's stream. The device must be current on this thread.
template <device_lane Lane>
void run_on(Lane& where, transpose const& work, transpose_arrays const& all) {
  kernel::launch_transpose<typename Lane::copy_type>(where.place, where.stream, all.in, all.out,
                                                     work);
}

}  // namespace workloads
}  // namespace assay
