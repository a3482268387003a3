// SPDX-License-Identifier: Apache-2.0
/// @file
/// The honest work of the device tests, for the reference and for candidates.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

template <class T>
__global__ void scale_and_add(T const* x, T* y, std::size_t n, T a) {
  auto const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    y[i] = a * x[i] + 1;
  }
}

/// The arguments of one call.
struct device_task {
  float* x;
  float* y;
  std::size_t n;
  float a;

  device_task(void* const* buffers, std::size_t const* sizes, double const* scalars)
      : x(static_cast<float*>(buffers[0])),
        y(static_cast<float*>(buffers[1])),
        n(sizes[0]),
        a(static_cast<float>(scalars[0])) {}

  int run(cudaStream_t on) const { return part(0, n, on); }
  int part(std::size_t begin, std::size_t end, cudaStream_t on) const {
    if (begin == end) { return 0; }
    scale_and_add<float><<<2048, 256, 0, on>>>(x + begin, y + begin, end - begin, a);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};
