// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to launch.cuh: the words of a failed launch, and the grids that fill a device.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/device.hpp>
#include <assay/core/thread_value.hpp>
#include <assay/kernel/kernel_use.hpp>
#include <assay/kernel/launch.cuh>
#include <assay/kernel/shared_memory.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <string>

namespace assay::kernel {
namespace detail {

inline std::string name_of(void const* kernel) {
  char const* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) {
    (void)cudaGetLastError();
    return "kernel";
  }
  int status = 0;
  char* const plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? plain : mangled;
  std::free(plain);
  return name;
}

}  // namespace detail

ASSAY_INLINE launch_error::launch_error(cudaError_t code, void const* kernel, dim3 grid, dim3 block,
                                        std::size_t shared_bytes)
    : cuda_error(code), text_(detail::name_of(kernel)) {
  auto const shape = [](dim3 s) {
    return concat(
        {"{", std::to_string(s.x), ", ", std::to_string(s.y), ", ", std::to_string(s.z), "}"});
  };
  text_ += concat({"<<<", shape(grid), ", ", shape(block), ", ", std::to_string(shared_bytes),
                   ">>>: ", cudaGetErrorName(code), ": ", cudaGetErrorString(code)});
}

ASSAY_INLINE char const* launch_error::what() const noexcept { return text_.c_str(); }

ASSAY_INLINE unsigned resident_blocks(any_kernel kernel, on::device place, unsigned threads,
                                      std::size_t shared_bytes) {
  // Per thread, so that threads which submit at once share no lock and no cache line.
  auto& known = assay::detail::thread_value([] { return std::map<kernel_use, std::size_t>{}; });
  auto const* const entry = kernel.address;
  kernel_use const asked{entry, place.id, threads, shared_bytes};
  if (auto const found = known.find(asked); found != known.end()) {
    return static_cast<unsigned>(found->second);
  }
  set_max_dynamic_shared_memory(kernel, place, shared_bytes);
  device_guard const guard{place};
  int per_sm = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, entry, static_cast<int>(threads),
                                                      shared_bytes));
  auto const sms = attribute(place, cudaDevAttrMultiProcessorCount);
  auto const blocks = static_cast<unsigned>(per_sm * sms);
  known.emplace(asked, blocks);
  return blocks;
}

ASSAY_INLINE launch_shape resident_shape(any_kernel kernel, on::device place, unsigned threads,
                                         std::size_t shared_bytes) {
  auto const held = resident_blocks(kernel, place, threads, shared_bytes);
  if (held > 0) { return {held, threads}; }
  return {static_cast<unsigned>(attribute(place, cudaDevAttrMultiProcessorCount)), threads};
}

ASSAY_INLINE launch_shape stride_shape(any_kernel kernel, on::device place, std::uint64_t count,
                                       unsigned threads, std::size_t shared_bytes) {
  auto shape = resident_shape(kernel, place, threads, shared_bytes);
  auto const wanted = std::max<std::uint64_t>(1, (count + threads - 1) / threads);
  shape.blocks = static_cast<unsigned>(std::min<std::uint64_t>(wanted, shape.blocks));
  return shape;
}

}  // namespace assay::kernel
