// SPDX-License-Identifier: Apache-2.0
/// @file
/// For tests that need a GPU: a device is there and its driver can make a context.
#include "missing.hpp"

#include <cuda_runtime_api.h>

std::string assay::test::missing() {
  int count = 0;
  if (auto const code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    return std::string{"no usable GPU: "} + cudaGetErrorString(code);
  }
  if (count == 0) { return "no GPU"; }
  if (auto const code = cudaFree(nullptr); code != cudaSuccess) {
    return std::string{"GPU 0 is there but cannot be used: "} + cudaGetErrorString(code);
  }
  return {};
}
