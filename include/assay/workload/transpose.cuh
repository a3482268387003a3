// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::transpose` on the device.
#pragma once

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/core/stream.hpp>
#include <assay/workload/capped_grid.cuh>
#include <assay/workload/filled.cuh>
#include <assay/workload/resident.hpp>
#include <assay/workload/transpose.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace assay {

namespace kernel {

/// A tile of a transpose: square, its rows at a pitch that is a multiple of 16, as bulk copies need
/// it, and an odd one, so that a column lies in eight banks: enough for memory to be the limit.
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
  copy::pipeline<Strategy, copy::block<Threads>, transpose_tile::bytes> tiles{dynamic_shared()};
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
  using tiles = copy::pipeline<Strategy, copy::block<Threads>, transpose_tile::bytes>;
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

/// `transpose::element` on the device.
struct matrix_element_on_device {
  std::uint64_t seed;
  __device__ std::uint32_t operator()(std::int64_t index) const {
    auto const random = kernel::device_random_at(seed, static_cast<std::uint64_t>(index));
    return static_cast<std::uint32_t>(random >> 33U);
  }
};

/// The matrix and an output for each lane on the device.
class device_transpose_state {
 public:
  /// The device must be current.
  device_transpose_state(on::device place, transpose const& work, int lanes)
      : input(static_cast<std::size_t>(work.count())), place_(place), work_(work) {
    range const here{"prepare", category::gpu};
    fill_resident(place, input.get(), work.count(), matrix_element_on_device{work.seed});
    for (int lane = 0; lane < lanes; ++lane) {
      outputs.emplace_back(static_cast<std::size_t>(work.count()));
    }
    poison();
  }

  void poison() {
    device_guard const guard{place_};
    for (auto& each : outputs) {
      check(cudaMemset(each.get(), transpose::poison_byte,
                       static_cast<std::size_t>(work_.count()) * sizeof(transpose::value_type)));
    }
    check(cudaDeviceSynchronize());
  }

  mismatch verify() const {
    range const here{"verify outputs", category::transfer};
    if (work_.count() == 0) { return {}; }
    device_guard const guard{place_};
    constexpr std::int64_t part_words = std::int64_t{16} << 20U;  // at a time on the host
    auto const part = std::max<std::int64_t>(1, part_words / work_.rows);
    std::vector<transpose::value_type> got(
        static_cast<std::size_t>(std::min(part, work_.columns) * work_.rows));
    for (std::size_t lane = 0; lane < outputs.size(); ++lane) {
      for (std::int64_t c = 0; c < work_.columns; c += part) {
        auto const many = std::min(part, work_.columns - c);
        check(cudaMemcpy(got.data(), outputs[lane].get() + c * work_.rows,
                         static_cast<std::size_t>(many * work_.rows) * sizeof(got[0]),
                         cudaMemcpyDefault));
        if (auto found = work_.check_rows(static_cast<int>(lane), got.data(), c, many)) {
          return found;
        }
      }
    }
    return {};
  }

  resident<transpose::value_type> input;
  std::vector<resident<transpose::value_type>> outputs;

 private:
  on::device place_;
  transpose work_;
};

template <device_lane Lane>
auto prepare_on(Lane& where, transpose const& work, int lanes) {
  device_guard const guard{where.place};
  return device_transpose_state{where.place, work, lanes};
}

/// Throws `std::invalid_argument` that says why, unless the transpose can run so on a device.
template <copy_strategy Strategy>
void require_on(on::device place, transpose const& work, Strategy) {
  kernel::with_threads(work.threads, [&](auto constant) {
    kernel::require_tiles<Strategy>(kernel::transpose_kernel<Strategy>(constant), place);
  });
}

/// One kernel on the lane's stream, whose device must be current on this thread.
template <device_lane Lane>
void enqueue_on(Lane& where, transpose const& work, device_transpose_state& state) {
  range const here{"transpose", category::gpu, static_cast<std::uint64_t>(work.count())};
  kernel::launch_transpose<typename Lane::copy_type>(
      where.place, where.stream, state.input.get(),
      state.outputs.at(static_cast<std::size_t>(where.index)).get(), work);
}

}  // namespace workloads
}  // namespace assay
