// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which algorithm and which grid an all-reduce of a size gets: the one place with such figures.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/protocol.hpp>
#include <assay/comm/slicing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// A row of the table: up to so many bytes, this way.
struct choice {
  std::size_t up_to_bytes;
  algorithm how;
};

/// At two ranks a push sends what every algorithm must, and waits for nobody. Measured on two H200:
/// of 1 MiB `lamport_push` took 5.4 us and `ring_push` 6.0; of 4 MiB `ring_push` 14.6 and
/// `lamport_push` 14.9; of 8 MiB 26.0, 27.1 and `lamport_two_shot` 27.7. In place the SMs of
/// `ring_push` wait for each other: of 4 MiB it took 15.05 us, and `lamport_push` 14.9.
///
/// From four ranks on a push to all sends more than a two-shot, which costs one more way through
/// the wire. Between four H200: of 256 KiB `lamport_push` took 6.4 us and both two-shots 6.9; of
/// 1 MiB `two_shot` 9.8, `lamport_two_shot` 10.1; of 4 MiB both 24.2; of 16 MiB `ring_two_shot` and
/// `lamport_two_shot` 81, `two_shot` 84; of 64 MiB `ring_two_shot` 296, `two_shot` 322. Those of
/// `ring_two_shot` are from before some SMs sent and the others reduced. Since then it was measured
/// between two, where 16 and 64 MiB take 52.5 and 189 us in place of 55.7 and 195, and by four
/// ranks on two devices, 102.1 and 375 us in place of 102.1 and 377. The rows for more are derived
/// from 0.7 us one way and 360 GB/s.
inline constexpr choice choices_of_two[] = {{std::size_t{3} << 20U, algorithm::lamport_push},
                                            {SIZE_MAX, algorithm::ring_push}};
inline constexpr choice choices_of_two_in_place[] = {
    {std::size_t{4} << 20U, algorithm::lamport_push}, {SIZE_MAX, algorithm::ring_push}};
inline constexpr choice choices_of_four[] = {{std::size_t{256} << 10U, algorithm::lamport_push},
                                             {std::size_t{2} << 20U, algorithm::two_shot},
                                             {std::size_t{8} << 20U, algorithm::lamport_two_shot},
                                             {SIZE_MAX, algorithm::ring_two_shot}};
inline constexpr choice choices_of_many[] = {{std::size_t{96} << 10U, algorithm::lamport_push},
                                             {std::size_t{8} << 20U, algorithm::lamport_two_shot},
                                             {SIZE_MAX, algorithm::ring_two_shot}};

/// Scratch for all that the table pushes.
inline constexpr std::size_t default_scratch_bytes = std::size_t{6} << 20U;

/// Whether an engine that is asked for an algorithm needs slots for tiles. None uses those of both
/// rings, which would not heed each other's.
constexpr bool uses_ring(algorithm asked) noexcept {
  return asked == algorithm::automatic || is_ring(asked);
}

/// Of rings: a pack for each of the threads that move a tile. Small tiles, as senders take
/// the next when they have sent one: SMs get shares of the link that differ by a factor of three,
/// and with equal numbers of tiles the last SMs sent alone. Between two H200, of 64 MiB, with tiles
/// of 3.5 KiB 186.3 us, of 7.5 KiB 187.0, of 16 KiB 187.7; with equal numbers 190.8 at best.
inline constexpr unsigned ring_tile_packs = 224;
/// Their slots for each block: of two ranks 21 MB on an H200, as much as its L2 cache holds beside
/// other data; 256 MiB by `ring_push` took 733.6 us with them, and 736.5 with 25 MB. Of more ranks
/// those of `ring_two_shot` have to come round late enough, which counts for more: four ranks on
/// two devices took 5831 us of 1 GiB with 36, 5844 with 28, 5876 with 24 and 7040 with 16.
constexpr unsigned ring_slots_per_block(int ranks) noexcept {
  return ranks <= 2 ? 44 : ranks <= 4 ? 36 : 28;
}

/// One operation, as far as its choice goes.
struct problem {
  std::size_t bytes = 0;
  int ranks = 1;
  bool in_place = false;
  bool rings = true;  ///< its code has them
};

