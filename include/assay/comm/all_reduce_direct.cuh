// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `all_reduce` that works on the ranks' buffers themselves.
#pragma once

#include <assay/comm/all_reduce_call.cuh>
#include <assay/copy/concepts.cuh>
#include <assay/core/ptx.cuh>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace assay::comm {

/// How `Copy` is used to read the buffers of `Ranks` ranks: vectors of 16 bytes for each thread and
/// rank at a time, threads, and shared memory.
template <class Copy, int Ranks, int Threads>
struct direct_tuning {
  /// Leaves an SM of compute capability 8.0 some for its cache.
  static constexpr std::size_t most_shared_bytes = 160 * 1024;

  static constexpr bool in_registers = requires { Copy::unroll; };
  /// What comes in by bulk copies goes out by bulk copies.
  static constexpr bool bulk_stores = ptx::architecture >= 90 && Copy::capability >= 90;
  static constexpr std::size_t staged_bytes(int threads, int vectors) {
    auto const tiles = Ranks * Copy::stages + (Copy::capability >= 90 ? 1 : 0);
    return std::size_t{16} * static_cast<std::size_t>(threads * vectors * tiles);
  }
  static constexpr int fitting_threads() {
    int threads = Threads;
    while (!in_registers && threads > 32 && staged_bytes(threads, 1) > most_shared_bytes) {
      threads /= 2;
    }
    return threads;
  }
  static constexpr int threads = fitting_threads();
  /// In registers, as many as the strategy has loads in flight, over all ranks twice as many at
  /// most.
  static constexpr int fitting_vectors() {
    if constexpr (in_registers) {
      return Copy::unroll * 2 / Ranks > 1 ? Copy::unroll * 2 / Ranks : 1;
    }
    int vectors = 4;
    while (vectors > 1 && staged_bytes(threads, vectors) > most_shared_bytes) { vectors /= 2; }
    return vectors;
  }
  static constexpr int vectors = fitting_vectors();
  using reader = copy::vectors<Copy, copy::block<threads>, vectors>;
  static constexpr unsigned tile_packs = static_cast<unsigned>(threads * vectors);
  /// That of the readers, then a tile of sums.
  static constexpr std::size_t sums_at = Ranks * reader::storage_bytes;
  static constexpr std::size_t shared_bytes =
      sums_at + (Copy::capability >= 90 ? std::size_t{tile_packs} * pack_bytes : 0);
};

namespace detail {

/// A reader for each rank.
template <class Tuning, int Ranks>
struct rank_readers {
  typename Tuning::reader of[Ranks];

  __device__ explicit rank_readers(std::byte* shared)
      : rank_readers(shared, std::make_integer_sequence<int, Ranks>{}) {}

 private:
  template <int... Rank>
  __device__ rank_readers(std::byte* shared, std::integer_sequence<int, Rank...>)
      : of{typename Tuning::reader{shared + Rank * Tuning::reader::storage_bytes}...} {}
};

/// One block's part of the packs that its rank reduces.
template <class T, int Ranks, class Tuning>
class direct_block {
 public:
  __device__ direct_block(channel<T> const& here, std::byte* shared)
      : here_(here),
        call_(here.call),
        grid_(here.call.grid),
        sums_(reinterpret_cast<uint4*>(shared + Tuning::sums_at)) {
    begin_ = call_.to_all ? call_.slice_packs * static_cast<unsigned>(here.me) : 0;
    begin_ = min(begin_, static_cast<unsigned long long>(grid_.packs));
    end_ = min(begin_ + call_.slice_packs, static_cast<unsigned long long>(grid_.packs));
    tiles_begin_ =
        grid_.wide ? max(begin_, static_cast<unsigned long long>(grid_.first_whole)) : end_;
    tiles_begin_ = min(tiles_begin_, end_);
    tiles_end_ = grid_.wide ? min(end_, static_cast<unsigned long long>(grid_.end_whole)) : end_;
    tiles_end_ = max(tiles_begin_, tiles_end_);
  }

