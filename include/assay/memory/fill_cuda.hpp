// SPDX-License-Identifier: Apache-2.0
/// @file
/// Filling memory in the order of a CUDA stream.
#pragma once

#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/fill.hpp>

namespace assay::mr {

template <>
struct fill<::cuda::stream_ref> {
  void operator()(::cuda::stream_ref stream, void* block, unsigned char value,
                  std::size_t bytes) const {
    range const here{"fill", category::gpu, bytes};
    check(cudaMemsetAsync(block, value, bytes, stream.get()));
  }
};

}  // namespace assay::mr
