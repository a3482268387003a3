// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sender blocks of `fifo_one_shot` and `fifo_two_shot`.
#pragma once

#include <assay/comm/flow_control.cuh>

#include <cstdint>

namespace assay::comm::detail {

/// A tile that the load warp passes to a group of copy warps.
struct alignas(16) tile_descriptor {
  unsigned tile;
  unsigned item;  ///< `items()` or more: no tile, the end
  unsigned slot;
  int to;  ///< the receiver in `fifo_two_shot`; `fifo_one_shot` sends to all others
};

/// The shared memory of a sender block.
struct fifo_sender_shared {
  alignas(128) uint4 vecs[fifo_block::stages][fifo_tile_vecs];
  tile_descriptor descriptors[fifo_block::stages];
  std::uint64_t loaded[fifo_block::stages];
  std::uint64_t sent[fifo_block::stages];
  int credit_end;  ///< of `flow_control`
};

/// A sender block. Descriptor q is in stage q % stages. The first `fifo_preassigned` items are
/// known at the start; later items come by ticket, so that an SM with a faster way to the link
/// sends more.
///
/// The fastest SMs send 8 tiles a microsecond, and one thread issues them. When it took 0.5 us for
/// each, 256 MiB between two H200 took 920 us instead of 730 us.
template <class T, int Ranks, bool TwoShot>
class fifo_sender : public flow_control<T> {
  using base = flow_control<T>;
  using base::before_, base::call_, base::here_;
  using base::begin, base::group, base::items, base::lane, base::loaded_flag, base::loaded_number,
      base::vec_of_thread, base::own_word, base::vecs, base::reducers, base::slot, base::slot_after,
      base::tile_at, base::tile_of, base::tiles;
  static constexpr unsigned stages = fifo_block::stages;
  /// For the last items, a sender loads fewer tiles ahead, so that a slow SM leaves them to a fast
  /// one: 4 MiB between two H200 took 14.7 us instead of 15.1 us.
  static constexpr unsigned last_items = 8;
  static constexpr unsigned last_stages = 3;

 public:
  /// Collective over the block.
  __device__ fifo_sender(channel<T> const& here, fifo_sender_shared& shared)
      : base(here, shared.credit_end, overwrites_input<TwoShot>(here)), shared_(shared) {
    if (threadIdx.x == fifo_block::copy_threads) {
      for (unsigned i = 0; i < stages; ++i) {
        ::cuda::ptx::mbarrier_init(shared_.loaded + i, 1U);
        ::cuda::ptx::mbarrier_init(shared_.sent + i, unsigned{fifo_block::group_threads});
      }
      if constexpr (ptx::architecture >= 90) {
        ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
      }
      static_assert(Ranks <= stages, "for all tiles of an item");
      load_given(0, 0);
    }
    if (fifo_block::in_flag_warp()) { base::load_first_credits(); }
    __syncthreads();
  }

  /// Called by one thread: takes items, and loads their tiles into free stages. Each group gets one
  /// end descriptor. A ticket takes longer than a tile, so the thread reads a ticket one round
  /// after it has taken the next one.
  __device__ void load() const {
    auto ticket = take();
    auto next = take();
    unsigned q = given(0) < items() ? tiles_of_item() : 0;
    for (unsigned i = 1; i < protocol::fifo_preassigned; ++i) { q = load_given(q, i); }
    auto last = given(0);
    auto at = slot(last);
    for (;;) {
      auto const item = item_of(ticket);
      if (item >= items()) { break; }
      await_stage(q);  // so that no item is taken before it can be loaded
      if (item + last_items * call_.fifo.senders >= items() && q >= last_stages) {
        await_sent(q - last_stages);
      }
      ticket = next;
      next = take();
      at = slot_after(at, item - last);
      last = item;
      q = load_item(q, item, at);
    }
    for (unsigned group = 0; group < fifo_block::groups; ++group, ++q) {
      await_stage(q);
      publish_stage(q, {0, items(), 0, 0});
    }
  }

  /// Called by the copy warps: each group sends its tiles.
  __device__ void send() {
    base::take_first_credits();
    for (unsigned q = group();; q += fifo_block::groups) {
      auto const stage = q % stages;
      await_phase(shared_.loaded + stage, q / stages);
      auto const descriptor = read_descriptor(shared_.descriptors[stage]);
      if (descriptor.item >= items()) { return; }
      send(descriptor, shared_.vecs[stage]);
      // The arrival comes after the stores, which have used the loaded data. An arrival overtakes
      // loads that queue behind earlier stores: the stage was then refilled before it was read.
      ::cuda::ptx::mbarrier_arrive(shared_.sent + stage);
      if (overwrites_input<TwoShot>(here_) && vec_of_thread() == 0) {
        await_sent(q);
        sys::store_flag(loaded_flag(descriptor.slot), loaded_number(descriptor.item), false);
      }
    }
  }

