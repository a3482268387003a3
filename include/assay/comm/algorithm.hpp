// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ways to all-reduce over peer access, and the options of `comm::all_reduce`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::comm {

/// Ranks that one process reduces over at most: the GPUs that one switch joins.
inline constexpr int max_ranks = 8;

/// Bytes that a ring has to carry for an all-reduce of so many, and the least that each rank must
/// send: over a time they are its bus bandwidth, which compares between numbers of ranks.
constexpr double bus_bytes(double bytes, int ranks) noexcept {
  return bytes * 2 * (ranks - 1) / ranks;
}

/// How the bytes travel. "Push" writes them into the peers' scratch: no rank waits for another
/// before it starts or after it ends. The rest work on the buffers themselves, between two
/// handshakes.
enum class algorithm {
  automatic,         ///< by bytes and ranks, from the table in comm/choice.hpp
  ll_push,           ///< all to all; each 16-byte packet is 8 bytes of data and the epoch twice
  lamport_push,      ///< all to all; packets are data alone, over a pattern that no data has
  lamport_two_shot,  ///< as `lamport_push`, each slice to the rank that reduces it, then to all
  ring_push,         ///< all to all; tiles through slots in turn; SMs either send or reduce
  ring_two_shot,     ///< so each slice to the rank that reduces it, then to all
  pull,              ///< each rank reads all inputs; not in place
  two_shot,          ///< each rank reads its slice of all inputs and writes it to all outputs
};

inline constexpr int algorithms = 8;

constexpr std::string_view in_words(algorithm which) noexcept {
  constexpr std::string_view words[] = {
      "automatic", "ll_push",       "lamport_push", "lamport_two_shot",
      "ring_push", "ring_two_shot", "pull",         "two_shot"};
  return words[static_cast<int>(which)];
}

/// Whether all bytes are in scratch at once, which bounds the size of an operation.
constexpr bool is_push(algorithm which) noexcept {
  return which == algorithm::ll_push || which == algorithm::lamport_push ||
         which == algorithm::lamport_two_shot;
}

/// Whether each rank reduces a slice, and sends the sums to all.
constexpr bool is_two_shot(algorithm which) noexcept {
  return which == algorithm::lamport_two_shot || which == algorithm::ring_two_shot ||
         which == algorithm::two_shot;
}

/// The compute capability (times ten) from which on there is what rings are made of: barriers in
/// shared memory, and a warp's least of its numbers.
inline constexpr int ring_capability = 80;

/// Whether tiles go through a few slots in turn.
constexpr bool is_ring(algorithm which) noexcept {
  return which == algorithm::ring_push || which == algorithm::ring_two_shot;
}

/// How `comm::all_reduce` works; all ranks share one.
struct all_reduce_options {
  algorithm how = algorithm::automatic;
  /// Blocks for each rank; 0: as many as the size needs. Never more than are resident at once;
  /// rings take two at least.
  unsigned blocks = 0;
  /// Threads in a block of a push or of the fused form, whole warps up to 512; 0: as many as the
  /// size needs. The other algorithms have numbers of their own.
  unsigned threads = 0;
  /// The largest message that `lamport_push` takes; the scratch of a rank is 9 (n - 1) times it:
  /// three buffers, in each of which a third of the blocks can hold it; more where `blocks` is more
  /// than three for each SM. 0: as much as the table of comm/choice.hpp makes use of. A fused row
  /// has to fit into a block's share.
  std::size_t scratch_bytes = 0;
  /// Lets the next kernel of the stream start while this one ends (programmatic dependent launch),
  /// where that was launched so and then waits by `cudaGridDependencySynchronize`, as ours does.
  /// What is launched without the attribute starts when all is done. Off where ranks share a device
  /// (a kernel that starts early could keep another rank's from starting at all) or are older than
  /// compute capability 9.0.
  bool dependent_launch = true;
  /// Looks up whose memory the buffers are, and has the ranks compare what they were asked for,
  /// which costs another handshake.
  bool checked = false;
  /// Ends waits for another rank that take longer, and waits for blocks of the same rank that take
  /// twice as long for each rank: the error is thrown by the next `enqueue` or `synchronize` of any
  /// rank. 0: none, but 10 s where checked.
  double timeout_seconds = 0;

  static constexpr std::string_view name = "comm::all_reduce_options";
  std::string describe() const {
    std::string text = "{" + std::string{in_words(how)};
    if (blocks != 0) { text += ", " + std::to_string(blocks) + " blocks"; }
    if (threads != 0) { text += ", pushes by blocks of " + std::to_string(threads) + " threads"; }
    if (dependent_launch) { text += ", dependent launch"; }
    if (checked) { text += ", checked"; }
    return text + "}";
  }
  double timeout() const { return timeout_seconds > 0 || !checked ? timeout_seconds : 10; }
  bool operator==(all_reduce_options const&) const = default;
};

}  // namespace assay::comm
