// SPDX-License-Identifier: Apache-2.0
/// @file
/// The producer warps of a `tile_ring`, for each copy strategy.
#pragma once

#include "tile_2d.cuh"

#include <assay/copy/bulk.hpp>
#include <assay/copy/cp_async.hpp>
#include <assay/copy/regular.hpp>
#include <assay/copy/tensor_copy.cuh>
#include <assay/copy/tile_ring.cuh>

#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace assay::copy {

/// Two tiles that fill a slot together. `Threads` threads produce them. `AsyncConsumers`: consumers
/// read through the asynchronous proxy (`wgmma`).
template <class TileA, class TileB, int Threads, bool AsyncConsumers>
struct tile_pair {
  using a = TileA;
  using b = TileB;
  static constexpr int threads = Threads;
  static constexpr bool async_consumers = AsyncConsumers;
  static constexpr int bytes = TileA::bytes + TileB::bytes;
};

/// Produces pairs of tiles in a ring. Each strategy has one specialisation, all with the same
/// members.
///
/// `slots` is the number of slots that the ring must have, `arrivals` the arrivals that complete a
/// slot. `registers` is the number that a producer thread needs, where the consumers can use the
/// rest. All `Pair::threads` threads call `run` with their rank. `Walk` names the tiles: while
/// `!done()`, those that begin at `a_row(), a_col()` and `b_row(), b_col()`; `next()` goes on.
template <class Strategy, class Pair>
struct tile_producer;

namespace detail {

/// Called when this thread's stores to a slot are done: publishes them to the consumers.
template <class Pair, class Ring>
__device__ void publish(Ring const& ring, typename Ring::position at) {
  // `wgmma` reads through the asynchronous proxy, so the writer must fence its stores.
  if constexpr (Pair::async_consumers && ptx::architecture >= 90) {
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  }
  ::cuda::ptx::mbarrier_arrive(ring.full(at));
}

}  // namespace detail

/// One thread starts bulk copies; the others have nothing to do.
template <int Stages, class Pair>
struct tile_producer<bulk<Stages>, Pair> {
  static constexpr int slots = Stages;
  static constexpr unsigned arrivals = 1;
  static constexpr int registers = 40;

  template <class Ring, class Walk, class T>
  __device__ static void run(Ring const& ring, Walk walk, tile_source<T> const& a,
                             tile_source<T> const& b, int rank) {
    if (rank != 0) { return; }
    if constexpr (ptx::architecture >= 90) {
      for (typename Ring::position at; !walk.done(); walk.next(), at.advance()) {
        ring.await_empty(at);
        auto* const full = ring.full(at);
        ::cuda::ptx::mbarrier_arrive_expect_tx(::cuda::ptx::sem_release, ::cuda::ptx::scope_cta,
                                               ::cuda::ptx::space_shared, full, Pair::bytes);
        start_bulk<typename Pair::a>(a.map, walk.a_row(), walk.a_col(), ring.slot(at), full);
        start_bulk<typename Pair::b>(b.map, walk.b_row(), walk.b_col(),
                                     ring.slot(at) + Pair::a::bytes, full);
      }
    }
  }
};

/// All threads start copies of 16 bytes each, and publish a slot when its copies have arrived.
template <int Stages, class Pair>
struct tile_producer<cp_async<Stages>, Pair> {
  static constexpr int slots = Stages;
  static constexpr unsigned arrivals = Pair::threads;
  static constexpr int registers = 40;
  /// Slots that are on their way while an older slot is published. A consumer may hold one slot
  /// until it has the next, so the producer never waits for two slots.
  static constexpr int behind = Stages > 2 ? Stages - 2 : 0;

  template <class Ring, class Walk, class T>
  __device__ static void run(Ring const& ring, Walk walk, tile_source<T> const& a,
                             tile_source<T> const& b, int rank) {
    typename Ring::position at;
    typename Ring::position arrived;
    for (int started = 1; !walk.done(); walk.next(), at.advance(), ++started) {
      ring.await_empty(at);
      start<typename Pair::a>({a.view, walk.a_row(), walk.a_col(), rank}, ring.slot(at), rank);
      start<typename Pair::b>({b.view, walk.b_row(), walk.b_col(), rank},
                              ring.slot(at) + Pair::a::bytes, rank);
      __pipeline_commit();
      if (started <= behind) { continue; }
      __pipeline_wait_prior(behind);
      detail::publish<Pair>(ring, arrived);
      arrived.advance();
    }
    __pipeline_wait_prior(0);
    for (int left = 0; left < behind && !(arrived == at); ++left, arrived.advance()) {
      detail::publish<Pair>(ring, arrived);
    }
  }

