// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the device half from one unit; without a GPU it says so and is content.
#include <assay/core/device.hpp>

#include <iostream>

std::size_t streams_elsewhere();

int main() {
  int const devices = assay::device_count();
  std::cout << devices << " devices\n";
  return devices == 0 || streams_elsewhere() == 1 ? 0 : 1;
}
