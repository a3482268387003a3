// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streaming kernels over rows: wide accesses, and tiles of rows that a warp handles by itself.
#pragma once

#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace assay::kernel {

/// The cache hint of a load or store: none, evict first, or bypass L1.
enum class cache { normal, streaming, l2_only };

/// The tuning of a streaming kernel. Every choice gives the same result. (A type, since nvcc 13.0
/// cannot compile kernels with values of class type as template arguments.)
///
/// `Threads` per block, whole warps; `Packs` independent wide loads that each thread has in flight;
/// a `Persistent` grid has as many blocks as are resident at once, each with many tiles.
template <unsigned Threads = 256, int Packs = 8, cache Loads = cache::normal,
          cache Stores = cache::normal, bool Persistent = false>
struct tuning {
  static_assert(Threads % 32 == 0 && Threads <= 1024 && Packs > 0);
  static constexpr unsigned threads = Threads;
  static constexpr int packs = Packs;
  static constexpr cache loads = Loads;
  static constexpr cache stores = Stores;
  static constexpr bool persistent = Persistent;
};

/// `Rows` neighbouring rows, moved in one access of at most 16 bytes.
template <class T, int Rows>
struct alignas(sizeof(T) * Rows) pack {
  static_assert(sizeof(T) * Rows <= 16, "a thread moves at most 16 bytes at a time");
  T at[Rows];
};

/// The built-in type that moves so many bytes in one instruction.
template <std::size_t Bytes>
using machine_word = std::conditional_t<
    Bytes == 16, uint4,
    std::conditional_t<Bytes == 8, uint2,
                       std::conditional_t<Bytes == 4, unsigned, unsigned short>>>;

/// The same bytes as another type: `cuda::std::bit_cast`, without the reduced-precision types that
/// its header brings along.
template <class To, class From>
__device__ To bit_cast(From const& value) {
  return __builtin_bit_cast(To, value);
}

template <cache Hint, class P>
__device__ P load(P const* from) {
  auto const* word = reinterpret_cast<machine_word<sizeof(P)> const*>(from);
  if constexpr (Hint == cache::streaming) { return bit_cast<P>(__ldcs(word)); }
  if constexpr (Hint == cache::l2_only) { return bit_cast<P>(__ldcg(word)); }
  return bit_cast<P>(*word);
}

template <cache Hint, class P>
__device__ void store(P* to, P const& value) {
  using word = machine_word<sizeof(P)>;
  auto const moved = bit_cast<word>(value);
  if constexpr (Hint == cache::streaming) {
    __stcs(reinterpret_cast<word*>(to), moved);
  } else if constexpr (Hint == cache::l2_only) {
    __stcg(reinterpret_cast<word*>(to), moved);
  } else {
    // Not a plain assignment: the compiler would merge it with the scalar stores of a tile's tail.
    __stwb(reinterpret_cast<word*>(to), moved);
  }
}

/// Rows [row, row + Rows) of a tile. If the tile is not full, those below `left` alone, one by one;
/// the others read as zero.
template <cache Hint, int Rows, bool Full, class T>
__device__ pack<T, Rows> load_rows(T const* tile, int row, int left) {
  if constexpr (Full) { return load<Hint>(reinterpret_cast<pack<T, Rows> const*>(tile + row)); }
  pack<T, Rows> rows{};
  for (int k = 0; k < Rows; ++k) {
    if (row + k < left) { rows.at[k] = tile[row + k]; }
  }
  return rows;
}

template <cache Hint, bool Full, class T, int Rows>
__device__ void store_rows(T* tile, int row, int left, pack<T, Rows> const& rows) {
  if constexpr (Full) {
    store<Hint>(reinterpret_cast<pack<T, Rows>*>(tile + row), rows);
  } else {
    for (int k = 0; k < Rows; ++k) {
      if (row + k < left) { tile[row + k] = rows.at[k]; }
    }
  }
}

/// Runs `tile.run<Full>(first, left, lane)` for tiles of `Tile::rows` rows that together are
/// [0, rows), each by one warp; only the last may not be full. Indices inside a tile are 32-bit.
template <class Tuning, class Tile>
__device__ void for_each_tile(Tile const& tile, std::int64_t rows) {
  constexpr int warps = Tuning::threads / 32;
  int const lane = static_cast<int>(threadIdx.x % 32);
  auto first = (std::int64_t{blockIdx.x} * warps + threadIdx.x / 32) * Tile::rows;
  for (; first < rows; first += std::int64_t{gridDim.x} * warps * Tile::rows) {
    auto const left = rows - first;
    if (left >= Tile::rows) {
      tile.template run<true>(first, Tile::rows, lane);
    } else {
      tile.template run<false>(first, static_cast<int>(left), lane);
    }
    if constexpr (!Tuning::persistent) { return; }
  }
}

/// Launches a kernel that calls `for_each_tile` with tiles of `tile_rows`; zero rows launch
/// nothing.
template <class Tuning, class... Parameters>
void launch_over_tiles(void (*kernel)(Parameters...), std::int64_t tile_rows, on::device place,
                       ::cuda::stream_ref stream, std::int64_t rows,
                       std::type_identity_t<Parameters>... arguments) {
  if (rows == 0) { return; }
  auto const block_rows = tile_rows * (Tuning::threads / 32);
  launch_shape shape{static_cast<unsigned>((rows + block_rows - 1) / block_rows), Tuning::threads};
  if constexpr (Tuning::persistent) {
    shape.blocks = std::min(shape.blocks, resident_shape(kernel, place, Tuning::threads).blocks);
  }
  launch(kernel, shape, 0, stream, arguments...);
}

}  // namespace assay::kernel
