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

/// The tuning of `Copy` for the buffers of `Ranks` ranks: threads, vec16s for each thread and rank
/// at a time, and shared memory.
template <class Copy, int Ranks, int Threads>
struct direct_tuning {
  /// The limit of all tunings, so that an SM of compute capability 8.0 keeps 32 of its 192 KiB as
  /// L1 cache. `require_shared_memory` refuses devices that have less than a tuning needs.
  static constexpr std::size_t most_shared_bytes = 160 * 1024;

  static constexpr bool in_registers = requires { Copy::unroll; };
  /// A strategy that loads by bulk copies also stores by bulk copies.
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
  /// In registers: the strategy's loads in flight for each thread, at most twice as many over all
  /// ranks.
  static constexpr int fitting_vectors() {
    if constexpr (in_registers) {
      return Copy::unroll * 2 / Ranks > 1 ? Copy::unroll * 2 / Ranks : 1;
    }
    int vectors = 4;
    while (vectors > 1 && staged_bytes(threads, vectors) > most_shared_bytes) { vectors /= 2; }
    return vectors;
  }
  static constexpr int vectors = fitting_vectors();
  using loader = copy::vectors<Copy, copy::block<threads>, vectors>;
  static constexpr unsigned tile_vecs = static_cast<unsigned>(threads * vectors);
  /// Shared memory holds the loaders' storage and then, for bulk stores, a tile of sums.
  static constexpr std::size_t sums_at = Ranks * loader::storage_bytes;
  static constexpr std::size_t shared_bytes =
      sums_at + (Copy::capability >= 90 ? std::size_t{tile_vecs} * vec16_bytes : 0);
};

namespace detail {

/// One loader for each rank.
template <class Tuning, int Ranks>
struct rank_loaders {
  typename Tuning::loader of[static_cast<std::size_t>(Ranks)];

  __device__ explicit rank_loaders(std::byte* shared)
      : rank_loaders(shared, std::make_integer_sequence<int, Ranks>{}) {}

 private:
  template <int... Rank>
  __device__ rank_loaders(std::byte* shared, std::integer_sequence<int, Rank...>)
      : of{typename Tuning::loader{shared + Rank * Tuning::loader::storage_bytes}...} {}
};

/// One block's part of the vec16s that its rank reduces.
template <class T, int Ranks, class Tuning>
class direct_block {
 public:
  __device__ direct_block(channel<T> const& here, std::byte* shared)
      : here_(here),
        call_(here.call),
        grid_(here.call.grid),
        sums_(reinterpret_cast<uint4*>(shared + Tuning::sums_at)) {
    begin_ = call_.to_all ? call_.slice_vecs * static_cast<unsigned>(here.me) : 0;
    begin_ = min(begin_, static_cast<unsigned long long>(grid_.vecs));
    end_ = min(begin_ + call_.slice_vecs, static_cast<unsigned long long>(grid_.vecs));
    tiles_begin_ =
        grid_.wide ? max(begin_, static_cast<unsigned long long>(grid_.first_whole)) : end_;
    tiles_begin_ = min(tiles_begin_, end_);
    tiles_end_ = grid_.wide ? min(end_, static_cast<unsigned long long>(grid_.end_whole)) : end_;
    tiles_end_ = max(tiles_begin_, tiles_end_);
  }

