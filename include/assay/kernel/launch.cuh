// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernel launches, and the grid that fills a device.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/kernel/shared_memory.cuh>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace assay::kernel {

/// A launch that failed. `what()` has the names of kernel and error, and the launch configuration.
class launch_error : public cuda_error {
 public:
  launch_error(cudaError_t code, void const* kernel, dim3 grid, dim3 block,
               std::size_t shared_bytes);
  char const* what() const noexcept override;

 private:
  std::string text_;
};

/// Enqueues `kernel` on `stream`. The stream's device must be current. Throws `launch_error`.
///
/// Arguments are converted to the kernel's parameter types. The cost is that of one runtime call.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            ::cuda::stream_ref stream, std::type_identity_t<Parameters>... arguments) {
  // One more entry, since an array cannot be empty.
  void* addresses[] = {const_cast<void*>(static_cast<void const volatile*>(&arguments))...,
                       nullptr};
  auto const entry = reinterpret_cast<void const*>(kernel);
  auto const code = cudaLaunchKernel(entry, grid, block, addresses, shared_bytes, stream.get());
  if (code == cudaSuccess) { return; }
  (void)cudaGetLastError();
  throw launch_error(code, entry, grid, block, shared_bytes);
}

/// Blocks and threads of a one-dimensional launch.
struct launch_shape {
  unsigned blocks = 1;
  unsigned threads = 256;
  bool operator==(launch_shape const&) const = default;
};

/// The blocks of a kernel that are resident on a whole device at once, 0 if no SM can hold a block.
/// The driver is asked once per thread and combination, so each launch may call this. Loads the
/// kernel and calls `set_max_dynamic_shared_memory`.
unsigned resident_blocks(any_kernel kernel, on::device place, unsigned threads,
                         std::size_t shared_bytes = 0);

/// As many blocks as are resident on the whole device at once. If no SM can hold a block, the grid
/// has a block for each SM, and the launch itself reports the error.
launch_shape resident_shape(any_kernel kernel, on::device place, unsigned threads,
                            std::size_t shared_bytes = 0);

/// The shape for a grid-stride loop over `count` indices: one thread for each, but no more blocks
/// than are resident at once, and at least one.
launch_shape stride_shape(any_kernel kernel, on::device place, std::uint64_t count,
                          unsigned threads, std::size_t shared_bytes = 0);

/// `launch` with a one-dimensional shape.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), launch_shape shape, std::size_t shared_bytes,
            ::cuda::stream_ref stream, std::type_identity_t<Parameters>... arguments) {
  launch(kernel, dim3(shape.blocks), dim3(shape.threads), shared_bytes, stream, arguments...);
}

}  // namespace assay::kernel

#ifndef ASSAY_DECLARED
#include <assay/kernel/launch_definitions.cuh>
#endif
