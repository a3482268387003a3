// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel of `all_reduce` that pushes tiles by bulk copies: slices to who reduces them through
/// a few slots, sums straight into all outputs.
#pragma once

#include <assay/comm/all_reduce_push.cuh>
#include <assay/core/ptx.cuh>

#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// How a block of `ring_two_shot` is made up: threads that reduce, in groups that take tiles in
/// turn, and four warps: one loads, one sends, one tells the peers, one delivers sums.
template <int Ranks>
struct staged_ring {
  static constexpr unsigned tile_packs = staged_tile_packs(Ranks);
  static constexpr unsigned stages = protocol::ring_stages;
  static constexpr unsigned groups = protocol::staged_groups;
  static constexpr unsigned group_threads = 256;
  static constexpr unsigned reducers = groups * group_threads;
  static constexpr unsigned threads = reducers + 4 * 32;
  /// A tile of each slice for each stage, then four barriers for each.
  static constexpr std::size_t tiles_bytes = std::size_t{pack_bytes} * tile_packs * Ranks * stages;
  static constexpr std::size_t shared_bytes = tiles_bytes + 4 * stages * sizeof(std::uint64_t);
};

namespace detail {

/// One block's part. In each stage there are the tiles `i` of all slices: those of the others are
/// sent to them; this rank's is reduced in place with what they sent, and delivered to them.
template <class T, int Ranks>
class staged_block {
  using ring = staged_ring<Ranks>;

 public:
  /// `shared`: `staged_ring::shared_bytes`. Collective over the block.
  __device__ staged_block(channel<T> const& here, std::byte* shared)
      : here_(here),
        call_(here.call),
        tiles_at_(reinterpret_cast<uint4*>(shared)),
        barriers_(reinterpret_cast<std::uint64_t*>(shared + ring::tiles_bytes)),
        before_(here.counted_tiles()),
        first_slot_(here.next_slot()),
        tiles_((share(0).count + ring::tile_packs - 1) / ring::tile_packs) {
    if (threadIdx.x < ring::stages) {
      ::cuda::ptx::mbarrier_init(loaded(threadIdx.x), 32U);
      ::cuda::ptx::mbarrier_init(sent(threadIdx.x), 1U);
      ::cuda::ptx::mbarrier_init(summed(threadIdx.x), unsigned{ring::group_threads});
      ::cuda::ptx::mbarrier_init(freed(threadIdx.x), 2U);  // told of, and delivered
      ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
    }
    __syncthreads();
  }

  /// By a warp: brings the tiles of all slices in.
  __device__ void load() const {
    for (unsigned i = 0; i < tiles_; ++i) {
      if (i >= ring::stages) { wait(freed(i), i - ring::stages); }
      for (int rank = 0; rank < call_.ranks; ++rank) { bring(i, rank); }
      ::cuda::ptx::mbarrier_arrive(loaded(i));
    }
  }

  /// By a thread: sends each other rank its tile. One more is on its way while one is waited for.
  __device__ void send() const {
    for (unsigned i = 0; i < tiles_; ++i) {
      wait(loaded(i), i);
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        int const to = here_.peer(step);
        auto const part = tile(i, to);
        copy_out(slot(to, here_.me, i), staged(i, to), part.count);
      }
      wire::end_copies();
      if (i >= 1) {
        wire::await_copies_but<1>();
        ::cuda::ptx::mbarrier_arrive(sent(i - 1));
      }
    }
    wire::await_copies();
    ::cuda::ptx::mbarrier_arrive(sent(tiles_ - 1));
  }

  /// By a warp, a lane for each other rank: tells it of tiles that it was sent, `told_together` at
  /// a time.
  __device__ void tell() const {
    int const to = static_cast<int>(lane());
    for (unsigned i = 0; i < tiles_;) {
      auto const first = i;
      for (; i < tiles_ && i < first + protocol::told_together; ++i) { wait(sent(i), i); }
      ::cuda::ptx::fence_proxy_async();
      if (to < call_.ranks && to != here_.me) {
        wire::raise(here_.ring_flag(to, here_.me), before_ + i, true);
      }
      __syncwarp();
      if (lane() == 0) {
        for (auto k = first; k < i; ++k) { ::cuda::ptx::mbarrier_arrive(freed(k)); }
      }
    }
  }

