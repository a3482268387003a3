// SPDX-License-Identifier: Apache-2.0
/// @file
/// What every copy strategy has to bring in rightly: kernels that pass bytes through its tiles.
#pragma once

#include "catch.hpp"

#include <assay/copy/bulk.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/core/stream.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/kernel/shared_memory.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::test {

/// The groups of a block of `Threads`: one of them all, or its warps.
template <class Group, int Threads>
inline constexpr int groups_in_block = Threads / Group::threads;

/// Group g of the grid passes `bytes` bytes from `in + g` (so at every alignment) to `out + g *
/// region`, in tiles of `tile`.
template <class Strategy, class Group, int TileBytes, int Threads>
__global__ void pass_tiles(std::byte const* in, std::byte* out, int region, int bytes, int tile) {
  using tiles_type = copy::tile_pipeline<Strategy, Group, TileBytes>;
  auto const group = static_cast<int>(threadIdx.x) / Group::threads;
  tiles_type tiles{kernel::dynamic_shared() + group * tiles_type::storage_bytes};
  int const number = static_cast<int>(blockIdx.x) * groups_in_block<Group, Threads> + group;
  auto const* const from = in + number;
  auto* const to = out + static_cast<std::ptrdiff_t>(number) * region;
  auto const size = [&](int i) { return bytes - i * tile < tile ? bytes - i * tile : tile; };
  copy::walk(
      tiles, (bytes + tile - 1) / tile, [&](int i) { tiles.load(i, from + i * tile, size(i)); },
      [&](int i, std::byte const* there) {
        bool const congruent = (reinterpret_cast<std::uintptr_t>(there) -
                                reinterpret_cast<std::uintptr_t>(from + i * tile)) %
                                   16 ==
                               0;
        for (int k = Group::rank(); k < size(i) && congruent; k += Group::threads) {
          to[i * tile + k] = there[k];
        }
      });
}

/// The same for a tile of two pieces, the second `gap` bytes after the first, whose source is
/// `skew` bytes further from a multiple of 16 than where it goes.
template <class Strategy, class Group, int TileBytes, int Threads>
__global__ void pass_pieces(std::byte const* in, std::byte* out, int first, int gap, int second,
                            int skew, int tiles_count) {
  copy::tile_pipeline<Strategy, Group, TileBytes> tiles{kernel::dynamic_shared()};
  int const both = first + second;
  copy::walk(
      tiles, tiles_count,
      [&](int i) {
        auto const* const from = in + i * (both + skew);
        tiles.add_rows(i, 0, 0, from, 0, 1, first);
        tiles.add_rows(i, first + gap, 0, from + first + skew, 0, 1, second);
        tiles.commit(i);
      },
      [&](int i, std::byte const* there) {
        for (int k = Group::rank(); k < both; k += Group::threads) {
          out[i * both + k] = there[k < first ? k : k + gap];
        }
      });
}

/// Rows of a matrix, `tile_rows` a tile, from one pitch to another and from there to none.
template <class Strategy, class Group, int TileBytes, int Threads>
__global__ void pass_rows(std::byte const* in, std::byte* out, int rows, int row_bytes, int pitch,
                          int tile_pitch, int tile_rows) {
  copy::tile_pipeline<Strategy, Group, TileBytes> tiles{kernel::dynamic_shared()};
  auto const many = [&](int i) {
    return rows - i * tile_rows < tile_rows ? rows - i * tile_rows : tile_rows;
  };
  copy::walk(
      tiles, (rows + tile_rows - 1) / tile_rows,
      [&](int i) {
        tiles.add_rows(i, 0, tile_pitch, in + std::ptrdiff_t{i} * tile_rows * pitch, pitch, many(i),
                       row_bytes);
        tiles.commit(i);
      },
      [&](int i, std::byte const* there) {
        for (int k = Group::rank(); k < many(i) * row_bytes; k += Group::threads) {
          out[i * tile_rows * row_bytes + k] = there[k / row_bytes * tile_pitch + k % row_bytes];
        }
      });
}

/// Vectors: group g passes `count` of them from `in` to `out + g * count`, `tile` at a time, and
/// where `rows` is not 0 as so many rows of `tile / rows`, in descending order.
template <class Strategy, class Group, int Vectors, int Threads>
__global__ void pass_vectors(uint4 const* in, uint4* out, int count, int tile, int rows) {
  using tiles_type = copy::vectors<Strategy, Group, Vectors>;
  auto const group = static_cast<int>(threadIdx.x) / Group::threads;
  tiles_type tiles{kernel::dynamic_shared() + group * tiles_type::storage_bytes};
  int const number = static_cast<int>(blockIdx.x) * groups_in_block<Group, Threads> + group;
  auto* const to = out + static_cast<std::ptrdiff_t>(number) * count;
  auto const size = [&](int i) { return count - i * tile < tile ? count - i * tile : tile; };
  copy::walk(
      tiles, (count + tile - 1) / tile,
      [&](int i) {
        if (rows == 0) {
          tiles.load(i, in + i * tile, size(i));
        } else {
          int const each = size(i) / rows;
          tiles.load_rows(i, rows, each, each > 0 ? each : 1,
                          [&](int r) { return in + i * tile + (rows - 1 - r) * each; });
        }
      },
      [&](int i) {
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
          int const at = k * Group::threads + Group::rank();
          if (at < size(i)) { to[i * tile + at] = tiles.get(i, k); }
        }
      });
}

/// Launches a test kernel with `shared` bytes for the tiles of its groups.
template <class... Parameters, class... Arguments>
void launch_test(::cuda::stream_ref on, void (*run)(Parameters...), int blocks, int threads,
                 int shared, Arguments const&... arguments) {
  auto const bytes = static_cast<std::size_t>(shared);
  kernel::set_max_dynamic_shared_memory(run, on::device{0}, bytes);
  kernel::launch(
      run, kernel::launch_shape{static_cast<unsigned>(blocks), static_cast<unsigned>(threads)},
      bytes, on, arguments...);
}

}  // namespace assay::test
