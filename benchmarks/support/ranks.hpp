// SPDX-License-Identifier: Apache-2.0
/// @file
/// How many GPUs a benchmark between them takes.
#pragma once

#include <assay/core/device.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace assay::benchmark {

/// The number of ranks that `asked` (what ASSAY_RANKS says, null where it is not set) asks for, of
/// the `there` that there are: all without it. Throws `std::invalid_argument` where that is no
/// number from 2 to `there`.
inline int ranks_of(char const* asked, int there) {
  if (asked == nullptr) { return there; }
  char* end = nullptr;
  auto const wanted = std::strtol(asked, &end, 10);
  if (end == asked || *end != '\0' || wanted < 2 || wanted > there) {
    throw std::invalid_argument("ASSAY_RANKS=" + std::string{asked} + ": a number from 2 to " +
                                std::to_string(there));
  }
  return static_cast<int>(wanted);
}

/// All GPUs, up to `most`, or the number in ASSAY_RANKS; throws `std::invalid_argument` where that
/// cannot be had, or there are not two.
inline int ranks_wanted(int most) {
  int const there = std::min(device_count(), most);
  if (there < 2) {
    throw std::invalid_argument("a benchmark between GPUs needs 2 or more, and there is " +
                                std::to_string(device_count()));
  }
  return ranks_of(std::getenv("ASSAY_RANKS"), there);
}

}  // namespace assay::benchmark