  /// What is aligned, in tiles.
  __device__ void reduce_tiles(rank_readers<Tuning, Ranks>& readers) const {
    auto const tiles = (tiles_end_ - tiles_begin_ + Tuning::tile_packs - 1) / Tuning::tile_packs;
    int const mine = here_.block < tiles
                         ? static_cast<int>((tiles - here_.block + gridDim.x - 1) / gridDim.x)
                         : 0;
    for (int i = 0; i < Tuning::reader::stages && i < mine; ++i) { begin_tile(readers, i); }
    for (int i = 0; i < mine; ++i) {
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank < call_.ranks) { readers.of[rank].wait(i); }
      }
      reduce_tile(readers, i);
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank < call_.ranks) { readers.of[rank].release(i); }
      }
      if (i + Tuning::reader::stages < mine) { begin_tile(readers, i + Tuning::reader::stages); }
    }
    if constexpr (Tuning::bulk_stores) {
      if (threadIdx.x == 0) {  // before they are published
        wire::await_copies();
        ::cuda::ptx::fence_proxy_async();
      }
    }
  }

  /// What is not, element by element.
  __device__ void reduce_edges() const {
    auto const thread = std::uint64_t{here_.block} * blockDim.x + threadIdx.x;
    auto const threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (auto k = begin_ + thread; k < tiles_begin_; k += threads) { reduce_one(k); }
    for (auto k = tiles_end_ + thread; k < end_; k += threads) { reduce_one(k); }
  }

 private:
  __device__ unsigned long long tile_begin(int i) const {
    return tiles_begin_ +
           (here_.block + static_cast<unsigned long long>(i) * gridDim.x) * Tuning::tile_packs;
  }
  __device__ int tile_count(int i) const {
    auto const left = tiles_end_ - tile_begin(i);
    return left < Tuning::tile_packs ? static_cast<int>(left)
                                     : static_cast<int>(Tuning::tile_packs);
  }

  /// Begins with the next rank's buffer, so that not all read the same.
  __device__ void begin_tile(rank_readers<Tuning, Ranks>& readers, int i) const {
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank >= call_.ranks) { continue; }
      auto const* const packs = reinterpret_cast<uint4 const*>(grid_origin(call_.in[rank], grid_));
      readers.of[rank].load(i, packs + tile_begin(i), tile_count(i));
    }
  }

  __device__ void reduce_tile(rank_readers<Tuning, Ranks>& readers, int i) const {
    auto const first = tile_begin(i);
    int const count = tile_count(i);
    uint4 sums[Tuning::vectors];
#pragma unroll
    for (int v = 0; v < Tuning::vectors; ++v) {
      uint4 packs[Ranks];
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank < call_.ranks) { packs[rank] = readers.of[rank].get(i, v); }
      }
      sums[v] = narrowed<T>(reduced<T>(packs, call_.ranks, call_.how));
    }
    if constexpr (Tuning::bulk_stores) {
      store_in_bulk(sums, first, count);
    } else {
      store(sums, first, count);
    }
  }

  __device__ void store(uint4 const (&sums)[Tuning::vectors], unsigned long long first,
                        int count) const {
    for (int step = 0; step < outputs(); ++step) {
      auto* const to = output(step) + first;
#pragma unroll
      for (int v = 0; v < Tuning::vectors; ++v) {
        int const at = v * Tuning::threads + static_cast<int>(threadIdx.x);
        if (at < count) { to[at] = sums[v]; }
      }
    }
  }

  /// Through shared memory, by copies that one thread starts.
  __device__ void store_in_bulk(uint4 const (&sums)[Tuning::vectors], unsigned long long first,
                                int count) const {
    if (threadIdx.x == 0) { wire::await_copies_read(); }  // the last tile's
    __syncthreads();
#pragma unroll
    for (int v = 0; v < Tuning::vectors; ++v) {
      sums_[v * Tuning::threads + static_cast<int>(threadIdx.x)] = sums[v];
    }
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x != 0) { return; }
    for (int step = 0; step < outputs(); ++step) {
      ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_global, ::cuda::ptx::space_shared,
                                 output(step) + first, sums_,
                                 static_cast<std::uint32_t>(count) * pack_bytes);
    }
    wire::end_copies();
  }

  __device__ void reduce_one(std::uint64_t k) const {
    uint4 packs[Ranks];
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank < call_.ranks) { packs[rank] = load_elements(call_.in[rank], grid_, k); }
    }
    auto const sum = narrowed<T>(reduced<T>(packs, call_.ranks, call_.how));
    for (int step = 0; step < outputs(); ++step) {
      store_elements(call_.out[here_.peer(step)], grid_, k, sum);
    }
  }

  __device__ int outputs() const { return call_.to_all ? call_.ranks : 1; }
  __device__ uint4* output(int step) const {
    return reinterpret_cast<uint4*>(grid_origin(call_.out[here_.peer(step)], grid_));
  }

  channel<T> const& here_;
  all_reduce_call<T> const& call_;
  pack_grid const& grid_;
  uint4* sums_;
  unsigned long long begin_, end_, tiles_begin_, tiles_end_;
};

}  // namespace detail

/// Reads the inputs of all ranks and writes sums: of one slice to all outputs, or of everything to
/// this rank's. Between two handshakes: inputs are ready and outputs free after the first, without
/// which nothing is written; the second publishes what was, and gives the inputs back.
template <class T, int Ranks, class Copy, int Threads>
__global__ void __launch_bounds__(direct_tuning<Copy, Ranks, Threads>::threads, 1)
    all_reduce_direct(__grid_constant__ all_reduce_call<T> const call) {
  using tuning = direct_tuning<Copy, Ranks, Threads>;
  extern __shared__ __align__(copy::storage_alignment) std::byte shared[];
  channel<T> const here{call};
  auto const before = here.counted().handshakes;
  detail::rank_readers<tuning, Ranks> readers{shared};
  detail::direct_block<T, Ranks, tuning> const block{here, shared};
  require_agreement(here);
  if (meet(here, before + 1, false)) {
    if constexpr (tuning::bulk_stores) { ::cuda::ptx::fence_proxy_async(); }  // before copies read
    block.reduce_tiles(readers);
    block.reduce_edges();
    meet(here, before + protocol::handshakes, true);
  }
  if (threadIdx.x == 0) { here.state()->handshakes = before + protocol::handshakes; }
  here.report();
}

}  // namespace assay::comm
