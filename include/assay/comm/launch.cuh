// SPDX-License-Identifier: Apache-2.0
/// @file
/// Launching kernels that wait for kernels of other devices.
#pragma once

#include <assay/kernel/launch.cuh>

#include <cstddef>
#include <map>
#include <tuple>

namespace assay::comm {

/// Loads a kernel on the current device, and lets it have so much shared memory.
template <class... Parameters>
void load_kernel(void (*kernel)(Parameters...), std::size_t shared_bytes) {
  auto const entry = reinterpret_cast<void const*>(kernel);
  cudaFuncAttributes found{};
  check(cudaFuncGetAttributes(&found, entry));
  constexpr std::size_t without_asking = 48 * 1024;
  if (shared_bytes > without_asking) {
    check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)));
  }
}

/// Blocks of a kernel that a device holds at once, 0 if not even one; asked of the driver once per
/// thread and combination. Loads the kernel.
template <class... Parameters>
unsigned resident_blocks(void (*kernel)(Parameters...), on::device place, unsigned threads,
                         std::size_t shared_bytes) {
  using key = std::tuple<void const*, int, unsigned, std::size_t>;
  thread_local std::map<key, unsigned> known;
  auto const entry = reinterpret_cast<void const*>(kernel);
  auto const [at, is_new] = known.try_emplace(key{entry, place.id, threads, shared_bytes}, 0U);
  if (is_new) {
    device_guard const guard{place};
    load_kernel(kernel, shared_bytes);
    int per_sm = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, entry, static_cast<int>(threads),
                                                        shared_bytes));
    at->second = static_cast<unsigned>(per_sm * attribute(place, cudaDevAttrMultiProcessorCount));
  }
  return at->second;
}

/// `kernel::launch`; with `early`, the kernel may start while the one before it on the stream still
/// runs (programmatic dependent launch), which graphs keep when it is recorded into one.
template <class Call>
void launch_early(void (*kernel)(Call), dim3 grid, unsigned threads, std::size_t shared_bytes,
                  ::cuda::stream_ref stream, bool early, Call const& call) {
  if (!early) {
    kernel::launch(kernel, grid, dim3(threads), shared_bytes, stream, call);
    return;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream.get();
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {const_cast<void*>(static_cast<void const*>(&call))};
  auto const entry = reinterpret_cast<void const*>(kernel);
  auto const code = cudaLaunchKernelExC(&config, entry, arguments);
  if (code == cudaSuccess) { return; }
  (void)cudaGetLastError();
  throw kernel::launch_error(code, entry, grid, dim3(threads), shared_bytes);
}

}  // namespace assay::comm
