// SPDX-License-Identifier: Apache-2.0
/// @file
/// The launch of a kernel with one thread for each element.
#pragma once

#include <assay/kernel/launch.cuh>

#include <algorithm>
#include <cstddef>

namespace assay::kernel {

/// A thread for each element, up to the largest grid.
inline launch_shape element_wise_shape(std::size_t count) {
  constexpr std::size_t threads = 256, most = 0x7FFF'FFFF;
  auto const blocks = std::clamp<std::size_t>((count + threads - 1) / threads, 1, most);
  return {static_cast<unsigned>(blocks), static_cast<unsigned>(threads)};
}

}  // namespace assay::kernel
