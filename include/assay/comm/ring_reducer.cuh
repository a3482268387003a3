// SPDX-License-Identifier: Apache-2.0
/// @file
/// The blocks of `ring_push` and `ring_two_shot` that reduce.
#pragma once

#include <assay/comm/ring_window.cuh>

#include <cstdint>

namespace assay::comm::detail {

/// What the threads of a block that reduces share.
struct ring_reducer_shared {
  std::uint64_t cleared[protocol::ring_open_periods];
  int first;  ///< of `ring_window`
};

/// A block that reduces: each group every `at_once()`-th item. Of two shots it also sends the sums.
template <class T, int Ranks, bool TwoShot>
class ring_reducer : public ring_window<T> {
  using base = ring_window<T>;
  using base::before_, base::call_, base::here_;
  using base::begin, base::epoch, base::group, base::items, base::lane, base::loaded_flag,
      base::loaded_number, base::pack_of_thread, base::number, base::own_word, base::packs,
      base::reducers, base::slot, base::slot_after, base::sum_at, base::tile_at, base::tile_of;

 public:
  /// Collective over the block. It need not heed itself: no flag is raised for sums.
  __device__ ring_reducer(channel<T> const& here, ring_reducer_shared& shared)
      : base(here, shared.first, false), shared_(shared) {
    if (threadIdx.x < protocol::ring_open_periods) {
      ::cuda::ptx::mbarrier_init(shared_.cleared + threadIdx.x,
                                 ring_block::groups * ring_block::group_warps);
    }
    if (TwoShot && ring_block::in_flag_warp()) { base::look_first(); }
    __syncthreads();
  }

  /// By a warp: notes what this block has cleared. That of the first one tells all others what all
  /// have: at once of the operations before, then of each period.
  __device__ void tell() const {
    if (me() == 0) { raise(before_.items); }
    for (unsigned k = 0; k < call_.ring.periods; ++k) {
      auto const cleared = number((k + 1) * call_.ring.period);
      await_movers(k);
      for (auto other = 1 + lane(); me() == 0 && other < reducers(); other += 32) {
        await_note(other, cleared);
      }
      if (__any_sync(0xFFFFFFFFU, here_.noted.kind != 0)) { return; }
      if (me() == 0) {
        raise(cleared);
      } else if (lane() == 0) {
        wire::raise(noted(me()), cleared, true);
      }
    }
    if (me() == 0 && wire::renews(before_.items, number(items()))) {
      auto const flagged = overwrites_input<TwoShot>(here_) ? items() : 0;
      renew(call_, noted(0), loaded_flag(0), flagged, slot(0), before_.items);
    }
  }

  /// By the movers: each group its items. What is added to the next is loaded while one is awaited.
  __device__ void reduce() {
    if constexpr (TwoShot) { base::begin_sending(); }
    auto const rounds = call_.ring.period / at_once();
    auto item = group() * reducers() + me();
    auto at = slot(item);
    auto own = load_own(item);
    for (unsigned round = rounds, period = 0; item < items(); item += at_once()) {
      if constexpr (TwoShot) { base::await_sendable(item); }
      reduce_pack(own, item, at);
      own = load_own(item + at_once());
      if constexpr (TwoShot) { take_sums(item, at); }
      at = slot_after(at, at_once());
      if (--round > 0) { continue; }
      round = rounds;
      __syncwarp();
      if (lane() == 0) { ::cuda::ptx::mbarrier_arrive(barrier(period)); }
      ++period;
    }
  }

 private:
  __device__ unsigned me() const { return here_.block - call_.ring.senders; }
  __device__ unsigned at_once() const { return reducers() * ring_block::groups; }
  __device__ std::uint64_t* barrier(unsigned period) const {
    return shared_.cleared + period % protocol::ring_open_periods;
  }
  /// What this rank reduces in an item.
  __device__ unsigned own_tile(unsigned item) const {
    return TwoShot ? tile_of(here_.me, item) : item;
  }
  __device__ bool is_other(int rank) const { return rank < call_.ranks && rank != here_.me; }

  __device__ unsigned* noted(unsigned reducer) const {
    return own_word(call_.at.ring_cleared_at) + reducer;
  }
  __device__ void raise(unsigned cleared) const {
    auto const to = static_cast<int>(lane());
    if (to < call_.ranks) { wire::raise(here_.ring_told(to, here_.me), cleared, true); }
  }

  /// Waits until this block has cleared a period. Movers that have given up go on without heeding
  /// how far this warp is: the barrier may then be two phases further, which looks like none.
  __device__ void await_movers(unsigned k) const {
    auto const parity = k / protocol::ring_open_periods % 2;
    await_own(
        here_, epoch(), [&] { return ptx::is_complete(barrier(k), parity); },
        [](bool over) { return over; });
  }