  /// Reduces the aligned vec16s in tiles.
  __device__ void reduce_tiles(rank_loaders<Tuning, Ranks>& loaders) const {
    auto const tiles = (tiles_end_ - tiles_begin_ + Tuning::tile_vecs - 1) / Tuning::tile_vecs;
    int const mine = here_.block < tiles
                         ? static_cast<int>((tiles - here_.block + gridDim.x - 1) / gridDim.x)
                         : 0;
    for (int i = 0; i < Tuning::loader::stages && i < mine; ++i) { begin_tile(loaders, i); }
    for (int i = 0; i < mine; ++i) {
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank < call_.ranks) { loaders.of[rank].wait(i); }
      }
      reduce_tile(loaders, i);
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank < call_.ranks) { loaders.of[rank].release(i); }
      }
      if (i + Tuning::loader::stages < mine) { begin_tile(loaders, i + Tuning::loader::stages); }
    }
    if constexpr (Tuning::bulk_stores) {
      if (threadIdx.x == 0) {  // before the barrier publishes them
        sys::await_bulk_copies();
        ::cuda::ptx::fence_proxy_async();
      }
    }
  }

  /// Reduces the other vec16s element by element.
  __device__ void reduce_edges() const {
    auto const thread = std::uint64_t{here_.block} * blockDim.x + threadIdx.x;
    auto const threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (auto k = begin_ + thread; k < tiles_begin_; k += threads) { reduce_one(k); }
    for (auto k = tiles_end_ + thread; k < end_; k += threads) { reduce_one(k); }
  }

 private:
  __device__ unsigned long long tile_begin(int i) const {
    return tiles_begin_ +
           (here_.block + static_cast<unsigned long long>(i) * gridDim.x) * Tuning::tile_vecs;
  }
  __device__ int tile_count(int i) const {
    auto const left = tiles_end_ - tile_begin(i);
    return left < Tuning::tile_vecs ? static_cast<int>(left) : static_cast<int>(Tuning::tile_vecs);
  }

  /// Begins to load tile `i` of every rank, in rank order.
  __device__ void begin_tile(rank_loaders<Tuning, Ranks>& loaders, int i) const {
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank >= call_.ranks) { continue; }
      auto const* const vecs = reinterpret_cast<uint4 const*>(grid_origin(call_.in[rank], grid_));
      loaders.of[rank].load(i, vecs + tile_begin(i), tile_count(i));
    }
  }

  __device__ void reduce_tile(rank_loaders<Tuning, Ranks>& loaders, int i) const {
    auto const first = tile_begin(i);
    int const count = tile_count(i);
    uint4 sums[Tuning::vectors];
#pragma unroll
    for (int v = 0; v < Tuning::vectors; ++v) {
      uint4 vecs[Ranks];
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank < call_.ranks) { vecs[rank] = loaders.of[rank].get(i, v); }
      }
      sums[v] = reduced<T>(vecs, call_.ranks, call_.op);
    }
    if constexpr (Tuning::bulk_stores) {
      store_in_bulk(sums, first, count);
    } else {
      store(sums, first, count);
    }
  }

  __device__ void store(uint4 const (&sums)[Tuning::vectors], unsigned long long first,
                        int count) const {
    // Unrolled, this loop makes double between two ranks spill registers on 8.0.
    constexpr int unrolled = ptx::architecture < 90 ? 1 : 4;
#pragma unroll unrolled
    for (int step = 0; step < outputs(); ++step) {
      auto* const to = output(step) + first;
#pragma unroll
      for (int v = 0; v < Tuning::vectors; ++v) {
        int const at = v * Tuning::threads + static_cast<int>(threadIdx.x);
        if (at < count) { to[at] = sums[v]; }
      }
    }
  }

  /// Stores through shared memory, by bulk copies that one thread starts.
  __device__ void store_in_bulk(uint4 const (&sums)[Tuning::vectors], unsigned long long first,
                                int count) const {
    if (threadIdx.x == 0) { sys::await_bulk_copies_read(); }  // of the last tile
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
                                 static_cast<std::uint32_t>(count) * vec16_bytes);
    }
    sys::commit_bulk_copies();
  }

  __device__ void reduce_one(std::uint64_t k) const {
    uint4 vecs[Ranks];
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (rank < call_.ranks) { vecs[rank] = load_elements(call_.in[rank], grid_, k); }
    }
    auto const sum = reduced<T>(vecs, call_.ranks, call_.op);
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
  vec16_grid const& grid_;
  uint4* sums_;
  unsigned long long begin_, end_, tiles_begin_, tiles_end_;
};

}  // namespace detail

/// Reads the inputs of all ranks and writes sums: `two_shot` one slice to all outputs, `pull` all
/// slices to its own output. After the first barrier, inputs are ready and outputs may be written;
/// the second barrier publishes the sums and gives the inputs back.
template <class T, int Ranks, class Copy, int Threads>
__global__ void __launch_bounds__(direct_tuning<Copy, Ranks, Threads>::threads, 1)
    all_reduce_direct(__grid_constant__ all_reduce_call<T> const call) {
  using tuning = direct_tuning<Copy, Ranks, Threads>;
  extern __shared__ __align__(copy::storage_alignment) std::byte shared[];
  channel<T> const here{call};
  auto const before = here.load_state().barriers;
  detail::rank_loaders<tuning, Ranks> loaders{shared};
  detail::direct_block<T, Ranks, tuning> const block{here, shared};
  require_agreement(here);
  if (barrier(here, before + 1, false)) {
    if constexpr (tuning::bulk_stores) { ::cuda::ptx::fence_proxy_async(); }  // before copies read
    block.reduce_tiles(loaders);
    block.reduce_edges();
    barrier(here, before + protocol::barriers, true);
  }
  if (threadIdx.x == 0) { here.state()->barriers = before + protocol::barriers; }
  here.report();
}

}  // namespace assay::comm
