// SPDX-License-Identifier: Apache-2.0
/// @file
/// A check that a kernel was compiled with the instructions of its copy strategy.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/kernel_attributes.cuh>

namespace assay::copy {

/// Throws `std::invalid_argument` with a remedy unless the device has the instructions of
/// `Strategy` and the kernel's code uses them. Loads the kernel. Asks the driver once per thread
/// and kernel.
///
/// Call this before a launch. Code for an older device, which a newer device also runs, leaves a
/// strategy's instructions out (`ptx::architecture`). Such a kernel would trap, wait for ever, or
/// copy in another way than its name says.
template <copy_strategy Strategy>
void require_code(kernel::any_kernel kernel, on::device place) {
  int const built = kernel::kernel_attributes(kernel, place).capability;
  if (built >= Strategy::capability) { return; }
  require_capability(Strategy{}, place_traits<on::device>::capability(place), place.describe());
  require_built_for(describe(Strategy{}), Strategy::capability, built);
}

}  // namespace assay::copy
