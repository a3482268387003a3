// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to shared_memory.cuh: how the limit is raised.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/device.hpp>
#include <assay/core/error.hpp>
#include <assay/core/thread_value.hpp>
#include <assay/kernel/kernel_use.hpp>
#include <assay/kernel/shared_memory.cuh>
#include <assay/kernel/shared_memory_limits.hpp>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace assay::kernel {

ASSAY_INLINE void set_max_dynamic_shared_memory(any_kernel kernel, on::device place,
                                                std::size_t bytes) {
  if (bytes == 0) { return; }
  constexpr std::size_t always_allowed = std::size_t{48} << 10U;
  auto const own = kernel_attributes(kernel, place).static_shared_bytes;
  if (own + bytes <= always_allowed) { return; }
  auto const* const entry = kernel.address;
  // Per thread, so that threads which submit at once share no lock. The limit never falls.
  auto& known = assay::detail::thread_value([] { return std::map<kernel_use, std::size_t>{}; });
  auto& limit = known[{entry, place.id}];
  if (bytes <= limit) { return; }
  auto const most =
      static_cast<std::size_t>(attribute(place, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  if (own + bytes > most) {
    throw std::invalid_argument(
        concat({"a block of this kernel needs ", std::to_string(own + bytes),
                " bytes of shared memory, and ", place.describe(), " has ", std::to_string(most),
                ": use fewer stages or threads"}));
  }
  shared_memory_limits::of_process().raise(entry, place.id, bytes, [&] {
    device_guard const guard{place};
    check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)));
    check(cudaFuncSetAttribute(entry, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));
  });
  limit = bytes;
}

}  // namespace assay::kernel
