// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the library from another unit.
#include <assay/core/units.hpp>

#include <cstddef>

std::size_t bytes_elsewhere() {
  using namespace assay;
  return 3_KiB;
}
