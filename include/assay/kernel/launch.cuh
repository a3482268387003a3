// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernel launches, and the grid that fills a device.
#pragma once

#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/core/thread_value.hpp>
#include <assay/kernel/shared_memory.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

namespace assay::kernel {

/// A launch that failed. `what()` has the names of kernel and error, and the launch configuration.
class launch_error : public cuda_error {
 public:
  launch_error(cudaError_t code, void const* kernel, dim3 grid, dim3 block,
               std::size_t shared_bytes)
      : cuda_error(code), text_(name_of(kernel)) {
    auto const shape = [](dim3 s) {
      return std::string{'{'} + std::to_string(s.x) + ", " + std::to_string(s.y) + ", " +
             std::to_string(s.z) + '}';
    };
    text_ += "<<<" + shape(grid) + ", " + shape(block) + ", " + std::to_string(shared_bytes) +
             ">>>: " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code);
  }
  char const* what() const noexcept override { return text_.c_str(); }

 private:
  static std::string name_of(void const* kernel) {
    char const* mangled = nullptr;
    if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) {
      (void)cudaGetLastError();
      return "kernel";
    }
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> const plain{
        abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free};
    return status == 0 ? plain.get() : mangled;
  }

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
inline unsigned resident_blocks(any_kernel kernel, on::device place, unsigned threads,
                                std::size_t shared_bytes = 0) {
  using key = std::tuple<void const*, int, unsigned, std::size_t>;
  // Per thread, so that threads which submit at once share no lock and no cache line.
  auto& known = assay::detail::thread_value([] { return std::map<key, unsigned>{}; });
  auto const* const entry = kernel.address;
  key const asked{entry, place.id, threads, shared_bytes};
  if (auto const found = known.find(asked); found != known.end()) { return found->second; }
  set_max_dynamic_shared_memory(kernel, place, shared_bytes);
  device_guard const guard{place};
  int per_sm = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, entry, static_cast<int>(threads),
                                                      shared_bytes));
  auto const sms = attribute(place, cudaDevAttrMultiProcessorCount);
  return known.emplace(asked, static_cast<unsigned>(per_sm * sms)).first->second;
}

/// As many blocks as are resident on the whole device at once. If no SM can hold a block, the grid
/// has a block for each SM, and the launch itself reports the error.
inline launch_shape resident_shape(any_kernel kernel, on::device place, unsigned threads,
                                   std::size_t shared_bytes = 0) {
  auto const held = resident_blocks(kernel, place, threads, shared_bytes);
  if (held > 0) { return {held, threads}; }
  return {static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount)), threads};
}

/// The shape for a grid-stride loop over `count` indices: one thread for each, but no more blocks
/// than are resident at once, and at least one.
inline launch_shape stride_shape(any_kernel kernel, on::device place, std::uint64_t count,
                                 unsigned threads, std::size_t shared_bytes = 0) {
  auto shape = resident_shape(kernel, place, threads, shared_bytes);
  auto const wanted = std::max<std::uint64_t>(1, (count + threads - 1) / threads);
  shape.blocks = static_cast<unsigned>(std::min<std::uint64_t>(wanted, shape.blocks));
  return shape;
}

/// `launch` with a one-dimensional shape.
template <class... Parameters>
void launch(void (*kernel)(Parameters...), launch_shape shape, std::size_t shared_bytes,
            ::cuda::stream_ref stream, std::type_identity_t<Parameters>... arguments) {
  launch(kernel, dim3(shape.blocks), dim3(shape.threads), shared_bytes, stream, arguments...);
}

}  // namespace assay::kernel