 private:
  __device__ unsigned given(unsigned i) const { return i * call_.fifo.senders + here_.block; }
  __device__ unsigned take() const { return atomicAdd(own_word(call_.at.fifo_ticket_at), 1U); }
  __device__ unsigned item_of(unsigned ticket) const {
    return ticket - before_.tickets + protocol::fifo_preassigned * call_.fifo.senders;
  }

  __device__ unsigned tiles_of_item() const {
    return TwoShot ? static_cast<unsigned>(call_.ranks) - 1 : 1;
  }
  /// Loads preassigned item `i` from stage `q` on; returns the next stage.
  __device__ unsigned load_given(unsigned q, unsigned i) const {
    return given(i) < items() ? load_item(q, given(i), slot(given(i))) : q;
  }
  __device__ unsigned load_item(unsigned q, unsigned item, unsigned into) const {
    if constexpr (TwoShot) {
      auto to = here_.me;
      auto tile = tile_of(to, item);
      for (int step = 1; step < call_.ranks; ++step) {
        tile += items();
        if (++to == call_.ranks) {
          to = 0;
          tile = item;
        }
        load_tile(q++, {tile, item, into, to});
      }
    } else {
      load_tile(q++, {item, item, into, 0});
    }
    return q;
  }
  __device__ void load_tile(unsigned q, tile_descriptor const& descriptor) const {
    await_stage(q);
    copy(q, descriptor.tile);
    publish_stage(q, descriptor);
  }
  __device__ void await_stage(unsigned q) const {
    if (q >= stages) { await_sent(q - stages); }
  }
  __device__ void await_sent(unsigned q) const {
    await_phase(shared_.sent + q % stages, q / stages);
  }

  /// True where a bulk copy can load the tile: all of its vec16s are whole and aligned.
  __device__ bool is_staged(unsigned tile) const {
    auto const& grid = call_.grid;
    bool const whole = tile + 1 < tiles() || (tile + 1 == tiles() && grid.end_whole == grid.vecs);
    return ptx::architecture >= 90 && grid.wide && tile >= grid.first_whole && whole;
  }

  /// Starts a bulk copy of a tile, where `is_staged`.
  __device__ void copy(unsigned q, unsigned tile) const {
    if constexpr (ptx::architecture >= 90) {
      if (!is_staged(tile)) { return; }
      auto* const loaded = shared_.loaded + q % stages;
      auto const bytes = vecs(tile) * vec16_bytes;
      auto const* const in =
          reinterpret_cast<uint4 const*>(grid_origin(call_.in[here_.me], call_.grid));
      ::cuda::ptx::mbarrier_expect_tx(::cuda::ptx::sem_relaxed, ::cuda::ptx::scope_cta,
                                      ::cuda::ptx::space_shared, loaded, bytes);
      ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_cluster, ::cuda::ptx::space_global,
                                 shared_.vecs[q % stages], in + begin(tile), bytes, loaded);
    }
  }
  __device__ void publish_stage(unsigned q, tile_descriptor const& descriptor) const {
    shared_.descriptors[q % stages] = descriptor;
    ::cuda::ptx::mbarrier_arrive(shared_.loaded + q % stages);
  }
  /// Called by a warp. The lane that later frees the stage reads the descriptor for all lanes.
  __device__ static tile_descriptor read_descriptor(tile_descriptor const& from) {
    tile_descriptor descriptor{};
    if (lane() == 0) { descriptor = from; }
    auto const of_first = [](auto value) { return __shfl_sync(0xFFFFFFFFU, value, 0); };
    auto const item = of_first(descriptor.item);
    auto const slot = of_first(descriptor.slot);
    if constexpr (TwoShot) {
      return {of_first(descriptor.tile), item, slot, of_first(descriptor.to)};
    } else {
      return {item, item, slot, 0};
    }
  }

  __device__ void send(tile_descriptor const& descriptor, uint4 const* staged) {
    auto const j = vec_of_thread();
    auto const end = vecs(descriptor.tile);
    uint4 vec;
    if (j < end) {
      vec = is_staged(descriptor.tile)
                ? staged[j]
                : load_vec16(call_.in[here_.me], call_.grid, begin(descriptor.tile) + j);
    }
    base::await_credit(descriptor.item);
    if (j >= end) { return; }
    auto const what = sys::without_sentinel(vec);
    if constexpr (TwoShot) {
      sys::store(tile_at(descriptor.to, here_.me, descriptor.slot) + j, what);
    } else {
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        sys::store(tile_at(here_.peer(step), here_.me, descriptor.slot) + j, what);
      }
    }
  }

  fifo_sender_shared& shared_;
};

}  // namespace assay::comm::detail