  /// By `reducers`: each group its tiles.
  __device__ void reduce() {
    for (auto i = threadIdx.x / ring::group_threads; i < tiles_; i += ring::groups) {
      await_tiles(here_, seen_, before_ + i + 1, protocol::staged_slots, ring::groups);
      reduce_tile(i, tile(i, here_.me), threadIdx.x % ring::group_threads);
      ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
      ::cuda::ptx::mbarrier_arrive(summed(i));
    }
  }

  /// By a thread: copies the sums to the outputs of all others. They are there when it returns.
  __device__ void deliver() const {
    for (unsigned i = 0; i < tiles_; ++i) {
      wait(summed(i), i);
      auto const part = tile(i, here_.me);
      auto const whole = whole_of(part);
#pragma unroll
      for (int step = 1; step < Ranks; ++step) {
        if (step >= call_.ranks) { continue; }
        auto* const out = call_.out[here_.peer(step)];
        copy_out(reinterpret_cast<uint4*>(grid_origin(out, call_.grid)) + whole.begin,
                 staged(i, here_.me) + (whole.begin - part.begin), whole.count);
        for (unsigned j = 0; j < part.count && whole.count < part.count; ++j) {
          if (within(whole, part.begin + j)) { continue; }
          store_elements(out, call_.grid, part.begin + j, staged(i, here_.me)[j]);
        }
      }
      wire::end_copies();
      wire::await_copies_read();
      ::cuda::ptx::mbarrier_arrive(freed(i));
    }
    wire::await_copies();
    ::cuda::ptx::fence_proxy_async();
  }

  /// Counts what was done, once all threads have read the state.
  __device__ void count() const {
    here_.state()->ring_tiles = before_ + tiles_;
    here_.state()->ring_slot = (first_slot_ + tiles_) % protocol::staged_slots;
  }

 private:
  __device__ static unsigned lane() { return threadIdx.x % 32; }

  /// Packs of the slice of `rank` that fall to this block; those of tile `i`; those of a part that
  /// can be copied as a whole.
  __device__ block_share share(int rank) const {
    auto const at = static_cast<unsigned>(rank) * gridDim.x + here_.block;
    return share_at(call_, std::uint64_t{at} * call_.block_packs);
  }
  __device__ block_share tile(unsigned i, int rank) const {
    auto const all = share(rank);
    auto const at = min(i * ring::tile_packs, all.count);
    return {all.begin + at, min(ring::tile_packs, all.count - at)};
  }
  __device__ block_share whole_of(block_share const& part) const {
    if (!call_.grid.wide) { return {part.begin, 0}; }
    auto const begin = part.begin < call_.grid.first_whole ? call_.grid.first_whole : part.begin;
    auto const end = part.begin + part.count < call_.grid.end_whole ? part.begin + part.count
                                                                    : call_.grid.end_whole;
    return {begin, begin < end ? static_cast<unsigned>(end - begin) : 0U};
  }
  __device__ static bool within(block_share const& part, std::uint64_t k) {
    return k >= part.begin && k < part.begin + part.count;
  }

  /// Begins to load tile `i` of a slice: whole packs by a copy, the others one by one.
  __device__ void bring(unsigned i, int rank) const {
    auto const part = tile(i, rank);
    auto const whole = whole_of(part);
    auto const* const in = call_.in[here_.me];
    auto* const to = staged(i, rank);
    if (whole.count > 0 && lane() == 0) {
      auto const bytes = whole.count * pack_bytes;
      ::cuda::ptx::mbarrier_expect_tx(::cuda::ptx::sem_relaxed, ::cuda::ptx::scope_cta,
                                      ::cuda::ptx::space_shared, loaded(i), bytes);
      auto const* const packs = reinterpret_cast<uint4 const*>(grid_origin(in, call_.grid));
      ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_cluster, ::cuda::ptx::space_global,
                                 to + (whole.begin - part.begin), packs + whole.begin, bytes,
                                 loaded(i));
    }
    if (whole.count == part.count) { return; }
    for (auto j = lane(); j < part.count; j += 32) {
      if (within(whole, part.begin + j)) { continue; }
      to[j] = load_elements(in, call_.grid, part.begin + j);
    }
    ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
  }

  __device__ static void copy_out(uint4* to, uint4 const* from, unsigned packs) {
    if (packs == 0) { return; }
    ::cuda::ptx::cp_async_bulk(::cuda::ptx::space_global, ::cuda::ptx::space_shared, to, from,
                               packs * pack_bytes);
  }

  __device__ void reduce_tile(unsigned i, block_share const& part, unsigned thread) const {
    constexpr int each = static_cast<int>(ring::tile_packs / ring::group_threads);
    uint4 packs[each][Ranks];
#pragma unroll
    for (int u = 0; u < each; ++u) {
      auto const j = thread + u * ring::group_threads;
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank >= call_.ranks || rank == here_.me || j >= part.count) { continue; }
        packs[u][rank] = __ldcg(slot(here_.me, rank, i) + j);
      }
    }
    wait(loaded(i), i);
