// SPDX-License-Identifier: Apache-2.0
/// @file
/// The descriptor of a `wgmma` operand in shared memory, and the addresses that it means.
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

/// The address in shared memory of element (mn, k) of a bf16 operand with such a descriptor. The
/// PTX ISA defines the canonical layouts ("Strides") and the swizzle. For tests.
constexpr unsigned wgmma_reads(std::uint64_t descriptor, bool mn_major, unsigned mn, unsigned k) {
  auto const field = [descriptor](unsigned at) {
    return static_cast<unsigned>(descriptor >> at & 0x3FFFU) << 4U;
  };
  unsigned const start = field(0);
  unsigned const leading = field(16);
  unsigned const stride = field(32);
  unsigned const linear =
      mn_major ? start + mn % 64 * 2 + mn / 64 * leading + k % 8 * 128 + k / 8 * stride
               : start + mn % 8 * 128 + mn / 8 * stride + k * 2;
  return linear ^ (linear >> 3U & 0x70U);
}

/// The element of a 64-row tile in accumulator register `index` of thread `thread` of a warpgroup
/// (PTX ISA, "Matrix Fragments for wgmma.mma_async.m64nNk16"); `mma.m16n8k16` has the same within a
/// warp.
struct accumulator_element {
  int row;
  int col;
};
__host__ __device__ constexpr accumulator_element accumulator_at(int thread, int index) {
  return {thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8,
          index / 4 * 8 + thread % 4 * 2 + index % 2};
}

}  // namespace assay::kernel
