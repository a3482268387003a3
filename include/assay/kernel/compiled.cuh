// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the compiler made of a kernel for a device.
#pragma once

#include <assay/core/device.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <tuple>

namespace assay::kernel {

/// A kernel's code as it runs on a device.
struct compiled_kernel {
  /// The compute capability that it was compiled for, times ten: of a program built for 8.0 it is
  /// 80 on a device of 9.0, too, where the driver has translated it.
  int capability = 0;
  std::size_t static_shared_bytes = 0;
  unsigned most_threads = 0;  ///< of a block, by its launch bound and its registers
};

/// Asked of the driver once per thread and combination; loads the kernel. Throws `cuda_error` where
/// the program has no code that runs there.
template <class... Parameters>
compiled_kernel const& compiled(void (*kernel)(Parameters...), on::device place) {
  using key = std::tuple<void const*, int>;
  // Per thread, so that threads which submit at once share no lock and no cache line.
  thread_local std::map<key, compiled_kernel> known;
  key const asked{reinterpret_cast<void const*>(kernel), place.id};
  if (auto const found = known.find(asked); found != known.end()) { return found->second; }
  device_guard const guard{place};
  cudaFuncAttributes seen{};
  check(cudaFuncGetAttributes(&seen, reinterpret_cast<void const*>(kernel)));
  compiled_kernel const made{seen.ptxVersion, seen.sharedSizeBytes,
                             static_cast<unsigned>(seen.maxThreadsPerBlock)};
  return known.emplace(asked, made).first->second;
}

}  // namespace assay::kernel