#pragma unroll
    for (int u = 0; u < each; ++u) {
      auto const j = thread + u * ring::group_threads;
      if (j >= part.count) { continue; }
      auto& mine = staged(i, here_.me)[j];
#pragma unroll
      for (int rank = 0; rank < Ranks; ++rank) {
        if (rank == here_.me) { packs[u][rank] = mine; }
      }
      mine = narrowed<T>(reduced<T>(packs[u], call_.ranks, call_.how));
      store_pack(call_.out[here_.me], call_.grid, part.begin + j, mine);
    }
  }

  __device__ uint4* staged(unsigned i, int rank) const {
    auto const at = i % ring::stages * Ranks + static_cast<unsigned>(rank);
    return tiles_at_ + at * ring::tile_packs;
  }
  __device__ uint4* slot(int rank, int from, unsigned i) const {
    return here_.staged_slot(rank, from, first_slot_ + i, ring::tile_packs);
  }

  /// The barriers of a tile's stage.
  __device__ std::uint64_t* loaded(unsigned i) const { return barriers_ + i % ring::stages; }
  __device__ std::uint64_t* sent(unsigned i) const { return loaded(i) + ring::stages; }
  __device__ std::uint64_t* summed(unsigned i) const { return loaded(i) + 2 * ring::stages; }
  __device__ std::uint64_t* freed(unsigned i) const { return loaded(i) + 3 * ring::stages; }
  /// Waits for the phase that tile `i` ends.
  __device__ static void wait(std::uint64_t* barrier, unsigned i) {
    ptx::await_parity(barrier, i / ring::stages % 2);
  }

  channel<T> const& here_;
  all_reduce_call<T> const& call_;
  uint4* tiles_at_;
  std::uint64_t* barriers_;
  unsigned before_;
  unsigned first_slot_;  ///< numbers of tiles wrap, and 2^32 is no multiple of the slots
  unsigned tiles_;
  unsigned seen_ = before_;
};

}  // namespace detail

/// Of any size, with 2 (n - 1) / n of the bytes, by the rules of `protocol::ring_stages`; and a
/// handshake at the end, after which all sums are in the outputs. Where devices have no bulk copies
/// the host keeps it from being launched.
template <class T, int Ranks>
__global__ void __launch_bounds__(staged_ring<Ranks>::threads, 1)
    ring_two_shot(__grid_constant__ all_reduce_call<T> const call) {
  if constexpr (ptx::architecture >= 90) {
    using ring = staged_ring<Ranks>;
    extern __shared__ __align__(128) std::byte shared[];
    channel<T> const here{call};
    auto const meeting = here.counted().handshakes + 1;
    require_agreement(here);
    detail::staged_block<T, Ranks> block{here, shared};
    if (threadIdx.x < ring::reducers) {
      block.reduce();
    } else if (threadIdx.x < ring::reducers + 32) {
      block.load();
    } else if (threadIdx.x < ring::reducers + 64) {
      block.tell();
    } else if (threadIdx.x == ring::reducers + 64) {
      block.send();
    } else if (threadIdx.x == ring::reducers + 96) {
      block.deliver();
    }
    __syncwarp();
    meet(here, meeting, true);
    if (threadIdx.x == 0) {
      here.state()->handshakes = meeting;
      block.count();
    }
    here.report();
  }
}

}  // namespace assay::comm
