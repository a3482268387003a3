// SPDX-License-Identifier: Apache-2.0
/// @file
/// The blocks of `ring_push` and `ring_two_shot` that send.
#pragma once

#include <assay/comm/ring_window.cuh>

#include <cstdint>

namespace assay::comm::detail {

/// A tile as it is handed to those who send it.
struct alignas(16) ring_parcel {
  unsigned tile;
  unsigned item;  ///< not below `items()`: there is none
  unsigned slot;
  int to;  ///< a rank; of `ring_push`, all others
};

/// What the threads of a block that sends share.
struct ring_sender_shared {
  alignas(128) uint4 packs[ring_block::stages][ring_tile_packs];
  ring_parcel parcels[ring_block::stages];
  std::uint64_t loaded[ring_block::stages];
  std::uint64_t sent[ring_block::stages];
  int first;  ///< of `ring_window`
};

/// A block that sends. Its `q`-th parcel is in stage q % stages; the first `ring_given` items are
/// known, the others are by ticket, so that an SM with a better way to the link sends more.
///
/// The fastest SMs send 8 tiles a microsecond, and one thread hands them out: when it took 0.5 us
/// for each, 256 MiB between two H200 took 920 us, now 730.
template <class T, int Ranks, bool TwoShot>
class ring_sender : public ring_window<T> {
  using base = ring_window<T>;
  using base::before_, base::call_, base::here_;
  using base::begin, base::group, base::items, base::lane, base::loaded_flag, base::loaded_number,
      base::pack_of_thread, base::own_word, base::packs, base::reducers, base::slot,
      base::slot_after, base::tile_at, base::tile_of, base::tiles;
  static constexpr unsigned stages = ring_block::stages;
  /// Of the last items of each sender fewer tiles are loaded ahead, so that a slow SM leaves them
  /// to a fast one: of 4 MiB between two H200 15.1 us without, 14.7 with it.
  static constexpr unsigned last_items = 8;
  static constexpr unsigned last_stages = 3;

 public:
  /// Collective over the block.
  __device__ ring_sender(channel<T> const& here, ring_sender_shared& shared)
      : base(here, shared.first, overwrites_input<TwoShot>(here)), shared_(shared) {
    if (threadIdx.x == ring_block::movers) {
      for (unsigned i = 0; i < stages; ++i) {
        ::cuda::ptx::mbarrier_init(shared_.loaded + i, 1U);
        ::cuda::ptx::mbarrier_init(shared_.sent + i, unsigned{ring_block::group_threads});
      }
      if constexpr (ptx::architecture >= 90) {
        ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
      }
      static_assert(Ranks <= stages, "for all tiles of an item");
      load_given(0, 0);
    }
    if (ring_block::in_flag_warp()) { base::look_first(); }
    __syncthreads();
  }

  /// By a thread: takes items, and loads their tiles as stages are free. Each group finds one end.
  /// A ticket takes longer than a tile, so it is looked at a round after the next one is taken.
  __device__ void load() const {
    auto ticket = take();
    auto next = take();
    unsigned q = given(0) < items() ? tiles_of_item() : 0;
    for (unsigned i = 1; i < protocol::ring_given; ++i) { q = load_given(q, i); }
    auto last = given(0);
    auto at = slot(last);
    for (;;) {
      auto const item = item_of(ticket);
      if (item >= items()) { break; }
      await_stage(q);  // and no sooner takes what another could send
      if (item + last_items * call_.ring.senders >= items() && q >= last_stages) {
        await_sent(q - last_stages);
      }
      ticket = next;
      next = take();
      at = slot_after(at, item - last);
      last = item;
      q = load_item(q, item, at);
    }
    for (unsigned group = 0; group < ring_block::groups; ++group, ++q) {
      await_stage(q);
      hand_on(q, {0, items(), 0, 0});
    }
  }

  /// By the movers: each group its tiles.
  __device__ void send() {
    base::begin_sending();
    for (unsigned q = group();; q += ring_block::groups) {
      auto const stage = q % stages;
      await_phase(shared_.loaded + stage, q / stages);
      auto const parcel = take_over(shared_.parcels[stage]);
      if (parcel.item >= items()) { return; }
      send(parcel, shared_.packs[stage]);
      // After the stores, which had what was loaded: an arrival overtakes loads that are queued
      // behind the stores before them, and then the stage was filled anew before it was read.
      ::cuda::ptx::mbarrier_arrive(shared_.sent + stage);
      if (overwrites_input<TwoShot>(here_) && pack_of_thread() == 0) {
        await_sent(q);
        wire::raise(loaded_flag(parcel.slot), loaded_number(parcel.item), false);
      }
    }
  }

