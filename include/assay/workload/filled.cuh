// SPDX-License-Identifier: Apache-2.0
/// @file
/// Generated inputs, written where they are used.
#pragma once

#include <assay/core/error.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace assay {

namespace kernel {

/// `workloads::random_at` on the device.
__device__ inline std::uint64_t device_random_at(std::uint64_t seed, std::uint64_t index) {
  auto z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

template <class T, class Element>
__global__ void fill_elements(T* to, std::int64_t count, Element element) {
  for (auto const i : grid_stride(count)) { to[i] = element(i); }
}

}  // namespace kernel

namespace workloads {

/// `summed_element` on the device.
template <class T>
struct summed_on_device {
  std::uint64_t seed;
  __device__ T operator()(std::int64_t index) const {
    auto const random = kernel::device_random_at(seed, static_cast<std::uint64_t>(index));
    return static_cast<T>(static_cast<std::int64_t>(random) >> 46U) * static_cast<T>(0x1p-17);
  }
};

/// Writes `element(i)` to `to[i]` on the device, which must be current, and waits for it.
template <class T, class Element>
void fill_resident(on::device place, T* to, std::int64_t count, Element const& element) {
  if (count == 0) { return; }
  constexpr unsigned threads = 256;
  auto const run = kernel::fill_elements<T, Element>;
  auto const shape = kernel::stride_shape(run, place, static_cast<std::uint64_t>(count), threads);
  kernel::launch(run, shape, 0, ::cuda::stream_ref{cudaStreamPerThread}, to, count, element);
  check(cudaDeviceSynchronize());
}

}  // namespace workloads
}  // namespace assay
