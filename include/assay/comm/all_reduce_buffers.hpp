// SPDX-License-Identifier: Apache-2.0
/// @file
/// The grid of vec16s over all ranks' buffers, and the hash of the arguments of an operation.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/comm/slicing.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

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

/// Adds a part to a hash (FNV-1a over words).
inline void mix(std::uint64_t& hash, std::uint64_t part) { hash = (hash ^ part) * 0x100000001B3U; }
inline void mix(std::uint64_t& hash, reduction part) {
  mix(hash, static_cast<std::uint64_t>(part));
}
template <class... Parameters>
void mix(std::uint64_t& hash, void (*kernel)(Parameters...)) {
  mix(hash, std::uint64_t{reinterpret_cast<std::uintptr_t>(kernel)});
}
template <class T>
void mix(std::uint64_t& hash, std::array<T*, max_ranks> const& buffers) {
  for (auto const* each : buffers) {
    mix(hash, std::uint64_t{reinterpret_cast<std::uintptr_t>(each)});
  }
}

/// A 32-bit hash of the arguments that must be equal on all ranks. The kernel stands for element
/// type and algorithm.
template <class... Parts>
unsigned signature(Parts const&... parts) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  (mix(hash, parts), ...);
  return static_cast<unsigned>(hash ^ hash >> 32U);
}

}  // namespace detail

}  // namespace assay::comm
