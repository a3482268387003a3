// SPDX-License-Identifier: Apache-2.0
/// @file
/// The division of any number of elements at any addresses into vec16s: 16-byte vectors.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace assay::comm {

inline constexpr unsigned vec16_bytes = 16;

/// The division of elements [0, count) into vec16s of e elements: vec16 k holds elements
/// [k e - shift, (k + 1) e - shift). All ranks use the same grid, whatever the alignment of their
/// buffers.
struct vec16_grid {
  std::uint64_t count = 0;
  std::uint64_t vecs = 0;
  std::uint64_t first_whole = 0;  ///< vec16s [first_whole, end_whole) hold e elements
  std::uint64_t end_whole = 0;
  unsigned shift = 0;
  bool wide = false;  ///< whole vec16s are aligned to 16 bytes in every buffer
  bool operator==(vec16_grid const&) const = default;
};

/// The grid that aligns whole vec16s in as many buffers as possible.
inline vec16_grid make_vec16_grid(std::size_t element_bytes, std::uint64_t count,
                                  std::span<std::uintptr_t const> addresses) {
  auto const per_vec = static_cast<unsigned>(vec16_bytes / element_bytes);
  auto const shift_of = [&](std::uintptr_t at) {
    return static_cast<unsigned>(at % vec16_bytes / element_bytes);
  };
  vec16_grid grid{.count = count};
  std::ptrdiff_t most = 0;
  for (unsigned shift = 0; shift < per_vec; ++shift) {
    auto const fitting = std::count_if(addresses.begin(), addresses.end(), [&](std::uintptr_t at) {
      return at % element_bytes == 0 && shift_of(at) == shift;
    });
    if (fitting > most) {
      most = fitting;
      grid.shift = shift;
    }
  }
  grid.wide = most == std::ssize(addresses);
  grid.vecs = count == 0 ? 0 : (count + grid.shift + per_vec - 1) / per_vec;
  grid.first_whole = grid.shift == 0 ? 0 : 1;
  grid.end_whole = std::max(grid.first_whole, (count + grid.shift) / per_vec);
  grid.end_whole = std::min(grid.end_whole, grid.vecs);
  grid.first_whole = std::min(grid.first_whole, grid.end_whole);
  return grid;
}

/// The quotient, rounded up: the most that one of `parts` takes of `total`.
constexpr std::uint64_t ceil_div(std::uint64_t total, std::uint64_t parts) noexcept {
  return (total + parts - 1) / parts;
}

/// Vec16s of a cache line of 128 bytes. Slices begin at multiples, so that no two ranks write to
/// one line.
inline constexpr std::uint64_t line_vecs = 8;

/// Vec16s in the slice of each rank. Slice r begins at r times this number; the last slices may be
/// shorter or empty.
constexpr std::uint64_t slice_vecs(std::uint64_t vecs, int ranks) noexcept {
  auto const share = ceil_div(vecs, static_cast<std::uint64_t>(ranks));
  return std::min(ceil_div(share, line_vecs) * line_vecs, vecs);
}

}  // namespace assay::comm
