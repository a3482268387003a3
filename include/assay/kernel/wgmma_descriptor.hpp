// SPDX-License-Identifier: Apache-2.0
/// @file
/// The descriptor of a `wgmma` operand in shared memory.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace assay::kernel {

/// Over how many bytes of a row chunks of 16 are permuted, as descriptors say it.
enum class wgmma_swizzle : std::uint64_t { over_128_bytes = 1, over_32_bytes = 3 };

/// The matrix descriptor of an operand (PTX ISA, "Matrix Descriptor Format"): addresses and offsets
/// in units of 16 bytes, the swizzle mode in bits 62 and 63, and a base offset of 0, as the pattern
/// begins at a multiple of eight rows' bytes.
///
/// For a K-major operand `stride_bytes` is from one group of 8 rows to the next, and the leading
/// offset is not used. For an MN-major operand `leading_bytes` is from one panel of 128 bytes to
/// the next, and `stride_bytes` from one group of 8 values of k to the next.
__host__ __device__ constexpr std::uint64_t wgmma_descriptor(
    unsigned shared_address, unsigned leading_bytes, unsigned stride_bytes,
    wgmma_swizzle swizzle = wgmma_swizzle::over_128_bytes) {
  constexpr auto encode = [](unsigned bytes) {
    return static_cast<std::uint64_t>((bytes & 0x3FFFFU) >> 4U);
  };
  return encode(shared_address) | encode(leading_bytes) << 16U | encode(stride_bytes) << 32U |
         static_cast<std::uint64_t>(swizzle) << 62U;
}

}  // namespace assay::kernel
