// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether a kernel was compiled with the instructions of its copy strategy.
#pragma once

#include <assay/copy/concepts.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/compiled.cuh>

namespace assay::copy {

/// Throws `std::invalid_argument`, which says what to do, unless a device has the instructions of
/// `Strategy` and a kernel's code for it was compiled with them. Loads the kernel; asked of the
/// driver once per thread and kernel.
///
/// To be called before a launch. In code for an older device, which a newer one runs as well, a
/// strategy's instructions are left out (`ptx::architecture`): such a kernel would trap, wait for
/// ever, or copy in another way than its name says.
template <copy_strategy Strategy, class... Parameters>
void require_code(void (*kernel)(Parameters...), on::device place) {
  int const built = kernel::compiled(kernel, place).capability;
  if (built >= Strategy::capability) { return; }
  require_capability(Strategy{}, place_traits<on::device>::capability(place), place.describe());
  require_built_for(describe(Strategy{}), Strategy::capability, built);
}

}  // namespace assay::copy