 private:
  __device__ unsigned given(unsigned i) const { return i * call_.ring.senders + here_.block; }
  __device__ unsigned take() const { return atomicAdd(own_word(call_.at.ring_ticket_at), 1U); }
  __device__ unsigned item_of(unsigned ticket) const {
    return ticket - before_.tickets + protocol::ring_given * call_.ring.senders;
  }

  __device__ unsigned tiles_of_item() const {
    return TwoShot ? static_cast<unsigned>(call_.ranks) - 1 : 1;
  }
  /// From stage `q` on; returns the next.
  __device__ unsigned load_given(unsigned q, unsigned i) const {
    return given(i) < items() ? load_item(q, given(i), slot(given(i))) : q;
  }
  __device__ unsigned load_item(unsigned q, unsigned item, unsigned slot) const {
    if constexpr (TwoShot) {
      auto to = here_.me;
      auto tile = tile_of(to, item);
      for (int step = 1; step < call_.ranks; ++step) {
        tile += items();
        if (++to == call_.ranks) {
          to = 0;
          tile = item;
        }
        load_tile(q++, {tile, item, slot, to});
      }
    } else {
      load_tile(q++, {item, item, slot, 0});
    }
    return q;
  }
  __device__ void load_tile(unsigned q, ring_parcel const& parcel) const {
    await_stage(q);
    copy(q, parcel.tile);
    hand_on(q, parcel);
  }
  __device__ void await_stage(unsigned q) const {
    if (q >= stages) { await_sent(q - stages); }
  }
  __device__ void await_sent(unsigned q) const {
    await_phase(shared_.sent + q % stages, q / stages);
  }

  /// Whether a tile has whole packs alone: but for the first and the last, all or none.
  __device__ bool is_staged(unsigned tile) const {
    auto const& grid = call_.grid;
    bool const whole = tile + 1 < tiles() || (tile + 1 == tiles() && grid.end_whole == grid.packs);
    return ptx::architecture >= 90 && grid.wide && tile >= grid.first_whole && whole;
  }

  /// Begins to load a tile, if there is such a one, and it can be staged.
  __device__ void copy(unsigned q, unsigned tile) const {
    if constexpr (ptx::architecture >= 90) {
      if (!is_staged(tile)) { return; }
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
  __device__ void hand_on(unsigned q, ring_parcel const& parcel) const {
    shared_.parcels[q % stages] = parcel;
    ::cuda::ptx::mbarrier_arrive(shared_.loaded + q % stages);
  }
  /// By a warp; read by the lane that arrives when the stage is free again.
  __device__ static ring_parcel take_over(ring_parcel const& from) {
    ring_parcel parcel{};
    if (lane() == 0) { parcel = from; }
    auto const of_first = [](auto value) { return __shfl_sync(0xFFFFFFFFU, value, 0); };
    auto const item = of_first(parcel.item);
    auto const slot = of_first(parcel.slot);
    if constexpr (TwoShot) {
      return {of_first(parcel.tile), item, slot, of_first(parcel.to)};
    } else {
      return {item, item, slot, 0};
    }
  }

  __device__ void send(ring_parcel const& parcel, uint4 const* staged) {
    auto const j = pack_of_thread();
    auto const end = packs(parcel.tile);
    uint4 pack;
    if (j < end) {
      pack = is_staged(parcel.tile)
                 ? staged[j]
                 : load_pack(call_.in[here_.me], call_.grid, begin(parcel.tile) + j);
    }
    base::await_sendable(parcel.item);
    if (j >= end) { return; }
    auto const what = wire::disguised(pack);
    if constexpr (TwoShot) {
      wire::store(tile_at(parcel.to, here_.me, parcel.slot) + j, what);
    } else {
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        wire::store(tile_at(here_.peer(step), here_.me, parcel.slot) + j, what);
      }
    }
  }

  ring_sender_shared& shared_;
};

}  // namespace assay::comm::detail
