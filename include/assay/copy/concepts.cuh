// SPDX-License-Identifier: Apache-2.0
/// @file
/// The device side of a copy strategy: a pipeline of tiles, and one of vectors.
#pragma once

#include <assay/copy/concepts.hpp>

#include <cuda_runtime.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace assay::copy {

/// The threads of a one-dimensional block, which work a pipeline together.
template <int Threads>
struct block {
  static_assert(Threads % 32 == 0 && Threads >= 32 && Threads <= 1024);
  static constexpr int threads = Threads;
  __device__ static int rank() { return static_cast<int>(threadIdx.x); }
  __device__ static void sync() { __syncthreads(); }
};

/// The threads of one warp, which work a pipeline of their own.
struct warp {
  static constexpr int threads = 32;
  __device__ static int rank() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static void sync() { __syncwarp(); }
};

/// A pipeline of tiles that all threads of `Group` read in shared memory. Each strategy has one
/// specialisation, and a strategy of one's own brings another.
///
/// All members are collective over the group. Tiles are numbered 0, 1, 2 ... and arrive in that
/// order. At most `stages` tiles may be started and not yet released:
///
///     tile_pipeline<Strategy, block<256>, tile_bytes> tiles{shared};
///     for (int i = 0; i < tiles.stages && i < n; ++i) { tiles.load(i, source(i), bytes(i)); }
///     for (int i = 0; i < n; ++i) {
///       auto const* tile = tiles.wait(i);
///       ... all threads read the tile ...
///       tiles.release(i);
///       if (i + tiles.stages < n) { tiles.load(i + tiles.stages, ...); }
///     }
///
/// `load(i, source, bytes)` starts a tile of at most `TileBytes` from any address. A tile of
/// several pieces is started by calls of `add_rows(i, offset, pitch, source, source_pitch, rows,
/// row_bytes)`, and then `commit(i)`. `wait(i)` waits for the whole tile and returns the address of
/// its byte 0. After a `load`, that address is congruent to the source's modulo 16; after pieces,
/// it is a multiple of 128. Pieces must not overlap. They are fast where offset and source are
/// congruent modulo 16, and correct anywhere. `release(i)` ends this thread's reads of the tile. A
/// block must wait for every tile that it has started.
///
/// The constructor takes `storage_bytes` of shared memory at a multiple of `storage_alignment`.
/// Sources must not change while the kernel runs, or have been made visible to the asynchronous
/// proxy by their writers (`cuda::ptx::fence_proxy_async`).
template <class Strategy, class Group, int TileBytes>
class tile_pipeline;

/// The alignment of a pipeline's storage: the cache line that bulk copies are fastest with.
inline constexpr std::size_t storage_alignment = 128;

/// A pipeline of tiles of `Vectors` times 16 bytes for each thread of `Group`. A thread reads only
/// its own vectors, so a strategy may keep them in registers, and threads need not wait for each
/// other.
///
/// It is used as `tile_pipeline`, with other loads, one for each tile. `load(i, source, count)`
/// loads `count` vectors from a multiple of 16. `load_rows(i, rows, row_vectors, stride,
/// source_of)` loads `rows` rows of `row_vectors`, row r from `source_of(r)` to vector `r * stride`
/// of the tile. After `wait(i)`, `get(i, k)` is vector `k * Group::threads + Group::rank()` of the
/// tile, which must have been loaded. `k` must be a constant after unrolling.
template <class Strategy, class Group, int Vectors>
class vectors;

/// Runs a group through `count` tiles, numbered from 0. `load(i)` starts a tile. `use(i)` reads the
/// tile when it has arrived; for a `tile_pipeline`, `use(i, tile)` gets the result of `wait`.
template <class Tiles, class Load, class Use>
__device__ void walk(Tiles& tiles, int count, Load const& load, Use const& use) {
  for (int i = 0; i < Tiles::stages && i < count; ++i) { load(i); }
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_void_v<decltype(tiles.wait(i))>) {
      tiles.wait(i);
      use(i);
    } else {
      use(i, tiles.wait(i));
    }
    tiles.release(i);
    if (i + Tiles::stages < count) { load(i + Tiles::stages); }
  }
}

/// The vectors of a tile for each thread, in kernels that leave the number to the strategy: the
/// loads that `copy::regular` has in flight; otherwise four, so that 256 threads share tiles of 16
/// KiB.
template <copy_strategy Strategy>
__host__ __device__ constexpr int vectors_per_thread() {
  if constexpr (requires { Strategy::unroll; }) {
    return Strategy::unroll;
  } else {
    return 4;
  }
}

