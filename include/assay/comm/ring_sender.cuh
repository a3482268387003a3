// SPDX-License-Identifier: Apache-2.0
/// @file
/// The blocks of `ring_push` that send.
#pragma once

#include <assay/comm/ring_tiles.cuh>

#include <cstdint>

namespace assay::comm::detail {

/// A tile as it is handed to those who send it.
struct alignas(8) ring_parcel {
  unsigned tile;  ///< not below `tiles()`: there is none
  unsigned slot;
};

/// What the threads of a block that sends share.
struct ring_sender_shared {
  alignas(128) uint4 packs[ring_block::stages][ring_tile_packs];
  ring_parcel parcels[ring_block::stages];
  std::uint64_t loaded[ring_block::stages];
  std::uint64_t sent[ring_block::stages];
  int sendable;  ///< tiles of this operation that may be sent, as far as is known
};

/// A block that sends. Its `q`-th tile is in stage q % stages; the first `ring_given` are known,
/// the others are by ticket, so that an SM with a better way to the link sends more.
///
/// The fastest SMs send 8 tiles a microsecond, and one thread hands them out: when it took 0.5 us
/// for each, 256 MiB between two H200 took 920 us, now 734.
template <class T, int Ranks>
class ring_sender : public ring_tiles<T> {
  using base = ring_tiles<T>;
  using base::before_, base::call_, base::here_;
  using base::begin, base::epoch, base::group, base::in_place, base::lane, base::loaded_flag,
      base::pack_of_thread, base::number, base::packs, base::reducers, base::slot, base::slot_after,
      base::tiles;
  static constexpr unsigned stages = ring_block::stages;

 public:
  /// Collective over the block.
  __device__ ring_sender(channel<T> const& here, ring_sender_shared& shared)
      : base(here), shared_(shared) {
    if (threadIdx.x == ring_block::movers) {
      for (unsigned i = 0; i < stages; ++i) {
        ::cuda::ptx::mbarrier_init(shared_.loaded + i, 1U);
        ::cuda::ptx::mbarrier_init(shared_.sent + i, ring_block::group_threads / 32);
      }
      if constexpr (ptx::architecture >= 90) {
        ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
      }
      for (unsigned q = 0; q < protocol::ring_given; ++q) { copy(q, given(q)); }
    }
    if (threadIdx.x >= ring_block::movers + 32) { look(); }
    __syncthreads();
  }

  /// By a thread: takes tiles, and loads them as stages are free. Each group finds one end. Some
  /// tickets are on their way at a time, since they take longer than a tile.
  __device__ void load() const {
    unsigned ticket[protocol::ring_tickets_ahead];
#pragma unroll
    for (unsigned k = 0; k < protocol::ring_tickets_ahead; ++k) { ticket[k] = take(); }
    for (unsigned q = 0; q < protocol::ring_given; ++q) { hand_on(q, given(q), slot(given(q))); }
    auto last = given(0);
    auto at = slot(last);
    unsigned ends = 0;
    for (unsigned q = protocol::ring_given;;) {
#pragma unroll
      for (unsigned k = 0; k < protocol::ring_tickets_ahead; ++k, ++q) {
        auto const tile = ticket[k];
        if (q >= stages) { await_phase(shared_.sent + q % stages, q / stages - 1); }
        if (tile < tiles()) {
          copy(q, tile);
          ticket[k] = take();
          at = slot_after(at, tile - last);
          last = tile;
        } else if (++ends > ring_block::groups) {
          return;
        }
        hand_on(q, tile, at);
      }
    }
  }

  /// By a warp: looks how far all others are until the last tile may be sent.
  __device__ void watch() {
    auto patience = here_.patience();
    while (!may_send(tiles() - 1)) {
      look();
      if (__any_sync(0xFFFFFFFFU, here_.noted.kind != 0 || !patience.more())) {
        if (is_late_) { here_.fail(failure_kind::timed_out, static_cast<int>(lane()), epoch()); }
        publish(static_cast<int>(tiles()));
      }
    }
  }

  /// By the movers: each group its tiles.
  __device__ void send() {
    sendable_ = static_cast<int const volatile&>(shared_.sendable);
    for (unsigned q = group();; q += ring_block::groups) {
      auto const stage = q % stages;
      await_phase(shared_.loaded + stage, q / stages);
      auto const parcel = take_over(shared_.parcels[stage]);
      bool const is_one = parcel.tile < tiles();
      if (is_one) {
        send(parcel, shared_.packs[stage]);
      } else if (q >= protocol::ring_given) {
        return;
      }
      // After the stores, which had what was loaded: an arrival overtakes loads that are queued
      // behind the stores before them, and then the stage was filled anew before it was read.
      __syncwarp();
      if (lane() == 0) { ::cuda::ptx::mbarrier_arrive(shared_.sent + stage); }
      if (is_one && tells() && !is_staged(parcel.tile)) {
        await_phase(shared_.sent + stage, q / stages);
        tell_loaded(parcel);
      }
    }
  }

