// SPDX-License-Identifier: Apache-2.0
/// @file
/// The algorithm and the grid of an all-reduce by size: the one place with tuned figures.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/protocol.hpp>
#include <assay/comm/slicing.hpp>
#include <assay/comm/tuned_2_ranks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// A row of the tuning table: messages of up to so many bytes use this algorithm.
struct tuning_row {
  std::size_t up_to_bytes;
  algorithm how;
};

/// The rows of a table that races wrote, which names algorithms.
template <class Row, std::size_t Rows>
consteval std::array<tuning_row, Rows> tuned_rows(Row const (&raced)[Rows]) {
  std::array<tuning_row, Rows> made{};
  for (std::size_t i = 0; i < Rows; ++i) {
    int which = 1;
    while (to_string(static_cast<algorithm>(which)) != raced[i].choice) { ++which; }
    made[i] = {raced[i].up_to, static_cast<algorithm>(which)};  // a wrong name does not compile
  }
  return made;
}

/// Two ranks: a one-shot sends no more than any algorithm must. Raced between two H200.
inline constexpr auto tuning_two_ranks = tuned_rows(tuned_2_ranks::by_size);
/// Four ranks: a one-shot sends twice as much as a two-shot, which costs one more trip over the
/// link. Measured on four H200 (benchmarks/results/all_reduce_4_gpus.json): `lamport_push` is 8 to
/// 53 % faster than the next up to 256 KiB; `two_shot` is fastest, or within 1 %, from 1 to 4 MiB;
/// `fifo_two_shot` is 9 to 11 % faster than `two_shot` from 64 MiB on.
inline constexpr tuning_row tuning_four_ranks[] = {
    {std::size_t{256} << 10U, algorithm::lamport_push},
    {std::size_t{8} << 20U, algorithm::two_shot},
    {SIZE_MAX, algorithm::fifo_two_shot}};
/// Five to eight ranks: not measured. The limit is derived from the limit of four ranks,
/// by the bytes that a one-shot sends beyond a two-shot.
inline constexpr tuning_row tuning_many_ranks[] = {
    {std::size_t{96} << 10U, algorithm::lamport_push}, {SIZE_MAX, algorithm::two_shot}};

/// Threads per block of `lamport_push` at most, which bounds its registers.
inline constexpr unsigned most_push_threads = 512;
/// The default scratch: it holds the largest `lamport_push` of the table for this number of ranks.
constexpr std::size_t default_scratch_bytes(int ranks) noexcept {
  return ranks <= 2   ? tuning_two_ranks[0].up_to_bytes
         : ranks <= 4 ? tuning_four_ranks[0].up_to_bytes
                      : tuning_many_ranks[0].up_to_bytes;
}

/// Blocks that a rank's `lamport_push` has scratch for: its kernel for two ranks is compiled for
/// three resident blocks on each SM; other kernels are sure of one.
constexpr unsigned push_blocks(int ranks, unsigned resident_blocks) noexcept {
  return (ranks <= 2 ? 3 : 1) * resident_blocks;
}

/// True where an engine that was asked for `asked` needs FIFO slots. An engine runs one of the two
/// FIFO algorithms only, since their slots lie in different places.
constexpr bool uses_fifo(algorithm asked, int ranks, int capability) noexcept {
  if (asked == algorithm::automatic) { return has_fifo_code(ranks > 2, ranks, capability); }
  return is_fifo(asked);
}

/// Vec16s of a tile, one for each thread of a group that copies it: 3.5 KiB. SMs get shares of the
/// link that differ by a factor of three, and small tiles balance the load. On two H200, 64 MiB
/// took 186.3 us with tiles of 3.5 KiB, 187.0 us with 7.5 KiB, 187.7 us with 16 KiB, and 190.8 us
/// with equal numbers of tiles for all SMs.
inline constexpr unsigned fifo_tile_vecs = 224;
/// Slots of the FIFO for each block. For two ranks, 44 are 21 MB on an H200, which its L2 cache
/// holds beside other data: 256 MiB took 733.6 us, and 736.5 us with 25 MB. For more ranks, slots
/// must be reused late enough: four ranks on two H200 took 5831 us for 1 GiB with 36 slots, 5876 us
/// with 24 and 7040 us with 16.
constexpr unsigned fifo_slots_per_block(int ranks) noexcept { return ranks <= 2 ? 44 : 36; }

