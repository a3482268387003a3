// SPDX-License-Identifier: Apache-2.0
/// @file
/// `kernel_attributes`: a kernel's code, as it runs on a device.
#pragma once

#include <assay/core/device.hpp>
#include <assay/core/thread_value.hpp>
#include <assay/kernel/kernel_use.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <map>

namespace assay::kernel {

/// Any kernel by its address, for functions that do not depend on its parameters.
struct any_kernel {
  void const* address;
  template <class... Parameters>
  any_kernel(void (*kernel)(Parameters...)) : address(reinterpret_cast<void const*>(kernel)) {}
};

/// The attributes of a kernel's code on a device.
struct compiled_kernel {
  /// The compute capability of the code, times ten. A program built for 8.0 has 80 on a device
  /// of 9.0 too, where the driver translates the code.
  int capability = 0;
  std::size_t static_shared_bytes = 0;
  unsigned most_threads = 0;  ///< the largest block, by launch bound and registers
};

/// The attributes of a kernel on a device, from the driver once per thread and pair. Loads the
/// kernel. Throws `cuda_error` if the program has no code for the device.
inline compiled_kernel const& kernel_attributes(any_kernel kernel, on::device place) {
  // Per thread, so that threads which submit at once share no lock and no cache line.
  auto& known = assay::detail::thread_value([] { return std::map<kernel_use, compiled_kernel>{}; });
  kernel_use const asked{kernel.address, place.id};
  if (auto const found = known.find(asked); found != known.end()) { return found->second; }
  device_guard const guard{place};
  cudaFuncAttributes seen{};
  check(cudaFuncGetAttributes(&seen, kernel.address));
  compiled_kernel const made{seen.ptxVersion, seen.sharedSizeBytes,
                             static_cast<unsigned>(seen.maxThreadsPerBlock)};
  return known.emplace(asked, made).first->second;
}

}  // namespace assay::kernel
