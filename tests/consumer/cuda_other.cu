// SPDX-License-Identifier: Apache-2.0
/// @file
/// Uses the device half from another unit.
#include <assay/core/device.hpp>
#include <assay/core/stream.hpp>

std::size_t streams_elsewhere() {
  assay::stream const own{assay::on::device{0}};
  own.synchronize();
  return own.get() == nullptr ? 0 : 1;
}