/// The properties of an operation that its algorithm depends on.
struct problem {
  std::size_t bytes = 0;
  int ranks = 1;
  bool fifo = true;   ///< the engine has FIFO slots
  bool own = false;   ///< each rank knows its own buffers alone
  bool flags = true;  ///< elements can be their own flag of arrival
};

/// The largest operation that fits into the scratch of an algorithm.
constexpr std::size_t capacity_bytes(algorithm how, std::size_t scratch_bytes) noexcept {
  return how == algorithm::lamport_push ? scratch_bytes : SIZE_MAX;
}

/// The algorithm of the table, or the next row that can run the operation; `automatic` where no
/// algorithm can, since ranks know their own buffers alone.
constexpr algorithm choose(problem const& what, std::size_t scratch_bytes) noexcept {
  auto const pick = [&](auto const& rows) {
    for (auto const& row : rows) {
      if (what.bytes <= row.up_to_bytes && what.bytes <= capacity_bytes(row.how, scratch_bytes) &&
          (what.fifo || !is_fifo(row.how)) &&
          (uses_peers_buffers(row.how) ? !what.own : what.flags)) {
        return row.how;
      }
    }
    if (!what.own) { return algorithm::two_shot; }
    auto const push = algorithm::lamport_push;
    bool const fits = what.bytes <= capacity_bytes(push, scratch_bytes);
    return fits && what.flags ? push : algorithm::automatic;
  };
  if (what.ranks <= 2) { return pick(tuning_two_ranks); }
  return what.ranks <= 4 ? pick(tuning_four_ranks) : pick(tuning_many_ranks);
}

/// A grid for one rank.
struct shape {
  unsigned blocks = 1;
  unsigned threads = 32;
  bool operator==(shape const&) const = default;
};

/// The limits of a push's grid.
struct shape_limits {
  unsigned blocks = 0;  ///< asked for by the caller; 0: not
  unsigned most_blocks = 1;
  std::uint64_t block_vecs = 1;  ///< vec16s that the scratch of a block holds
  unsigned sms = 0;              ///< blocks of a grid with one block on each SM; 0: `most_blocks`
};

/// The grid of a push of `vecs`. Small messages get few threads, since starting and ending threads
/// then takes most of the time.
inline shape push_shape(std::uint64_t vecs, shape_limits const& limits) {
  shape found;
  std::uint64_t const most = limits.most_blocks;
  // One block per SM while each has up to 256 vecs, then as many as fit: 4 MiB between two H200
  // took 14.3 us with 396 blocks of 512 threads, and 15.6 us with 132.
  auto const one_each = limits.sms == 0 ? most : std::min<std::uint64_t>(limits.sms, most);
  auto blocks = limits.blocks != 0       ? std::uint64_t{limits.blocks}
                : vecs <= one_each * 256 ? std::min(one_each, ceil_div(vecs, 128))
                                         : most;
  blocks = std::max(blocks, ceil_div(vecs, limits.block_vecs));
  blocks = std::clamp<std::uint64_t>(blocks, 1, most);
  // No block stays without work when all take equal shares.
  auto const share = std::max<std::uint64_t>(ceil_div(vecs, blocks), 1);
  found.blocks = static_cast<unsigned>(std::max<std::uint64_t>(ceil_div(vecs, share), 1));
  found.threads =
      static_cast<unsigned>(std::min<std::uint64_t>(ceil_div(share, 32) * 32, most_push_threads));
  return found;
}

/// The grid and the plan of a FIFO operation.
struct fifo_shape {
  unsigned blocks = 2;
  protocol::fifo_plan plan;
};

/// The shape for `vecs` in `slices` slices: one block for each tile, from two up to `most`. Each
/// block works on `groups` items at once, and each slice has `slots` slots.
constexpr fifo_shape shape_fifo(std::uint64_t vecs, unsigned slices, unsigned most, unsigned slots,
                                unsigned groups) noexcept {
  auto const tiles = static_cast<unsigned>(ceil_div(vecs, fifo_tile_vecs));
  auto const blocks = std::clamp(tiles, 2U, std::max(most, 2U));
  auto const senders = protocol::fifo_senders(blocks, slices > 1);
  return {blocks, protocol::plan_fifo(tiles, slices, slots, senders, (blocks - senders) * groups)};
}

/// Blocks of `pull` and `two_shot`: 64 blocks of 512 threads with four loads in flight each fill
/// the link.
inline constexpr unsigned direct_blocks = 64;

}  // namespace assay::comm
