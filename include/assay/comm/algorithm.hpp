// SPDX-License-Identifier: Apache-2.0
/// @file
/// The algorithms of an all-reduce over peer access, and the options of `comm::all_reduce`.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::comm {

/// The most ranks that one process reduces over: the GPUs behind one NVLink switch. Tests run five
/// and eight ranks on one GPU; more than four GPUs were not measured.
inline constexpr int max_ranks = 8;

/// The algorithms; docs/protocol.md explains each of them.
enum class algorithm {
  automatic,      ///< chosen by size and number of ranks, from the table in comm/tuning.hpp
  lamport_push,   ///< one shot: all data at once into scratch of the peers; data are their own flag
  fifo_one_shot,  ///< one shot: tiles through slots of the peers; some SMs send, others reduce
  fifo_two_shot,  ///< the same in two shots: reduce-scatter, then all-gather
  pull,           ///< one shot: each rank reads all inputs between two barriers; out of place only
  two_shot,       ///< each rank reads its slice of all inputs and writes it to all outputs
};

inline constexpr int algorithms = 6;

constexpr std::string_view to_string(algorithm which) noexcept {
  constexpr std::string_view names[] = {"automatic",     "lamport_push", "fifo_one_shot",
                                        "fifo_two_shot", "pull",         "two_shot"};
  return names[static_cast<int>(which)];
}

/// Each rank reduces one slice and sends the result to all others.
constexpr bool is_two_shot(algorithm which) noexcept {
  return which == algorithm::fifo_two_shot || which == algorithm::two_shot;
}

/// Tiles travel through a FIFO of slots.
constexpr bool is_fifo(algorithm which) noexcept {
  return which == algorithm::fifo_one_shot || which == algorithm::fifo_two_shot;
}

/// Reads or writes the buffers of other ranks. The other algorithms write to workspaces alone.
constexpr bool uses_peers_buffers(algorithm which) noexcept {
  return which == algorithm::pull || which == algorithm::two_shot;
}

/// The least compute capability, times ten, that has mbarriers and warp-wide minima, which the FIFO
/// kernels use.
inline constexpr int fifo_capability = 80;
/// The most ranks of the FIFO kernels. With eight ranks, their 960 threads spill registers on every
/// architecture.
inline constexpr int max_fifo_ranks = 4;

/// True where the FIFO kernels for `ranks` ranks and elements of `element_bytes` exist in code for
/// `capability` (times ten).
///
/// `fifo_two_shot` of three and four ranks is left out for 10.0 and later and for elements of 8
/// bits, where ptxas spills its registers. tests/comm/spills.py holds every kernel to no spills.
constexpr bool has_fifo_code(bool two_shot, int ranks, int capability,
                             std::size_t element_bytes = 4) noexcept {
  if (capability < fifo_capability || ranks > max_fifo_ranks) { return false; }
  return !two_shot || ranks <= 2 || (capability < 100 && element_bytes > 1);
}

/// `has_fifo_code` for device code, which cannot call it.
template <bool TwoShot, int Ranks, int Capability, std::size_t ElementBytes>
inline constexpr bool has_fifo_code_v = has_fifo_code(TwoShot, Ranks, Capability, ElementBytes);

/// The options of `comm::all_reduce`; all ranks share one value.
struct all_reduce_options {
  algorithm how = algorithm::automatic;
  /// Blocks for each rank; 0: as many as the size needs. The number of resident blocks is the upper
  /// limit. FIFO algorithms use at least two.
  unsigned blocks = 0;
  /// The largest message of `lamport_push` in bytes; 0: `default_scratch_bytes` of
  /// comm/tuning.hpp.
  std::size_t scratch_bytes = 0;
  /// Programmatic dependent launch: the next kernel of the stream may start while this one ends.
  /// Off where ranks share a device, since an early kernel could keep another rank from starting,
  /// and below compute capability 9.0.
  bool dependent_launch = true;
  /// Checks where the buffers are, and compares the arguments of all ranks on the device; costs one
  /// more barrier.
  bool checked = false;
  /// Limit of a wait for another rank, in seconds; 0: none. A wait for blocks of the same rank may
  /// take twice as long for each rank. A wait that reaches the limit ends all waits of all ranks,
  /// and the next `enqueue` or `synchronize` of any rank throws the error. PyTorch's
  /// watchdog has the same default: a rank may be minutes late, since it writes a checkpoint.
  double timeout_seconds = 600;

  static constexpr std::string_view name = "comm::all_reduce_options";
  std::string describe() const {
    std::string text{"{"};
    text += to_string(how);
    if (blocks != 0) { text.append(", ").append(std::to_string(blocks)).append(" blocks"); }
    if (dependent_launch) { text += ", dependent launch"; }
    if (checked) { text += ", checked"; }
    return text + "}";
  }
  bool operator==(all_reduce_options const&) const = default;
};

}  // namespace assay::comm
