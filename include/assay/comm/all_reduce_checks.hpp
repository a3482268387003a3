// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to `all_reduce`. Preconditions, the grid over all ranks' buffers, and a hash of
/// arguments.
#pragma once

#include <assay/comm/algorithm.hpp>
#include <assay/comm/concepts.hpp>
#include <assay/comm/peers.hpp>
#include <assay/comm/slicing.hpp>
#include <assay/comm/tuning.hpp>
#include <assay/copy/concepts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace assay::comm {

/// A rank's array, for checks and messages.
struct buffer_span {
  int rank = 0;
  char const* role = "";
  void const* data = nullptr;
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;
};

namespace detail {

template <class T>
bool in_place(rank_buffers<T> const& buffers, int ranks) {
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    if (buffers.in[rank] == buffers.out[rank]) { return true; }
  }
  return false;
}

/// The grid of `count` elements that aligns whole vec16s in as many buffers as possible.
template <class T>
vec16_grid grid_of(rank_buffers<T> const& buffers, std::size_t count, int ranks) {
  std::array<std::uintptr_t, std::size_t{2} * max_ranks> addresses{};
  std::size_t known = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    addresses[known++] = reinterpret_cast<std::uintptr_t>(buffers.in[rank]);
    addresses[known++] = reinterpret_cast<std::uintptr_t>(buffers.out[rank]);
  }
  return make_vec16_grid(sizeof(T), count, {addresses.data(), known});
}

/// The grid of `count` elements for a rank that knows its own buffers alone. Only `wide` depends on
/// them, since all ranks must divide the message in the same way.
template <class T>
vec16_grid own_grid(T const* in, T* out, std::size_t count) {
  auto grid = make_vec16_grid(sizeof(T), count, {});
  grid.wide = (reinterpret_cast<std::uintptr_t>(in) | reinterpret_cast<std::uintptr_t>(out)) %
                  vec16_bytes ==
              0;
  return grid;
}

/// A 32-bit hash of the arguments that must be equal on all ranks (FNV-1a over words). The kernel
/// stands for element type and algorithm.
template <class T>
unsigned signature(void const* kernel, std::size_t count, reduction what,
                   rank_buffers<T> const& buffers) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  auto const mix = [&](std::uint64_t part) { hash = (hash ^ part) * 0x100000001B3U; };
  auto const mix_address = [&](void const* at) { mix(reinterpret_cast<std::uintptr_t>(at)); };
  mix_address(kernel);
  mix(count);
  mix(static_cast<std::uint64_t>(what));
  for (auto const* each : buffers.in) { mix_address(each); }
  for (auto const* each : buffers.out) { mix_address(each); }
  return static_cast<unsigned>(hash ^ hash >> 32U);
}

inline void require_options(all_reduce_options const& options) {
  auto const refuse = [](std::string const& what) {
    throw std::invalid_argument("comm::all_reduce_options: " + what);
  };
  if (options.blocks > 4096) {
    refuse(std::to_string(options.blocks) + " blocks: up to 4096, or 0 for a choice");
  }
  if (options.scratch_bytes != 0 && options.scratch_bytes < 4096) {
    refuse("scratch_bytes " + std::to_string(options.scratch_bytes) +
           ": at least 4096, or 0 for what the table uses");
  }
  if (!(options.timeout_seconds >= 0 && options.timeout_seconds <= 1e6)) {
    refuse("timeout_seconds " + std::to_string(options.timeout_seconds) +
           ": from 0, which is no limit, to 1000000");
  }
}

/// Refuses FIFO algorithms that have no kernel for this number of ranks in code for `code`, a
/// compute capability times ten.
inline void require_fifo_code(algorithm how, int ranks, int code) {
  if (!is_fifo(how)) { return; }
  auto const who = "comm::all_reduce by " + std::string{to_string(how)};
  copy::require_built_for(who, fifo_capability, code);
  if (has_fifo_code(how == algorithm::fifo_two_shot, ranks, code)) { return; }
  int most = max_fifo_ranks;
  while (most > 2 && !has_fifo_code(how == algorithm::fifo_two_shot, most, code)) { --most; }
  throw std::invalid_argument(who + " over " + std::to_string(ranks) +
                              " ranks: in code for compute capability " +
                              copy::capability_text(code) + " it takes up to " +
                              std::to_string(most) + "; use algorithm::automatic or two_shot");
}

/// Refuses a copy strategy whose tiles do not fit into the shared memory of a device's block.
inline void require_shared_memory(std::string const& strategy, std::size_t needed,
                                  std::size_t limit) {
  if (needed <= limit) { return; }
  throw std::invalid_argument(
      "comm::all_reduce with " + strategy + " needs " + std::to_string(needed) +
      " bytes of shared memory for each block, and the device has " + std::to_string(limit) +
      ": use copy::regular, or blocks of fewer threads");
}

inline void require_capacity(all_reduce_options const& options, std::size_t bytes) {
  auto const most = capacity_bytes(options.how, options.scratch_bytes);
  if (bytes <= most) { return; }
  throw std::invalid_argument("all_reduce of " + std::to_string(bytes) + " bytes by " +
                              std::string{to_string(options.how)} + ": its scratch is for " +
                              std::to_string(most) + " at most; raise scratch_bytes (" +
                              std::to_string(options.scratch_bytes) +
                              "), or leave the choice of the algorithm");
}

/// True where elements of `T` can take the FIFO slots of an engine that has slots: it has code for
/// larger elements.
template <element T>
bool fits_fifo(bool two_shot, int ranks) {
  return has_sentinel<T> && has_fifo_code(two_shot, ranks, fifo_capability, sizeof(T));
}

