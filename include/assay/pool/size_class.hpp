// SPDX-License-Identifier: Apache-2.0
/// @file
/// Size classes of the pool: eight or sixteen per doubling.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <bit>
#include <cstddef>

namespace assay::mr::size_class {

/// Every block is a multiple of this, which is CUDA's allocation alignment.
inline constexpr std::size_t granule = 256;

/// There are eight classes for each doubling up to `fine_from`, and sixteen beyond it. Rounding
/// wastes more bytes where blocks are large, and the list of a class is small beside a block.
inline constexpr std::size_t fine_from = std::size_t{1} << 20U;

/// Classes reach 8 TiB.
inline constexpr unsigned coarse_count = 8 * 10;
inline constexpr unsigned count = coarse_count + 16 * 23;

/// The class of a request, which is at least `count` where no class is large enough. A block is
/// less than 1/8 larger than its request (1/16 beyond `fine_from`), or less than one granule.
[[gnu::always_inline]] constexpr unsigned of(std::size_t bytes) noexcept {
  auto const last = (bytes + (bytes == 0)) / granule - (bytes % granule == 0 && bytes != 0);
  if (last < 8) { return static_cast<unsigned>(last); }
  auto const width = static_cast<unsigned>(std::bit_width(last));
  if (last < fine_from / granule) {
    return 8 * (width - 4) + static_cast<unsigned>(last >> (width - 4));
  }
  return coarse_count + 16 * (width - 14) + static_cast<unsigned>(last >> (width - 5));
}

/// The block size of a class.
constexpr std::size_t bytes(unsigned class_index) noexcept {
  if (class_index < 8) { return (class_index + std::size_t{1}) * granule; }
  if (class_index < coarse_count) {
    return (class_index % 8 + std::size_t{9}) << (class_index / 8 - 1) << std::countr_zero(granule);
  }
  auto const beyond = class_index - coarse_count;
  return (beyond % 16 + std::size_t{17}) << (beyond / 16 + 8) << std::countr_zero(granule);
}

/// `bytes(class_index)`, looked up.
inline constexpr auto sizes = [] {
  std::array<std::size_t, count> all{};
  for (unsigned class_index = 0; class_index < count; ++class_index) {
    all[class_index] = bytes(class_index);
  }
  return all;
}();

}  // namespace assay::mr::size_class