  /// Waits for another reducer's note of a period.
  __device__ void await_note(unsigned other, unsigned cleared) const {
    auto const last = number(call_.ring.periods * call_.ring.period);
    auto const can_be = [&](unsigned note) {
      return !call_.checked || wire::can_stand(note, last);
    };
    auto const found = await_own(
        here_, epoch(), [&] { return wire::seen(noted(other)); },
        [&](unsigned note) { return wire::reached(note, cleared) || !can_be(note); });
    if (!can_be(found)) { here_.fail(failure_kind::corrupted, here_.me, epoch()); }
  }

  /// By a warp, when all have noted all periods: sets what they noted, and the flags of all slots
  /// but those of the operation's first `flagged` items, to a number of now.
  ///
  /// Not inlined, and of values alone, so that the loops of the movers are compiled as if it were
  /// not there: with it among them 256 MiB between four ranks that shared an H200 took
  /// `ring_two_shot` 0.9 % longer.
  __device__ __noinline__ static void renew(all_reduce_call<T> const& call, unsigned* notes,
                                            unsigned* flags, unsigned flagged, unsigned first_slot,
                                            unsigned now) {
#pragma unroll 1
    for (auto i = lane(); i < call.at.ring_blocks; i += 32) { wire::raise(notes + i, now, false); }
    auto const slots = call.ring.slots;
#pragma unroll 1
    for (auto i = lane(); i < call.at.ring_slots; i += 32) {
      auto const item = i >= first_slot ? i - first_slot : i + slots - first_slot;
      if (i < slots && item < flagged) { continue; }
      wire::raise(flags + i * (sector_bytes / sizeof(unsigned)), now, false);
    }
  }

  /// This thread's pack of what this rank reduces in an item; any where there is none.
  __device__ uint4 load_own(unsigned item) const {
    auto const tile = own_tile(item);
    auto const j = pack_of_thread();
    if (item >= items() || j >= packs(tile)) { return {}; }
    return load_pack(call_.in[here_.me], call_.grid, begin(tile) + j);
  }

  /// Reduces a pack of a tile; of two shots sends the sum to all others.
  __device__ void reduce_pack(uint4 const& own, unsigned item, unsigned slot) const {
    auto const tile = own_tile(item);
    auto const j = pack_of_thread();
    if (j >= packs(tile)) { return; }
    uint4 pack[Ranks];
    auto const from = [&](int rank) { return tile_at(here_.me, rank, slot) + j; };
    auto const has = [&](int rank) { return is_other(rank); };
    bool const overwrites = overwrites_input<TwoShot>(here_);
    load(pack, from, has);
    auto const loaded = overwrites ? wire::look(loaded_flag(slot)) : 0;
    await_all(pack, from, has);
    if (overwrites && loaded != loaded_number(item)) { await_loaded(item, slot); }
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (!is_other(rank)) { pack[rank] = wire::disguised(own); }
    }
    auto const sum = narrowed<T>(reduced<T>(pack, call_.ranks, call_.how));
    if constexpr (TwoShot) {
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        wire::store(sum_at(here_.peer(step), here_.me, slot) + j, sum);
      }
    }
    store_pack(call_.out[here_.me], call_.grid, begin(tile) + j, sum);
    clear(from, has);
  }

  /// Waits until this rank's own tile is loaded, which mostly it is when those of the others have
  /// come: to wait for it before them cost 1 us of an operation.
  __device__ void await_loaded(unsigned item, unsigned slot) const {
    await_own(
        here_, epoch(), [&] { return wire::look(loaded_flag(slot)); },
        [&](unsigned loaded) { return loaded == loaded_number(item); });
  }

  /// Brings what the others reduced of an item to the output.
  __device__ void take_sums(unsigned item, unsigned slot) const {
    auto const j = pack_of_thread();
    uint4 pack[Ranks];
    auto const from = [&](int rank) { return sum_at(here_.me, rank, slot) + j; };
    auto const has = [&](int rank) { return is_other(rank) && j < packs(tile_of(rank, item)); };
    load(pack, from, has);
    await_all(pack, from, has);
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank)) {
        store_pack(call_.out[here_.me], call_.grid, begin(tile_of(rank, item)) + j, pack[rank]);
      }
    }
    clear(from, has);
  }

  /// What all others of `has` sent: looks for all, before `await_all` waits for one.
  template <class From, class Has>
  __device__ void load(uint4 (&pack)[Ranks], From const& from, Has const& has) const {
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank)) { pack[rank] = wire::load(from(rank)); }
    }
  }
  template <class From, class Has>
  __device__ void await_all(uint4 (&pack)[Ranks], From const& from, Has const& has) const {
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank) && !wire::arrived(pack[rank])) {
        pack[rank] = await_lamport(here_, from(rank), rank, epoch());
      }
    }
  }
  template <class From, class Has>
  __device__ void clear(From const& from, Has const& has) const {
    auto const none = protocol::unwritten;
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank)) { wire::store(from(rank), uint4{none, none, none, none}); }
    }
  }

  ring_reducer_shared& shared_;
};

}  // namespace assay::comm::detail
