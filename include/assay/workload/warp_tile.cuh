// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streaming kernels over rows: wide accesses, and tiles of rows that a warp handles by itself.
#pragma once

#include <assay/kernel/launch.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::kernel {

/// The tuning of a streaming kernel. Every choice gives the same result. (A type, since nvcc 13.0
/// cannot compile kernels with values of class type as template arguments.)
///
/// `Threads` per block, whole warps; `Packs` independent wide loads that each thread has in flight;
/// `Streams` stores leave the caches to other data (evict first).
template <unsigned Threads = 256, int Packs = 8, bool Streams = false>
struct tuning {
  static_assert(Threads % 32 == 0 && Threads <= 1024 && Packs > 0);
  static constexpr unsigned threads = Threads;
  static constexpr int packs = Packs;
  static constexpr bool streams = Streams;
};

/// `Rows` neighbouring rows, moved in one access of at most 16 bytes.
template <class T, int Rows>
struct alignas(sizeof(T) * Rows) pack {
  static_assert(sizeof(T) * Rows <= 16, "a thread moves at most 16 bytes at a time");
  T at[static_cast<std::size_t>(Rows)];
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

template <class P>
__device__ P load(P const* from) {
  return bit_cast<P>(*reinterpret_cast<machine_word<sizeof(P)> const*>(from));
}

template <bool Streams, class P>
__device__ void store(P* to, P const& value) {
  using word = machine_word<sizeof(P)>;
  if constexpr (Streams) {
    __stcs(reinterpret_cast<word*>(to), bit_cast<word>(value));
  } else {
    // Not a plain assignment: the compiler would merge it with the scalar stores of a tile's tail.
    __stwb(reinterpret_cast<word*>(to), bit_cast<word>(value));
  }
}

/// Rows [row, row + Rows) of a tile. If the tile is not full, those below `left` alone, one by one;
/// the others read as zero.
template <int Rows, bool Full, class T>
__device__ pack<T, Rows> load_rows(T const* tile, int row, int left) {
  if constexpr (Full) { return load(reinterpret_cast<pack<T, Rows> const*>(tile + row)); }
  pack<T, Rows> rows{};
  for (int k = 0; k < Rows; ++k) {
    if (row + k < left) { rows.at[k] = tile[row + k]; }
  }
  return rows;
}

template <bool Streams, bool Full, class T, int Rows>
__device__ void store_rows(T* tile, int row, int left, pack<T, Rows> const& rows) {
  if constexpr (Full) {
    store<Streams>(reinterpret_cast<pack<T, Rows>*>(tile + row), rows);
  } else {
    for (int k = 0; k < Rows; ++k) {
      if (row + k < left) { tile[row + k] = rows.at[k]; }
    }
  }
}

/// Runs `tile.run<Full>(first, left, lane)` for this warp's tile of `Tile::rows` rows of [0, rows).
/// Only the last tile may not be full. Indices inside a tile are 32-bit.
template <class Tuning, class Tile>
__device__ void run_tile(Tile const& tile, std::int64_t rows) {
  constexpr int warps = Tuning::threads / 32;
  int const lane = static_cast<int>(threadIdx.x % 32);
  auto const first = (std::int64_t{blockIdx.x} * warps + threadIdx.x / 32) * Tile::rows;
  auto const left = rows - first;
  if (left >= Tile::rows) {
    tile.template run<true>(first, Tile::rows, lane);
  } else if (left > 0) {
    tile.template run<false>(first, static_cast<int>(left), lane);
  }
}

/// Launches a kernel that calls `run_tile` with tiles of `tile_rows`; zero rows launch nothing.
template <class Tuning, class... Parameters>
void launch_over_tiles(void (*kernel)(Parameters...), std::int64_t tile_rows,
                       ::cuda::stream_ref stream, std::int64_t rows,
                       std::type_identity_t<Parameters>... arguments) {
  if (rows == 0) { return; }
  auto const block_rows = tile_rows * (Tuning::threads / 32);
  launch_shape const shape{static_cast<unsigned>((rows + block_rows - 1) / block_rows),
                           Tuning::threads};
  launch(kernel, shape, 0, stream, arguments...);
}

}  // namespace assay::kernel
