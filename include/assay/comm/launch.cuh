// SPDX-License-Identifier: Apache-2.0
/// @file
/// Launching kernels that wait for kernels of other devices.
#pragma once

#include <assay/kernel/launch.cuh>

#include <cstddef>

namespace assay::comm {

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
