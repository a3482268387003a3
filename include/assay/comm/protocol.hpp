// SPDX-License-Identifier: Apache-2.0
/// @file
/// The numbers of the protocol that ranks follow; docs/protocol.md explains it with diagrams.
///
/// tests/comm/protocol_cuda.cpp and tests/comm/fifo_protocol_cuda.cpp explore every interleaving of
/// a few ranks by these functions.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

namespace assay::comm::protocol {

/// Epochs and items have 32-bit numbers, compared as signed differences: a number that is 2^31 old
/// would look new. Counts and flags that few operations write are therefore written again whenever
/// the item number passes a multiple of this period (docs/protocol.md, "Numbers that wrap").
/// 2^28 items are 962 GB, more than one operation has.
inline constexpr unsigned renewal_period = 1U << 28U;

/// `lamport_push` recognises data by their difference from `sentinel`, so a buffer must hold the
/// sentinel again before its next use. Operation k clears the buffer of operation k - 1. With
/// three buffers, operation k + 2 writes to the cleared buffer, and no rank starts k + 2 before all
/// ranks have ended k.
inline constexpr unsigned lamport_buffers = 3;
inline constexpr unsigned cleared_after = 1;

/// The division of one FIFO operation into items, slots and periods.
///
/// Item k of `fifo_one_shot` is tile k. Item k of `fifo_two_shot` is tile k of each slice, and the
/// sums of these tiles. Item k uses slot k % slots of each receiver, counted on from operation to
/// operation.
struct fifo_plan {
  unsigned tiles = 0;    ///< of the whole message
  unsigned items = 0;    ///< of this operation
  unsigned slots = 0;    ///< items that may be sent and not yet consumed
  unsigned senders = 0;  ///< blocks that send; the other blocks reduce
  unsigned period = 0;   ///< items between two updates of the consumed counter
  unsigned periods = 0;  ///< updates within the operation
  unsigned tickets = 0;  ///< that the senders take
};

/// Items that each sender has without a ticket, so that it can load data before it has a ticket.
inline constexpr unsigned fifo_preassigned = 2;
/// Tickets that a sender takes ahead of the item that it loads.
inline constexpr unsigned fifo_tickets_ahead = 2;
/// Periods of a block that may have begun and not ended: less than 8 in a round of slots, and one
/// at each end.
inline constexpr unsigned fifo_open_periods = 10;

/// Blocks that send: few more than fill the link. With 132 SMs of an H200, `fifo_one_shot` has 39:
/// 256 MiB took 731 us with 39, 730 us with 44, 762 us with 37, and up to 938 us with 33.
/// `fifo_two_shot` has 29, since its reducers send sums: 1 GiB took 2926 us with 29, 2934 us with
/// 33 and 2968 us with 39.
constexpr unsigned fifo_senders(unsigned blocks, bool two_shot) noexcept {
  return blocks < 7 ? 1 : two_shot ? blocks * 2 / 9 : blocks * 3 / 10;
}

/// The plan for `tiles` tiles in `slices` slices, where reducers work on `at_once` items at a time.
/// `room` is the number of slots that there are, at least twice `at_once`.
///
/// The number of slots is a multiple of `at_once`, so that within an operation each slot belongs to
/// one reducer. A period is a quarter of the slots: with shorter periods, counters cost more than
/// they gain (half as long: 256 MiB took 967 us instead of 734 us). The last half of the slots has
/// no update, so that no rank waits for counters at the end; the first update of the next
/// operation covers those items.
constexpr fifo_plan plan_fifo(unsigned tiles, unsigned slices, unsigned room, unsigned senders,
                              unsigned at_once) noexcept {
  auto const items = (tiles + slices - 1) / slices;
  auto const slots = room / at_once * at_once;
  auto const quarter = slots / (4 * at_once);
  auto const period = (quarter == 0 ? 1 : quarter) * at_once;
  auto const updates = items > slots / 2 ? (items - slots / 2 - 1) / period : 0;
  auto const preassigned = fifo_preassigned * senders;
  // The last tickets of each sender find no item.
  auto const tickets =
      (items > preassigned ? items - preassigned : 0) + fifo_tickets_ahead * senders;
  return {tiles, items, slots, senders, period, updates, tickets};
}

/// Barriers of one operation on whole buffers: one at its start, one at its end.
inline constexpr unsigned barriers = 2;

/// The value of scratch that holds no data: a NaN that no arithmetic produces. GPU arithmetic
/// produces the NaN 0x7FFFFFFF, or 0x7FFF in 16 bits (CUDA programming guide, IEEE 754 compliance).
/// As two 16-bit or four 8-bit floats, the sentinel is as many NaNs.
inline constexpr unsigned sentinel = 0xFFFFFFFFU;
/// The NaN that is sent instead of an input that equals the sentinel: NaNs in all types that are
/// sent so, of 8, 16 and 32 bits.
inline constexpr unsigned sentinel_substitute = 0x7FFFFFFFU;

/// True where a multiple of the renewal period lies in (`before`, `after`].
__host__ __device__ constexpr bool renews(unsigned before, unsigned after) noexcept {
  return before / renewal_period != after / renewal_period;
}
__host__ __device__ constexpr unsigned lamport_buffer(unsigned epoch) noexcept {
  return epoch % lamport_buffers;
}
__host__ __device__ constexpr unsigned buffer_to_clear(unsigned epoch) noexcept {
  return (epoch % lamport_buffers + lamport_buffers - cleared_after) % lamport_buffers;
}
/// The next epoch. The step from 0xFFFFFFFC, a multiple of 3, to 1 keeps the order of the buffers.
__host__ __device__ constexpr unsigned next_epoch(unsigned epoch) noexcept {
  constexpr unsigned last = 0xFFFFFFFCU;
  return epoch == last ? 1 : epoch + 1;
}
/// True where a barrier's counter has come to `wanted`; both may have wrapped.
__host__ __device__ constexpr bool reached(unsigned seen, unsigned wanted) noexcept {
  return static_cast<int>(seen - wanted) >= 0;
}
/// True where a peer can have written the counter while this rank waits for `wanted`. A peer may be
/// one barrier behind or ahead.
__host__ __device__ constexpr bool plausible(unsigned seen, unsigned wanted) noexcept {
  return seen - wanted + 1 <= 2;
}
/// True where a renewed number can have been written, when the newest number is `last`.
__host__ __device__ constexpr bool can_stand(unsigned seen, unsigned last) noexcept {
  return last - seen < 4 * renewal_period;
}

}  // namespace assay::comm::protocol
