// SPDX-License-Identifier: Apache-2.0
/// @file
/// Changes one value in device memory, for tests that corrupt a result.
#pragma once

#include <assay/core/error.hpp>

#include <cuda_runtime_api.h>

namespace assay::test {

/// Replaces `*at` by `change(*at)`. Drains the device: a copy from pageable memory may return
/// before the bytes are on the device, and non-blocking streams do not wait for it.
template <class T, class Change>
void change_device_value(T* at, Change const& change) {
  T value{};
  check(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDefault));
  value = change(value);
  check(cudaMemcpy(at, &value, sizeof value, cudaMemcpyDefault));
  check(cudaDeviceSynchronize());
}

}  // namespace assay::test
