// SPDX-License-Identifier: Apache-2.0
/// @file
/// How any number of elements at any addresses falls into packs of 16 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::comm {

inline constexpr unsigned pack_bytes = 16;

/// Elements [0, count) in packs: pack k holds elements [k e - shift, (k + 1) e - shift), of e that
/// fit into 16 bytes. The same on all ranks, whatever the alignment of their buffers.
struct pack_grid {
  std::uint64_t count = 0;
  std::uint64_t packs = 0;
  std::uint64_t first_whole = 0;  ///< packs [first_whole, end_whole) hold e elements each
  std::uint64_t end_whole = 0;
  unsigned shift = 0;
  bool wide = false;  ///< whole packs are at multiples of 16 in every buffer
  bool operator==(pack_grid const&) const = default;
};

/// The grid whose whole packs are aligned in as many buffers as possible.
inline pack_grid make_pack_grid(std::size_t element_bytes, std::uint64_t count,
                                std::span<std::uintptr_t const> addresses) {
  auto const in_pack = static_cast<unsigned>(pack_bytes / element_bytes);
  auto const shift_of = [&](std::uintptr_t at) {
    return static_cast<unsigned>(at % pack_bytes / element_bytes);
  };
  pack_grid grid{.count = count};
  std::ptrdiff_t most = 0;
  for (unsigned shift = 0; shift < in_pack; ++shift) {
    auto const fitting = std::count_if(addresses.begin(), addresses.end(), [&](std::uintptr_t at) {
      return at % element_bytes == 0 && shift_of(at) == shift;
    });
    if (fitting > most) {
      most = fitting;
      grid.shift = shift;
    }
  }
  grid.wide = most == std::ssize(addresses);
  grid.packs = count == 0 ? 0 : (count + grid.shift + in_pack - 1) / in_pack;
  grid.first_whole = grid.shift == 0 ? 0 : 1;
  grid.end_whole = std::max(grid.first_whole, (count + grid.shift) / in_pack);
  grid.end_whole = std::min(grid.end_whole, grid.packs);
  grid.first_whole = std::min(grid.first_whole, grid.end_whole);
  return grid;
}

/// How many of `total` each of `parts` takes at most.
constexpr std::uint64_t share_of(std::uint64_t total, std::uint64_t parts) noexcept {
  return (total + parts - 1) / parts;
}

/// Slices begin at multiples of `line_packs`, a line of 128 bytes, so that no two ranks write to
/// parts of one.
inline constexpr std::uint64_t line_packs = 8;

/// The packs of each rank's slice, which begins at as many times its rank; the last ranks have less
/// or none.
constexpr std::uint64_t slice_packs(std::uint64_t packs, int ranks) noexcept {
  auto const share = share_of(packs, static_cast<std::uint64_t>(ranks));
  return std::min(share_of(share, line_packs) * line_packs, packs);
}

}  // namespace assay::comm
