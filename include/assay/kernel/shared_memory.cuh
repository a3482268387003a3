// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dynamic shared memory of kernels: its alignment, and the limit above 48 KiB.
#pragma once

#include <assay/core/place.hpp>
#include <assay/kernel/kernel_attributes.cuh>

#include <cuda_runtime.h>

#include <cstddef>

namespace assay::kernel {

/// The dynamic shared memory of a block, aligned to 128 bytes for bulk copies. (All kernels use
/// this declaration, since declarations with other types would clash.)
__device__ inline std::byte* dynamic_shared() {
  extern __shared__ __align__(128) std::byte assay_dynamic_shared[];
  return assay_dynamic_shared;
}

/// Allows launches of `kernel` with `bytes` of dynamic shared memory on a device, and prefers
/// shared memory to L1 there. A call costs a look-up after the first on each thread. Throws
/// `std::invalid_argument` that names the device's shared memory, if that is not enough.
///
/// The call must come before a query of the occupancy of such a launch. A kernel with up to 48 KiB,
/// static shared memory included, needs no permission.
void set_max_dynamic_shared_memory(any_kernel kernel, on::device place, std::size_t bytes);

}  // namespace assay::kernel

#ifndef ASSAY_DECLARED
#include <assay/kernel/shared_memory_definitions.cuh>
#endif
