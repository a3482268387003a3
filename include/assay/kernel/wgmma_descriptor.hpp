// SPDX-License-Identifier: Apache-2.0
/// @file
/// The descriptor of a `wgmma` operand in shared memory.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace assay::kernel {

/// The matrix descriptor of an operand that is swizzled over 128 bytes (PTX ISA, "Matrix Descriptor
/// Format"): addresses and offsets in units of 16 bytes, the swizzle mode 1 in bits 62 and 63, and
/// a base offset of 0, as the pattern begins at a multiple of 1024 bytes.
///
/// For a K-major operand `stride_bytes` is from one group of 8 rows to the next, and the leading
/// offset is not used. For an MN-major operand `leading_bytes` is from one panel of 128 bytes to
/// the next, and `stride_bytes` from one group of 8 values of k to the next.
__host__ __device__ constexpr std::uint64_t wgmma_descriptor(unsigned shared_address,
                                                             unsigned leading_bytes,
                                                             unsigned stride_bytes) {
  constexpr auto encode = [](unsigned bytes) {
    return static_cast<std::uint64_t>((bytes & 0x3FFFFU) >> 4U);
  };
  return encode(shared_address) | encode(leading_bytes) << 16U | encode(stride_bytes) << 32U |
         std::uint64_t{1} << 62U;
}

}  // namespace assay::kernel
