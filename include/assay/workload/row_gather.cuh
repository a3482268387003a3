// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::row_gather` on the device.
#pragma once

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/core/stream.hpp>
#include <assay/workload/capped_grid.cuh>
#include <assay/workload/filled.cuh>
#include <assay/workload/resident.hpp>
#include <assay/workload/row_gather.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace assay {

namespace kernel {

/// A gather as its kernel sees it: rows in vectors, and how a warp cuts them into tiles of
/// `tile_rows` whole rows, or, where a row is longer than a tile, into `parts` for each row.
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

/// The rows of a warp's next tile, looked up while those of this one are on their way: else every
/// tile would wait for its indices first.
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

/// `row_gather::word` on the device.
struct table_word_on_device {
  std::uint64_t seed;
  __device__ std::uint64_t operator()(std::int64_t k) const {
    return kernel::device_random_at(seed, static_cast<std::uint64_t>(k));
  }
};
/// `row_gather::index` on the device.
struct row_index_on_device {
  std::uint64_t seed;
  std::uint64_t table_rows;
  __device__ std::int32_t operator()(std::int64_t i) const {
    auto const random = kernel::device_random_at(seed + 1, static_cast<std::uint64_t>(i));
    return static_cast<std::int32_t>(random % table_rows);
  }
};

/// Table, indices and an output for each lane on the device.
class device_gather_state {
 public:
  /// The device must be current.
  device_gather_state(on::device place, row_gather const& work, int lanes)
      : table(static_cast<std::size_t>(work.table_rows * work.row_words())),
        index(static_cast<std::size_t>(work.rows)),
        place_(place),
        work_(work) {
    range const here{"prepare", category::gpu};
    fill_resident(place, table.get(), work.table_rows * work.row_words(),
                  table_word_on_device{work.seed});
    fill_resident(place, index.get(), work.rows,
                  row_index_on_device{work.seed, static_cast<std::uint64_t>(work.table_rows)});
    for (int lane = 0; lane < lanes; ++lane) { outputs.emplace_back(output_bytes()); }
    poison();
  }

  void poison() {
    device_guard const guard{place_};
    for (auto& each : outputs) { check(cudaMemset(each.get(), 0x7F, output_bytes())); }
    check(cudaDeviceSynchronize());
  }

  mismatch verify() const {
    range const here{"verify outputs", category::transfer};
    device_guard const guard{place_};
    constexpr std::int64_t part_bytes = std::int64_t{64} << 20U;  // at a time on the host
    auto const part = std::max<std::int64_t>(1, part_bytes / work_.row_bytes);
    std::vector<std::byte> got(
        static_cast<std::size_t>(std::min(part, work_.rows) * work_.row_bytes));
    for (std::size_t lane = 0; lane < outputs.size(); ++lane) {
      for (std::int64_t row = 0; row < work_.rows; row += part) {
        auto const count = std::min(part, work_.rows - row);
        check(cudaMemcpy(got.data(), outputs[lane].get() + row * work_.row_bytes,
                         static_cast<std::size_t>(count * work_.row_bytes), cudaMemcpyDefault));
        if (auto found = work_.check_rows(static_cast<int>(lane), got.data(), row, count)) {
          return found;
        }
      }
    }
    return {};
  }

  resident<std::uint64_t> table;
  resident<std::int32_t> index;
  std::vector<resident<std::byte>> outputs;

 private:
  std::size_t output_bytes() const noexcept {
    return static_cast<std::size_t>(work_.rows * work_.row_bytes);
  }

  on::device place_;
  row_gather work_;
};

template <device_lane Lane>
auto prepare_on(Lane& where, row_gather const& work, int lanes) {
  device_guard const guard{where.place};
  return device_gather_state{where.place, work, lanes};
}

/// Throws `std::invalid_argument` that says why, unless the gather can run so on a device.
template <copy_strategy Strategy>
void require_on(on::device place, row_gather const& work, Strategy) {
  kernel::with_threads(work.threads, [&](auto constant) {
    kernel::require_tiles<Strategy>(kernel::gather_kernel<Strategy>(constant), place);
  });
}

/// One kernel on the lane's stream, whose device must be current on this thread.
template <device_lane Lane>
void enqueue_on(Lane& where, row_gather const& work, device_gather_state& state) {
  range const here{"row_gather", category::gpu, static_cast<std::uint64_t>(work.rows)};
  kernel::launch_gather<typename Lane::copy_type>(
      where.place, where.stream, reinterpret_cast<uint4 const*>(state.table.get()),
      state.index.get(),
      reinterpret_cast<uint4*>(state.outputs.at(static_cast<std::size_t>(where.index)).get()),
      work);
}

}  // namespace workloads
}  // namespace assay
