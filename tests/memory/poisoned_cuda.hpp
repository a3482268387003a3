// SPDX-License-Identifier: Apache-2.0
/// @file
/// `poisoned` for CUDA streams. The overload stands before the template that calls it.
#pragma once

#include <assay/core/stream.hpp>

#include <cstddef>

namespace assay::test {

inline void fill(::cuda::stream_ref stream, void* block, unsigned char value, std::size_t bytes) {
  check(cudaMemsetAsync(block, value, bytes, stream.get()));
}

}  // namespace assay::test

#include "memory/poisoned.hpp"
