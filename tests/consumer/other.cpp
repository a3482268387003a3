// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the host half of the library from another unit.
#include <assay/no_cuda.hpp>

std::size_t bytes_elsewhere() {
  using namespace assay;
  return 3_KiB;
}
