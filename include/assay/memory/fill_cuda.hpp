// SPDX-License-Identifier: Apache-2.0
/// @file
/// `fill` for CUDA streams.
#pragma once

#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/memory/fill.hpp>

namespace assay::mr {

template <>
struct fill<::cuda::stream_ref> {
  void operator()(::cuda::stream_ref stream, void* block, unsigned char value,
                  std::size_t bytes) const {
    nvtx_range const here{"fill", category::gpu, bytes};
    check(cudaMemsetAsync(block, value, bytes, stream.get()));
  }
};

}  // namespace assay::mr
