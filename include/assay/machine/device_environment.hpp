// SPDX-License-Identifier: Apache-2.0
/// @file
/// The description of a GPU: its name, driver and toolkit, and its state through NVML.
#pragma once

#include <assay/core/device.hpp>
#include <assay/machine/environment.hpp>
#include <assay/machine/nvml_watch.hpp>

namespace assay::machine {

/// Fills in a device's name with memory and SM count, the toolkit, and the highest CUDA version
/// that the driver supports. NVML's exact driver version may replace the last.
inline void describe_device(on::device place, environment& where) {
  where.device = device_in_words(place);
  int driver = 0;
  check(cudaDriverGetVersion(&driver));
  where.driver = "for CUDA " + cuda_version_text(driver);
  where.toolkit = cuda_version_text(CUDART_VERSION);
}

/// A watch over the clocks of a device.
inline nvml_watch watch(on::device place) { return nvml_watch{pci_bus_id(place)}; }

}  // namespace assay::machine
