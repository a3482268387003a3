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

/// Epochs and items are numbered by 32 bits. After 2^32 a number comes again, and of two that are
/// 2^31 apart the later looks like the earlier. So whatever may stand for long with a number in it,
/// since only some operations write it, is written anew as numbers pass a multiple of this: what is
/// read is younger than four of these periods.
///
/// 2^28 epochs take 9 minutes at 2 us each; so many items are 962 GB, 2.6 s at the rate of the link
/// of two H200, and more than one operation can have.
inline constexpr unsigned renewal_period = 1U << 28U;

/// `ll_push` tells an operation's packets by the epoch in them. Two buffers in turn are enough: who
/// ends operation k has packets of k from all ranks, which have all ended k - 1 then; so nobody
/// reads k - 1 any more when k + 1 is written.
///
/// A large message's packets stand there until the next large one. Before it sends, a block has the
/// other buffer to itself: what it got there in k - 1 it has read, and nobody sends k + 1 before it
/// has this block's k. So the last two operations of each renewal period clear a buffer each; but
/// of the last period, whose last epochs no operation has (`next_epoch`).
inline constexpr unsigned ll_buffers = 2;

/// `lamport_push` tells packets by their difference from a pattern, so each buffer must have the
/// pattern again before its next use. Operation k clears the buffer of k - `cleared_after`, that
/// nobody else touches until k is over everywhere; with three buffers it is written to again by
/// operation k + 2, which no rank begins before all have ended k.
inline constexpr unsigned lamport_buffers = 3;
inline constexpr unsigned cleared_after = 1;

/// `ring_push` and `ring_two_shot`: some blocks of a rank send to all others, the rest reduce what
/// has come. An operation is cut into items, numbered on from operation to operation. Item k of
/// `ring_push` is tile k, to all others. Item k of `ring_two_shot` is tile k of each slice, to the
/// rank that reduces it, and its sum, by the blocks that reduce to all others.
///
/// What an item brings goes into slots of the receiver that come round again; as of `lamport_push`,
/// the data itself says that it is there, so who takes it clears its slot. Each rank tells all
/// others, by a flag, up to where it has cleared items; an item may be sent once the least of these
/// numbers is less than a round of slots behind.
///
/// Ranks tell after periods of items, since telling takes longer than few of them (of half as
/// long ones 256 MiB took 967 us in place of 734), and not of the last half of the slots, so that
/// nobody waits for flags at the end: by its first flag the next operation tells of all before it.
/// Between operations of different numbers of slots nothing else says which of them are clear.
///
/// In place, who reduces an item of `ring_push` overwrites what its own rank sends, so it waits for
/// a flag in the item's slot, which who sends raises to the item's number once it is loaded. So
/// that it does not go on to the slot's next item before it was seen, senders then heed their own
/// rank's cleared items as well, and raise it no sooner than the item may be sent. Without either a
/// rank may wait for ever.
///
/// What reducers note of periods, and flags in place, may stand for long: the first since the last
/// operation with periods, the others since their slot's last one in place. So where the items of
/// an operation pass a multiple of the renewal period, who told of its last period sets the notes,
/// which have all been seen then, and the flags of slots that it does not use in place, to a number
/// of now.
///
/// Sums go into slots of their own, by the same rule. All is done in the order of items by each
/// sender and each group that reduces, so the first item that is not over can go on.
struct ring_plan {
  unsigned tiles = 0;  ///< of the whole message
  unsigned items = 0;
  unsigned slots = 0;
  unsigned senders = 0;  ///< blocks
  unsigned period = 0;   ///< items, a multiple of those that the reducers do at once
  unsigned periods = 0;  ///< that are told of within the operation
  unsigned tickets = 0;  ///< that the senders take
};

/// Items that each sender has without a ticket, so that it can load while it learns of the rest.
inline constexpr unsigned ring_given = 2;
/// Tickets that a sender has taken and not looked at.
inline constexpr unsigned ring_tickets_ahead = 2;
/// Periods that may have begun and not be over in one block at a time: those of a round of slots,
/// less than 8, and one at each end.
inline constexpr unsigned ring_open_periods = 10;

/// Blocks that only send, little more than fill the link. Of 132 SMs of an H200 39: 16 and 256 MiB
/// by `ring_push` between two took 49.2 and 731 us with them, 49.7 and 730 with 44, 50.1 and 762
/// with 37, and with 33 up to 938. Of `ring_two_shot` they have half of the bytes, and more of them
/// keep the rest from sending sums: 1 GiB between two took 2926 us with 29, 2934 with 33 and 2968
/// with 39.
constexpr unsigned ring_senders(unsigned blocks, bool two_shot) noexcept {
  return blocks < 7 ? 1 : two_shot ? blocks * 2 / 9 : blocks * 3 / 10;
}

/// For so many tiles in so many slices, `at_once` items that are reduced at once, and room for at
/// least twice as many. The slots are a multiple of them, so that in an operation each slot is for
/// one reducer: another could take what the first has not read yet for its own.
constexpr ring_plan plan_ring(unsigned tiles, unsigned slices, unsigned room, unsigned senders,
                              unsigned at_once) noexcept {
  auto const items = (tiles + slices - 1) / slices;
  auto const slots = room / at_once * at_once;
  auto const quarter = slots / (4 * at_once);
  auto const period = (quarter == 0 ? 1 : quarter) * at_once;
  auto const told = items > slots / 2 ? (items - slots / 2 - 1) / period : 0;
  auto const given = ring_given * senders;
  // The last tickets of each sender find nothing left.
  auto const tickets = (items > given ? items - given : 0) + ring_tickets_ahead * senders;
  return {tiles, items, slots, senders, period, told, tickets};
}

/// Handshakes of one operation on whole buffers: one to begin, one to end. Flags only ever grow.
inline constexpr unsigned handshakes = 2;

/// The pattern: a NaN that no arithmetic makes (its NaNs are 0x7FFFFFFF, says the CUDA programming
/// guide on compliance with IEEE 754, and 0x7FFF of 16 bits), so that sums need no disguise. As two
/// 16-bit floats it is two NaNs.
inline constexpr unsigned unwritten = 0xFFFFFFFFU;
/// What is sent in its place: another NaN, in each of the three types.
inline constexpr unsigned unwritten_sent_as = 0x7FFFFFFFU;

/// Whether a multiple of the renewal period is in (`before`, `after`].
constexpr bool renews(unsigned before, unsigned after) noexcept {
  return before / renewal_period != after / renewal_period;
}
/// Whether an operation of `ll_push` clears the other buffer.
constexpr bool renews_ll(unsigned epoch) noexcept {
  return epoch % renewal_period >= renewal_period - ll_buffers;
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
/// Whether what is renewed can have been written, by now up to `last`.
constexpr bool can_stand(unsigned seen, unsigned last) noexcept {
  return last - seen < 4 * renewal_period;
}

}  // namespace assay::comm::protocol
