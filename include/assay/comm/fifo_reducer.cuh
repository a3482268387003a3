// SPDX-License-Identifier: Apache-2.0
/// @file
/// The reducer blocks of `fifo_one_shot` and `fifo_two_shot`.
#pragma once

#include <assay/comm/flow_control.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::comm::detail {

/// The shared memory of a reducer block.
struct fifo_reducer_shared {
  std::uint64_t consumed[protocol::fifo_open_periods];  ///< an mbarrier for each open period
  int credit_end;                                       ///< of `flow_control`
};

/// A reducer block: each group reduces every `at_once()`-th item. In two shots it also sends sums.
template <class T, int Ranks, bool TwoShot>
class fifo_reducer : public flow_control<T> {
  using base = flow_control<T>;
  using base::before_, base::call_, base::here_;
  using base::begin, base::epoch, base::group, base::items, base::lane, base::loaded_flag,
      base::loaded_number, base::vec_of_thread, base::number, base::own_word, base::vecs,
      base::reducers, base::slot, base::slot_after, base::sum_at, base::tile_at, base::tile_of;
  using vecs_of_ranks = uint4[static_cast<std::size_t>(Ranks)];

 public:
  /// Collective over the block. Sums need no credits of this rank itself.
  __device__ fifo_reducer(channel<T> const& here, fifo_reducer_shared& shared)
      : base(here, shared.credit_end, false), shared_(shared) {
    if (threadIdx.x < protocol::fifo_open_periods) {
      ::cuda::ptx::mbarrier_init(shared_.consumed + threadIdx.x,
                                 fifo_block::groups * fifo_block::group_warps);
    }
    if (TwoShot && fifo_block::in_flag_warp()) { base::load_first_credits(); }
    __syncthreads();
  }

  /// Called by a warp: counts the items that this block has consumed. The first reducer publishes
  /// the count of all reducers to the other ranks, at its start and after each period.
  __device__ void publish_consumed() const {
    if (me() == 0) { publish(before_.items); }
    for (unsigned k = 0; k < call_.fifo.periods; ++k) {
      auto const consumed = number((k + 1) * call_.fifo.period);
      await_copy_warps(k);
      for (auto other = 1 + lane(); me() == 0 && other < reducers(); other += 32) {
        await_block_consumed(other, consumed);
      }
      if (__any_sync(0xFFFFFFFFU, here_.failed.kind != 0)) { return; }
      if (me() == 0) {
        publish(consumed);
      } else if (lane() == 0) {
        sys::store_flag(block_consumed(me()), consumed, true);
      }
    }
    if (me() == 0 && protocol::renews(before_.items, number(items()))) {
      auto const flagged = overwrites_input<TwoShot>(here_) ? items() : 0;
      renew(call_, block_consumed(0), loaded_flag(0), flagged, slot(0), before_.items);
    }
  }

  /// Called by the copy warps: each group reduces its items. The rank's own data of the next item
  /// are loaded while the group waits for this item.
  __device__ void reduce() {
    if constexpr (TwoShot) { base::take_first_credits(); }
    [[maybe_unused]] auto const kept = call_.fifo.period / at_once();
    auto const rounds = [&]() -> unsigned {
      if constexpr (ptx::architecture < 120) {
        return kept;
      } else {  // kept, this number makes elements of 8 bits between two ranks spill registers
        auto period = call_.fifo.period;
        asm volatile("" : "+r"(period));
        return period / at_once();
      }
    };
    auto item = group() * reducers() + me();
    auto at = slot(item);
    auto own = load_own(item);
    for (unsigned round = rounds(), period = 0; item < items(); item += at_once()) {
      if constexpr (TwoShot) { base::await_credit(item); }
      reduce_vec(own, item, at);
      own = load_own(item + at_once());
      if constexpr (TwoShot) { take_sums(item, at); }
      at = slot_after(at, at_once());
      if (--round > 0) { continue; }
      round = rounds();
      __syncwarp();
      if (lane() == 0) { ::cuda::ptx::mbarrier_arrive(period_barrier(period)); }
      ++period;
    }
  }

 private:
  __device__ unsigned me() const { return here_.block - call_.fifo.senders; }
  __device__ unsigned at_once() const { return reducers() * fifo_block::groups; }
  __device__ std::uint64_t* period_barrier(unsigned period) const {
    return shared_.consumed + period % protocol::fifo_open_periods;
  }
  /// The tile that this rank reduces in an item.
  __device__ unsigned own_tile(unsigned item) const {
    return TwoShot ? tile_of(here_.me, item) : item;
  }
  __device__ bool is_other(int rank) const { return rank < call_.ranks && rank != here_.me; }

  __device__ unsigned* block_consumed(unsigned reducer) const {
    return own_word(call_.at.fifo_block_consumed_at) + reducer;
  }
  __device__ void publish(unsigned consumed) const {
    auto const to = static_cast<int>(lane());
    if (to < call_.ranks) { sys::store_flag(here_.fifo_consumed(to, here_.me), consumed, true); }
  }

  /// Waits until this block has consumed a period. After a failure, copy warps go on without this
  /// warp. The mbarrier may then be two phases ahead, which looks like no progress.
  __device__ void await_copy_warps(unsigned k) const {
    auto const parity = k / protocol::fifo_open_periods % 2;
    await_own(
        here_, epoch(), [&] { return ptx::is_complete(period_barrier(k), parity); },
        [](bool over) { return over; });
  }