 private:
  template <class Tile>
  __device__ static void start(chunk_loader<Tile, Pair::threads> const& from, std::byte* tile,
                               int rank) {
    if (from.inside()) {
#pragma unroll
      for (int j = 0; j < from.chunks; ++j) { from.start(j, tile, rank); }
    } else {
#pragma unroll 1
      for (int j = 0; j < from.chunks; ++j) { from.store(j, tile, rank, from.fetch_part(j)); }
    }
  }
};

/// All threads load batches into registers and store them, the next batch already on its way: a
/// double buffer in shared memory and another in registers.
template <int VectorBytes, int Unroll, class Pair>
struct tile_producer<regular<VectorBytes, Unroll>, Pair> {
  using loader_a = chunk_loader<typename Pair::a, Pair::threads>;
  using loader_b = chunk_loader<typename Pair::b, Pair::threads>;

  static constexpr int slots = 2;
  static constexpr unsigned arrivals = Pair::threads;
  static constexpr int chunks = loader_a::chunks + loader_b::chunks;
  /// Vectors of a batch. The bytes in flight are those of 128 threads with `Unroll` loads each. The
  /// number of batches in a slot is even, so that two sets of registers take turns.
  static constexpr int batch = [] {
    int size = Unroll * 128 / Pair::threads;
    while (chunks % size != 0 || chunks / size % 2 != 0) { --size; }
    return size;
  }();
  static constexpr int batches = chunks / batch;
  /// Two batches, and addresses.
  static constexpr int registers = batch > 4 ? 88 : 72;

  template <class Ring, class Walk, class T>
  __device__ static void run(Ring const& ring, Walk walk, tile_source<T> const& a,
                             tile_source<T> const& b, int rank) {
    uint4 held[2][batch];
    if (walk.done()) { return; }
    fetch(held[0], 0, walk, a, b, rank);
    for (typename Ring::position at; !walk.done(); at.advance()) {
      auto next = walk;
      next.next();
#pragma unroll
      for (int k = 0; k < batches; ++k) {
        if (k + 1 < batches) {
          fetch(held[(k + 1) % 2], k + 1, walk, a, b, rank);
        } else if (!next.done()) {
          fetch(held[0], 0, next, a, b, rank);
        }
        if (k == 0) { ring.await_empty(at); }
        store(held[k % 2], k, ring.slot(at), rank);
      }
      detail::publish<Pair>(ring, at);
      walk = next;
    }
  }

 private:
  template <class Walk, class T>
  __device__ static void fetch(uint4 (&held)[batch], int k, Walk const& walk,
                               tile_source<T> const& a, tile_source<T> const& b, int rank) {
    loader_a const from_a{a.view, walk.a_row(), walk.a_col(), rank};
    loader_b const from_b{b.view, walk.b_row(), walk.b_col(), rank};
    if (from_a.inside() && from_b.inside()) {
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        int const j = k * batch + i;
        held[i] = j < loader_a::chunks ? from_a.template fetch<VectorBytes>(j)
                                       : from_b.template fetch<VectorBytes>(j - loader_a::chunks);
      }
    } else {
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        int const j = k * batch + i;
        held[i] =
            j < loader_a::chunks ? from_a.fetch_part(j) : from_b.fetch_part(j - loader_a::chunks);
      }
    }
  }
  __device__ static void store(uint4 const (&held)[batch], int k, std::byte* slot, int rank) {
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      int const j = k * batch + i;
      if (j < loader_a::chunks) {
        loader_a::store(j, slot, rank, held[i]);
      } else {
        loader_b::store(j - loader_a::chunks, slot + Pair::a::bytes, rank, held[i]);
      }
    }
  }
};

}  // namespace assay::copy
