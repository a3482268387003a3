// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the library from one unit.
#include <assay/core/units.hpp>
#include <assay/version.hpp>

#include <cstddef>
#include <iostream>

std::size_t bytes_elsewhere();
bool compared_below();

int main() {
  using namespace assay;
  std::cout << "assay " << version << ", " << bytes_elsewhere() << " bytes\n";
  return bytes_elsewhere() == 3_KiB && compared_below() ? 0 : 1;
}