  /// Waits until another reducer has consumed a period.
  __device__ void await_block_consumed(unsigned other, unsigned consumed) const {
    auto const last = number(call_.fifo.periods * call_.fifo.period);
    auto const can_be = [&](unsigned count) {
      return !call_.checked || protocol::can_stand(count, last);
    };
    auto const found = await_own(
        here_, epoch(), [&] { return sys::load_acquire(block_consumed(other)); },
        [&](unsigned count) { return protocol::reached(count, consumed) || !can_be(count); });
    if (!can_be(found)) { here_.fail(failure_kind::corrupted, here_.me, epoch()); }
  }

  /// Called by a warp, when all reducers have counted all periods: renews their counts and the
  /// flags of slots. Flags of this operation's first `flagged` items stay.
  ///
  /// Out of line, with values as arguments, so that this code costs the copy warps no registers.
  /// Inlined, 256 MiB by `fifo_two_shot` between four ranks on one H200 took 0.9 % longer.
  __device__ __noinline__ static void renew(all_reduce_call<T> const& call, unsigned* counts,
                                            unsigned* flags, unsigned flagged, unsigned first_slot,
                                            unsigned now) {
#pragma unroll 1
    for (auto i = lane(); i < call.at.fifo_blocks; i += 32) {
      sys::store_flag(counts + i, now, false);
    }
    auto const slots = call.fifo.slots;
#pragma unroll 1
    for (auto i = lane(); i < call.at.fifo_slots; i += 32) {
      auto const item = i >= first_slot ? i - first_slot : i + slots - first_slot;
      if (i < slots && item < flagged) { continue; }
      sys::store_flag(flags + i * (sector_bytes / sizeof(unsigned)), now, false);
    }
  }

  /// This thread's vec16 of the rank's own tile of an item; any value where there is none.
  __device__ uint4 load_own(unsigned item) const {
    auto const tile = own_tile(item);
    auto const j = vec_of_thread();
    if (item >= items() || j >= vecs(tile)) { return {}; }
    return load_vec16(call_.in[here_.me], call_.grid, begin(tile) + j);
  }

  /// Reduces one vec16 of a tile. In two shots, sends the sum to all other ranks.
  __device__ void reduce_vec(uint4 const& own, unsigned item, unsigned at) const {
    auto const tile = own_tile(item);
    auto const j = vec_of_thread();
    if (j >= vecs(tile)) { return; }
    vecs_of_ranks vec;
    auto const from = [&](int rank) { return tile_at(here_.me, rank, at) + j; };
    auto const has = [&](int rank) { return is_other(rank); };
    bool const overwrites = overwrites_input<TwoShot>(here_);
    load(vec, from, has);
    auto const loaded = overwrites ? sys::load_relaxed(loaded_flag(at)) : 0;
    await_all(vec, from, has);
    if (overwrites && loaded != loaded_number(item)) { await_loaded(item, at); }
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (!is_other(rank)) { vec[rank] = sys::without_sentinel(own); }
    }
    auto const sum = reduced<T>(vec, call_.ranks, call_.op);
    if constexpr (TwoShot) {
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        sys::store(sum_at(here_.peer(step), here_.me, at) + j, sum);
      }
    }
    store_vec16(call_.out[here_.me], call_.grid, begin(tile) + j, sum);
    clear(from, has);
  }

  /// Waits until a sender of this rank has loaded the tile. The wait comes after that for the other
  /// ranks' tiles, when it is mostly over: before them, it cost 1 us of an operation.
  __device__ void await_loaded(unsigned item, unsigned at) const {
    await_own(
        here_, epoch(), [&] { return sys::load_relaxed(loaded_flag(at)); },
        [&](unsigned loaded) { return loaded == loaded_number(item); });
  }

  /// Copies the other ranks' sums of an item to the output.
  __device__ void take_sums(unsigned item, unsigned at) const {
    auto const j = vec_of_thread();
    vecs_of_ranks vec;
    auto const from = [&](int rank) { return sum_at(here_.me, rank, at) + j; };
    auto const has = [&](int rank) { return is_other(rank) && j < vecs(tile_of(rank, item)); };
    load(vec, from, has);
    await_all(vec, from, has);
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank)) {
        store_vec16(call_.out[here_.me], call_.grid, begin(tile_of(rank, item)) + j, vec[rank]);
      }
    }
    clear(from, has);
  }

  /// Loads the data of all ranks of `has`, before `await_all` waits for one of them.
  template <class From, class Has>
  __device__ void load(vecs_of_ranks& vec, From const& from, Has const& has) const {
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank)) { vec[rank] = sys::load(from(rank)); }
    }
  }
  template <class From, class Has>
  __device__ void await_all(vecs_of_ranks& vec, From const& from, Has const& has) const {
#pragma unroll
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank) && !sys::arrived(vec[rank])) {
        vec[rank] = await_lamport(here_, from(rank), rank, epoch());
      }
    }
  }
  template <class From, class Has>
  __device__ void clear(From const& from, Has const& has) const {
    auto const none = protocol::sentinel;
    // Unrolled, this loop makes bfloat16 between four ranks spill registers on 8.0.
    constexpr int unrolled = ptx::architecture < 90 ? 1 : Ranks;
#pragma unroll unrolled
    for (int rank = 0; rank < Ranks; ++rank) {
      if (has(rank)) { sys::store(from(rank), uint4{none, none, none, none}); }
    }
  }

  fifo_reducer_shared& shared_;
};

}  // namespace assay::comm::detail