/// Refuses algorithms that have no kernel for elements of `T`.
template <element T>
void require_kernel(algorithm how, int ranks) {
  if (uses_peers_buffers(how)) { return; }
  auto const refuse = [how](std::string const& why) {
    throw std::invalid_argument("all_reduce by " + std::string{to_string(how)} +
                                ": elements of this type " + why +
                                "; use algorithm::automatic or two_shot");
  };
  if (!has_sentinel<T>) { refuse("have no value that can mean \"not yet written\""); }
  if (!is_fifo(how) || fits_fifo<T>(how == algorithm::fifo_two_shot, ranks)) { return; }
  refuse("are taken over two ranks only");
}

/// Refuses what one rank's own buffers do not suffice for: an algorithm that was asked for, or the
/// operation, where `automatic` is left over.
template <element T>
void require_own_buffers_suffice(algorithm how, std::size_t bytes, all_reduce_options const& in) {
  if (how != algorithm::automatic && !uses_peers_buffers(how)) { return; }
  auto const text =
      "all_reduce of " + std::to_string(bytes) + " bytes with one rank's own buffers: ";
  auto const refuse = [&](std::string const& why) {
    throw std::invalid_argument(text + why + "pass the rank_buffers of all ranks");
  };
  if (how != algorithm::automatic) {
    refuse(std::string{to_string(how)} + " uses those of all ranks; " +
           (has_sentinel<T> ? "leave the choice of the algorithm, or " : ""));
  }
  if (!has_sentinel<T>) { refuse("elements of this type take two_shot, which uses all; "); }
  refuse("the scratch of lamport_push is for " + std::to_string(in.scratch_bytes) +
         " at most, and there are no FIFO slots; raise scratch_bytes, or ");
}

inline void require_resident(unsigned blocks, peers const& who, unsigned threads) {
  if (blocks > 0) { return; }
  throw std::invalid_argument("all_reduce: " + std::to_string(who.most_on_one()) +
                              " ranks on one device leave no rank room for a block of " +
                              std::to_string(threads) + " threads");
}

/// FIFO algorithms have sender blocks and reducer blocks.
inline void require_two_kinds(unsigned blocks, algorithm how, int ranks_on_one) {
  if (blocks > 1) { return; }
  throw std::invalid_argument("all_reduce: " + std::to_string(ranks_on_one) +
                              " ranks on one device leave no rank room for two blocks, as " +
                              std::string{to_string(how)} + " takes");
}

inline void require_one_device(peers const& who) {
  if (who.most_on_one() == who.ranks()) { return; }
  throw std::invalid_argument("all_reduce: one launch cannot be for all ranks of " +
                              who.describe() + ", which are not on one device");
}

[[noreturn]] inline void refuse_buffer(buffer_span const& what, std::string const& why) {
  throw std::invalid_argument("all_reduce: the " + std::string{what.role} + " of rank " +
                              std::to_string(what.rank) + " (" + std::to_string(what.bytes) +
                              " bytes) " + why);
}

/// Refuses null and misaligned addresses.
inline void require_address(buffer_span const& what) {
  if (what.data == nullptr) { refuse_buffer(what, "is a null pointer"); }
  if (reinterpret_cast<std::uintptr_t>(what.data) % what.element_bytes != 0) {
    refuse_buffer(
        what, "is not aligned to its elements of " + std::to_string(what.element_bytes) + " bytes");
  }
}

/// Refuses memory of another device or of the host; asks the driver about both ends.
inline void require_memory(on::device place, buffer_span const& what) {
  if (what.bytes == 0) { return; }
  for (auto const* end : {static_cast<std::byte const*>(what.data),
                          static_cast<std::byte const*>(what.data) + what.bytes - 1}) {
    cudaPointerAttributes found{};
    check(cudaPointerGetAttributes(&found, end));
    bool const first = end == what.data;
    if (found.type != cudaMemoryTypeDevice) {
      refuse_buffer(
          what,
          std::string{first ? "is" : "ends in what is"} +
              " no device memory: it was freed, or is the host's, or shorter than it should be");
    }
    if (found.device != place.id) {
      refuse_buffer(what, std::string{first ? "is" : "ends"} + " in memory of device " +
                              std::to_string(found.device) + ", and the rank's device is " +
                              std::to_string(place.id));
    }
  }
}

/// Refuses one rank's buffers; asks the driver about them where `look`.
template <class T>
void require_buffers_of(on::device place, int rank, T const* input, T const* output,
                        std::size_t count, bool look) {
  auto const bytes = count * sizeof(T);
  for (auto const& what : {buffer_span{rank, "input", input, bytes, sizeof(T)},
                           buffer_span{rank, "output", output, bytes, sizeof(T)}}) {
    require_address(what);
    if (look) { require_memory(place, what); }
  }
  if (!look || input == output) { return; }
  auto const in = reinterpret_cast<std::uintptr_t>(input);
  auto const out = reinterpret_cast<std::uintptr_t>(output);
  if (in < out + bytes && out < in + bytes) {
    throw std::invalid_argument("all_reduce: input and output of rank " + std::to_string(rank) +
                                " overlap, and are not the same: in place they must be");
  }
}

template <class T>
void require_buffers(peers const& who, rank_buffers<T> const& buffers, std::size_t count,
                     bool look) {
  for (int rank = 0; rank < who.ranks(); ++rank) {
    auto const r = static_cast<std::size_t>(rank);
    require_buffers_of(who.device(rank), rank, buffers.in[r], buffers.out[r], count, look);
  }
}

}  // namespace detail
}  // namespace assay::comm