 private:
  __device__ unsigned given(unsigned q) const { return q * call_.ring.senders + here_.block; }
  __device__ unsigned take() const {
    auto* const ticket =
        reinterpret_cast<unsigned*>(here_.of_rank(here_.me, call_.at.ring_ticket_at));
    return atomicAdd(ticket, 1U) - before_.tickets + protocol::ring_given * call_.ring.senders;
  }

  /// Whether a tile has whole packs alone: but for the first and the last, all or none.
  __device__ bool is_staged(unsigned tile) const {
    auto const& grid = call_.grid;
    bool const whole = tile + 1 < tiles() || grid.end_whole == grid.packs;
    return ptx::architecture >= 90 && grid.wide && tile >= grid.first_whole && whole;
  }

  /// Begins to load a tile, if there is such a one, and it can be staged.
  __device__ void copy(unsigned q, unsigned tile) const {
    if constexpr (ptx::architecture >= 90) {
      if (tile >= tiles() || !is_staged(tile)) { return; }
      auto* const loaded = shared_.loaded + q % stages;
      auto const bytes = packs(tile) * pack_bytes;
      auto const* const in =
          reinterpret_cast<uint4 const*>(grid_origin(call_.in[here_.me], call_.grid));
      ::cuda::ptx::mbarrier_expect_tx(::cuda::ptx::sem_relaxed, ::cuda::ptx::scope_cta,
                                      ::cuda::ptx::space_shared, loaded, bytes);
      ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_cluster, ::cuda::ptx::space_global,
                                 shared_.packs[q % stages], in + begin(tile), bytes, loaded);
    }
  }

  __device__ void hand_on(unsigned q, unsigned tile, unsigned slot) const {
    shared_.parcels[q % stages] = {tile, slot};
    ::cuda::ptx::mbarrier_arrive(shared_.loaded + q % stages);
  }
  /// By a warp; read by the lane that arrives when the stage is free again.
  __device__ static ring_parcel take_over(ring_parcel const& from) {
    ring_parcel parcel{};
    if (lane() == 0) { parcel = from; }
    return {__shfl_sync(0xFFFFFFFFU, parcel.tile, 0), __shfl_sync(0xFFFFFFFFU, parcel.slot, 0)};
  }

  __device__ void send(ring_parcel const& parcel, uint4 const* staged) {
    auto const j = pack_of_thread();
    auto const end = packs(parcel.tile);
    uint4 pack[1];
    if (is_staged(parcel.tile)) {
      if (tells()) { tell_loaded(parcel); }
      if (j < end) { pack[0] = staged[j]; }
    } else {
      auto const at = begin(parcel.tile);
      load_packs(pack, call_.in[here_.me], call_.grid, at + j, 0, at + end);
    }
    await_sendable(parcel.tile);
    if (j >= end) { return; }
#pragma unroll
    for (int step = 1; step < Ranks; ++step) {
      if (step >= call_.ranks) { continue; }
      wire::store(here_.ring(here_.peer(step), here_.me) + parcel.slot * ring_tile_packs + j,
                  wire::disguised(pack[0]));
    }
  }

  __device__ bool tells() const { return in_place() && pack_of_thread() == 0; }
  __device__ void tell_loaded(ring_parcel const& parcel) const {
    wire::raise(loaded_flag(parcel.slot), number(parcel.tile) + 1, false);
  }

  /// Looks what all others have told, a lane for each, and publishes the least.
  __device__ void look() {
    auto const from = static_cast<int>(lane());
    auto cleared = static_cast<int>(tiles());
    if (from < call_.ranks && from != here_.me) {
      cleared = static_cast<int>(wire::seen(here_.ring_told(here_.me, from)) - before_.tiles);
      if (call_.checked && cleared > static_cast<int>(tiles())) {
        here_.fail(failure_kind::corrupted, from, epoch());
      }
    }
    auto const least = __reduce_min_sync(0xFFFFFFFFU, cleared);
    is_late_ = from < call_.ranks && from != here_.me && cleared == least;
    publish(least);
  }

  /// Tiles before this one of the operation, or those of operations before, are cleared. Those of
  /// another grid had other slots: then only that all are says which slots are clear.
  __device__ void publish(int cleared) {
    bool const of_other_grid = cleared < 0 && before_.blocks != gridDim.x;
    sendable_ = of_other_grid ? 0 : cleared + static_cast<int>(call_.ring.slots);
    __threadfence_block();
    if (lane() == 0) { static_cast<int volatile&>(shared_.sendable) = sendable_; }
  }

  __device__ bool may_send(unsigned tile) const { return static_cast<int>(tile) < sendable_; }
  __device__ void await_sendable(unsigned tile) {
    if (may_send(tile)) { return; }
    do { sendable_ = static_cast<int const volatile&>(shared_.sendable); } while (!may_send(tile));
    __threadfence_block();
  }

  ring_sender_shared& shared_;
  int sendable_ = 0;      ///< as this thread knows
  bool is_late_ = false;  ///< whom this lane looks at has told the least
};

}  // namespace assay::comm::detail