namespace detail {

/// The source of vector `at` of a tile of rows; null where no row has the vector.
template <class SourceOf>
__device__ uint4 const* vector_of_rows(int at, int rows, int row_vectors, int stride,
                                       SourceOf const& source_of) {
  auto const row = static_cast<unsigned>(at) / static_cast<unsigned>(stride);
  auto const in_row = static_cast<unsigned>(at) % static_cast<unsigned>(stride);
  bool const there =
      row < static_cast<unsigned>(rows) && in_row < static_cast<unsigned>(row_vectors);
  return there ? source_of(static_cast<int>(row)) + in_row : nullptr;
}

constexpr int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

__device__ inline unsigned low_bits(void const* address) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(address));
}

/// True where both addresses have the same remainder modulo `Alignment`.
template <unsigned Alignment>
__device__ bool congruent(void const* a, void const* b) {
  return ((low_bits(a) ^ low_bits(b)) & (Alignment - 1)) == 0;
}

/// The division of bytes at an address: bytes before the first unit, units, bytes after the last.
struct split {
  int head;
  int units;
  int tail;
};

template <int Unit>
__device__ split split_at(void const* from, int bytes) {
  auto const before = static_cast<int>(-low_bits(from) & (Unit - 1));
  int const head = before < bytes ? before : bytes;
  return {head, (bytes - head) / Unit, (bytes - head) % Unit};
}

/// Copies single bytes by plain loads, where no wider access is possible.
template <int Threads>
__device__ void copy_bytes(std::byte* to, std::byte const* from, int bytes, int rank) {
#pragma unroll 1
  for (int k = rank; k < bytes; k += Threads) { to[k] = from[k]; }
}

/// Copies the bytes before and after the units of a piece.
template <int Unit, int Threads>
__device__ void copy_ends(std::byte* to, std::byte const* from, split const& at, int rank) {
  copy_bytes<Threads>(to, from, at.head, rank);
  int const after = at.head + at.units * Unit;
  copy_bytes<Threads>(to + after, from + after, at.tail, rank);
}

/// True where rows at a pitch are whole units of 16 aligned bytes.
__device__ inline bool rows_aligned(void const* to, int pitch, void const* from,
                                    std::int64_t from_pitch, int row_bytes) {
  auto const all = low_bits(to) | static_cast<unsigned>(pitch) | low_bits(from) |
                   static_cast<unsigned>(from_pitch) | static_cast<unsigned>(row_bytes);
  return (all & 15U) == 0;
}

/// The slots of a pipeline in shared memory: where each is, and where in it a tile begins.
template <class Group, int TileBytes, int Stages>
class slots {
 public:
  /// Room for a tile that begins up to 15 bytes late, as its source does.
  static constexpr int slot_bytes = round_up(TileBytes + 15, static_cast<int>(storage_alignment));
  static constexpr int bytes = slot_bytes * Stages;
  static_assert(TileBytes > 0 && Stages <= 16);

  __device__ explicit slots(void* storage) : base_(static_cast<std::byte*>(storage)) {}

  __device__ std::byte* base(int tile) const { return base_ + tile % Stages * slot_bytes; }

  /// Lets tile `tile` begin as far from a multiple of 16 as `source` does.
  __device__ std::byte* place_like(int tile, void const* source) {
    unsigned const at = 4U * static_cast<unsigned>(tile % Stages);
    auto const late = std::uint64_t{low_bits(source) & 15U};
    shifts_ = (shifts_ & ~(std::uint64_t{15} << at)) | (late << at);
    return base(tile) + late;
  }
  __device__ void place_at_base(int tile) {
    shifts_ &= ~(std::uint64_t{15} << (4U * static_cast<unsigned>(tile % Stages)));
  }
  __device__ std::byte* tile(int tile) const {
    return base(tile) + ((shifts_ >> (4U * static_cast<unsigned>(tile % Stages))) & 15U);
  }

 private:
  std::byte* base_;
  std::uint64_t shifts_ = 0;  // four bits for each stage: an array would live in local memory
};

/// The releases that all threads of a group know of, for strategies with barriers. Every barrier
/// counts, so that the reuse of a slot rarely needs a barrier of its own.
template <class Group>
class released_tiles {
 public:
  __device__ void release(int tile) { released_ = tile + 1; }
  __device__ void sync() {
    Group::sync();
    known_ = released_;
  }
  /// Waits until all threads have released every tile below `count`.
  __device__ void require(int count) {
    if (known_ < count) { sync(); }
  }

 private:
  int released_ = 0;
  int known_ = 0;
};

}  // namespace detail

/// The interface of `tile_pipeline`, which specialisations for other strategies can be checked
/// with.
template <class P>
concept tile_pipeline_interface =
    std::constructible_from<P, void*> && requires(P& tiles, void const* source, int n) {
      { P::stages } -> std::convertible_to<int>;
      { P::storage_bytes } -> std::convertible_to<std::size_t>;
      tiles.load(n, source, n);
      tiles.add_rows(n, n, n, source, std::int64_t{}, n, n);
      tiles.commit(n);
      { tiles.wait(n) } -> std::same_as<std::byte const*>;
      tiles.release(n);
    };

}  // namespace assay::copy
