// SPDX-License-Identifier: Apache-2.0
/// @file
/// Dynamic shared memory of kernels: leave to use more than every kernel may, and its alignment.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/error.hpp>
#include <assay/core/place.hpp>
#include <assay/kernel/compiled.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

namespace assay::kernel {

/// The dynamic shared memory of a block, at a multiple of 128, in which bulk copies work best. (One
/// name for all kernels: declarations of it with other types would clash.)
__device__ inline std::byte* dynamic_shared() {
  extern __shared__ __align__(128) std::byte assay_dynamic_shared[];
  return assay_dynamic_shared;
}

/// Lets `kernel` be launched with `bytes` of dynamic shared memory on a device, and lets the
/// device give shared memory the room that L1 would have; asked of the driver once per thread and
/// combination. Throws `std::invalid_argument` that names what there is, if it is not enough.
///
/// To be called before the occupancy of such a launch is asked for. Up to 48 KiB, with what the
/// kernel has of its own, need no leave.
template <class... Parameters>
void allow_shared(void (*kernel)(Parameters...), on::device place, std::size_t bytes) {
  if (bytes == 0) { return; }
  constexpr std::size_t without_leave = std::size_t{48} << 10U;
  auto const own = compiled(kernel, place).static_shared_bytes;
  if (own + bytes <= without_leave) { return; }
  using key = std::tuple<void const*, int>;
  thread_local std::map<key, std::size_t> allowed;
  auto const entry = reinterpret_cast<void const*>(kernel);
  auto& most = allowed[key{entry, place.id}];
  if (bytes <= most) { return; }
  auto const limit =
      static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  if (own + bytes > limit) {
    throw std::invalid_argument("a block of this kernel needs " + std::to_string(own + bytes) +
                                " bytes of shared memory, and " + place.describe() + " has " +
                                std::to_string(limit) + ": use fewer stages or threads");
  }
  device_guard const guard{place};
  check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)));
  check(cudaFuncSetAttribute(entry, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxShared));
  most = bytes;
}

}  // namespace assay::kernel
