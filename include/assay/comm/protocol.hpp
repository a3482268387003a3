// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which buffer and which flag belong to which operation: the rules that let ranks run apart.
///
/// Each block of a launch is a channel of its own, joined to the block of the same number on the
/// other ranks: it counts its own operations (epochs) and has its own scratch and flags. So
/// launches of any numbers of blocks may follow each other, as long as all ranks' sequences are
/// equal.
#pragma once

namespace assay::comm::protocol {

/// `ll_push` tells an operation's packets by the epoch in them. Two buffers in turn are enough: who
/// ends operation k has packets of k from all ranks, which have all ended k - 1 then; so nobody
/// reads k - 1 any more when k + 1 is written.
inline constexpr unsigned ll_buffers = 2;

/// `lamport_push` tells packets by their difference from a pattern, so each buffer must have the
/// pattern again before its next use. Operation k clears the buffer of k - `cleared_after`, that
/// nobody else touches until k is over everywhere; with three buffers it is written to again by
/// operation k + 2, which no rank begins before all have ended k.
inline constexpr unsigned lamport_buffers = 3;
inline constexpr unsigned cleared_after = 1;

/// `ring_push`: a block pushes its tile t, then consumes the tiles up to t - `ring_ahead` of all
/// others, each once its sender's count of tiles says that it is there. Towards the end it holds
/// fewer back, so that none are left to read when there is nothing left to send: with four held
/// back to the end 64 MiB between two H200 took 198.7 us, and so 192.9. Counts go on from operation
/// to operation. Nobody says what it has consumed, for the order does: who has pushed tile t has
/// seen all others' t - 1 - `ring_ahead`, and they had consumed t - 2 - 2 `ring_ahead` before.
inline constexpr unsigned ring_ahead = 2;
inline constexpr unsigned ring_slots = 2 * ring_ahead + 2;

/// `ring_two_shot`: a block sends its tiles t once it has reduced tile t - `ring_stages` of its own
/// slice, whose stage they take. For that it had seen all others' t - `ring_stages`, and those had
/// reduced t - 2 `ring_stages` before they sent them. As many stages as 192 KiB of shared memory
/// hold.
inline constexpr unsigned ring_stages = 6;
inline constexpr unsigned staged_slots = 2 * ring_stages;
/// Groups of threads that reduce tiles in turn, so that one loads while another stores.
inline constexpr unsigned staged_groups = 2;
/// Tiles that one flag tells of. Raising it holds the SM's copies up until all that it sent has
/// arrived: between four H200, 1 GiB took 4742 us with a flag for each tile, 4576 with one for two.
inline constexpr unsigned told_together = 2;

/// Handshakes of one operation on whole buffers: one to begin, one to end. Flags only ever grow.
inline constexpr unsigned handshakes = 2;

/// The pattern: a NaN with a payload that no arithmetic makes. As two 16-bit floats it is two NaNs.
inline constexpr unsigned unwritten = 0xFFFFFFFFU;
/// What is sent in its place: another NaN, in each of the three types.
inline constexpr unsigned unwritten_sent_as = 0x7FFFFFFFU;

/// Tiles that `ring_push` has pushed and not consumed before it goes on from `tile` of so many.
constexpr unsigned held_back(unsigned tile, unsigned tiles, unsigned ahead = ring_ahead) noexcept {
  auto const left = tiles - 1 - tile;
  return left < ahead ? left : ahead;
}

constexpr unsigned ll_buffer(unsigned epoch) noexcept { return epoch % ll_buffers; }
constexpr unsigned lamport_buffer(unsigned epoch) noexcept { return epoch % lamport_buffers; }
constexpr unsigned buffer_to_clear(unsigned epoch) noexcept {
  return (epoch % lamport_buffers + lamport_buffers - cleared_after) % lamport_buffers;
}
/// The epoch after this one; 0 is what scratch is made of, so no operation has it, and the step
/// over it keeps both turns: 3 follows the greatest multiple of 6.
constexpr unsigned next_epoch(unsigned epoch) noexcept {
  constexpr unsigned last = 0xFFFFFFFCU;  // a multiple of 6
  return epoch == last ? 1 : epoch + 1;
}
/// Whether a flag that counts handshakes has come to `wanted`; both may have wrapped round.
constexpr bool reached(unsigned seen, unsigned wanted) noexcept {
  return static_cast<int>(seen - wanted) >= 0;
}
/// Whether a flag can be what a peer wrote, while `wanted` is waited for: the one before, this one,
/// or the next, which a peer that is ahead has reached.
constexpr bool plausible(unsigned seen, unsigned wanted) noexcept { return seen - wanted + 1 <= 2; }
/// The same of a count of tiles: all slots may be full, or who waits is one of so many groups, of
/// which the others may wait for tiles before.
constexpr bool plausible_tiles(unsigned seen, unsigned wanted, unsigned slots,
                               unsigned groups) noexcept {
  return seen - wanted + groups < slots + groups;
}

}  // namespace assay::comm::protocol