/// The largest operation for which an algorithm's scratch will do; that of the largest for
/// `lamport_push` is given. `ll_push` has a fraction, in packets of half the payload.
inline constexpr std::size_t ll_share = 16;
constexpr std::size_t capacity_bytes(algorithm how, std::size_t scratch_bytes, int ranks) noexcept {
  switch (how) {
    case algorithm::ll_push:
      return scratch_bytes / ll_share;
    case algorithm::lamport_push:
      return scratch_bytes;
    case algorithm::lamport_two_shot:
      return scratch_bytes / 2 * static_cast<std::size_t>(ranks);
    default:
      return SIZE_MAX;
  }
}

/// The table's choice, or the next that can do it.
constexpr algorithm choose(problem const& what, std::size_t scratch_bytes) noexcept {
  auto const pick = [&](auto const& rows) {
    for (auto const& row : rows) {
      if (what.bytes <= row.up_to_bytes &&
          what.bytes <= capacity_bytes(row.how, scratch_bytes, what.ranks) &&
          !(what.in_place && row.how == algorithm::pull) && (what.rings || !is_ring(row.how))) {
        return row.how;
      }
    }
    return algorithm::two_shot;
  };
  if (what.ranks <= 2) { return pick(what.in_place ? choices_of_two_in_place : choices_of_two); }
  return what.ranks <= 4 ? pick(choices_of_four) : pick(choices_of_many);
}

/// A grid for one rank.
struct shape {
  unsigned blocks = 1;
  unsigned threads = 32;
  bool operator==(shape const&) const = default;
};

/// What bounds a push's grid: the caller's wishes (0: none), and what the scratch of a block holds.
struct shape_limits {
  unsigned blocks = 0;
  unsigned threads = 0;
  unsigned most_blocks = 1;
  std::uint64_t block_packs = 1;  ///< packs of one block, at most
  unsigned sms = 0;               ///< blocks that are one for each SM; 0: all
};

/// The grid for a push of `packs` (of one slice, for a two-shot). Few threads where there is little
/// to send: what takes the time then is to start and to end them.
inline shape push_shape(std::uint64_t packs, shape_limits const& limits) {
  shape found;
  std::uint64_t const most = limits.most_blocks;
  // A block for each SM as soon as it has 128 packs, and as many as fit once it would have more
  // than 256: of 4 MiB between two H200, 396 blocks of 512 threads took 14.3 us, 132 took 15.6.
  auto const one_each = limits.sms == 0 ? most : std::min<std::uint64_t>(limits.sms, most);
  auto blocks =
      limits.blocks != 0 ? std::uint64_t{limits.blocks}
      : packs <= one_each * 256
          ? std::min(one_each, share_of(packs, limits.threads != 0 ? limits.threads : 128U))
          : most;
  constexpr unsigned most_threads = 512;
  found.threads = limits.threads != 0 ? limits.threads : most_threads;
  blocks = std::max(blocks, share_of(packs, limits.block_packs));
  blocks = std::clamp<std::uint64_t>(blocks, 1, most);
  // No more than have something to do when each takes an equal share.
  auto const share = std::max<std::uint64_t>(share_of(packs, blocks), 1);
  found.blocks = static_cast<unsigned>(std::max<std::uint64_t>(share_of(packs, share), 1));
  if (limits.threads == 0 && share < found.threads) {
    found.threads = static_cast<unsigned>(std::max<std::uint64_t>(share_of(share, 32) * 32, 32));
  }
  return found;
}

/// The grid of a ring and its plan.
struct ring_shape {
  unsigned blocks = 2;
  protocol::ring_plan plan;
};

/// For so many packs in so many slices, by as many blocks as there are tiles, of `most`; `groups`
/// of a block take an item each at once. Each slice has slots of its own.
constexpr ring_shape shape_ring(std::uint64_t packs, unsigned slices, unsigned most, unsigned slots,
                                unsigned groups) noexcept {
  auto const tiles = static_cast<unsigned>(share_of(packs, ring_tile_packs));
  auto const blocks = std::clamp(tiles, 2U, std::max(most, 2U));
  auto const senders = protocol::ring_senders(blocks, slices > 1);
  return {blocks, protocol::plan_ring(tiles, slices, slots, senders, (blocks - senders) * groups)};
}

/// Blocks for the algorithms on whole buffers: 64 of 512 threads with four loads in flight filled
/// the link; fewer where tiles are fewer.
inline constexpr unsigned direct_blocks = 64;

}  // namespace assay::comm
