// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the library from another unit. two_units links everything twice; here one header is enough.
#include <assay/core/units.hpp>

#include <cstddef>

std::size_t bytes_elsewhere() {
  using namespace assay;
  return 3_KiB;
}
