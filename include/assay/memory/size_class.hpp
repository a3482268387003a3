// SPDX-License-Identifier: Apache-2.0
/// @file
/// Size classes of the pool: eight per doubling.
#pragma once

#include <bit>
#include <cstddef>

namespace assay::mr::size_class {

/// Every block is a multiple of this, which is CUDA's allocation alignment.
inline constexpr std::size_t granule = 256;

/// Classes reach 8 TiB.
inline constexpr unsigned count = 8 * 33;

/// The class of a request, which is at least `count` where no class is large enough. A block is
/// less than 1/8 larger than its request, or less than one granule.
constexpr unsigned of(std::size_t bytes) noexcept {
  auto const last = (bytes + (bytes == 0)) / granule - (bytes % granule == 0 && bytes != 0);
  if (last < 8) { return static_cast<unsigned>(last); }
  auto const shift = static_cast<unsigned>(std::bit_width(last)) - 4;
  return 8 * shift + static_cast<unsigned>(last >> shift);
}

/// The block size of a class.
constexpr std::size_t bytes(unsigned which) noexcept {
  if (which < 8) { return (which + std::size_t{1}) * granule; }
  auto const shift = which / 8 - 1;
  return (which % 8 + std::size_t{9}) << shift << std::countr_zero(granule);
}

static_assert(of(1) == 0 && of(256) == 0 && of(257) == 1 && of(2048) == 7 && of(2049) == 8);
static_assert(bytes(7) == 2048 && bytes(8) == 2304 && bytes(15) == 4096 && bytes(16) == 4608);
static_assert(of(4096) == 15 && of(4097) == 16 && of(bytes(100)) == 100 &&
              of(bytes(100) + 1) == 101);
static_assert(bytes(count - 1) == std::size_t{1} << 43);

}  // namespace assay::mr::size_class
