// SPDX-License-Identifier: Apache-2.0
/// @file
/// A warp's matrix instructions on bf16 (compute capability 8.0), which `cuda::ptx` lacks.
#pragma once

#include <assay/core/requirements.hpp>

#include <cuda_runtime.h>

namespace assay::kernel {

/// The address of shared memory as instructions take it.
__device__ inline unsigned shared_address(void const* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

/// Four 8 x 8 matrices of 16-bit elements; lane i says where row i % 8 of matrix i / 8 begins. Each
/// lane receives two neighbours of row lane / 4 of each (PTX ISA, "ldmatrix").
template <class = void>
__device__ void load_matrices(unsigned (&to)[4], void const* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// The same, each matrix transposed on the way.
template <class = void>
__device__ void load_matrices_transposed(unsigned (&to)[4], void const* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// The way back of `load_matrices` (compute capability 9.0; PTX ISA, "stmatrix").
template <class = void>
__device__ void store_matrices(void* row, unsigned const (&from)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
      "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
      : "memory");
}

/// d += a x b, 16 x 8 with 16 values of k (PTX ISA, "mma.m16n8k16").
template <class = void>
__device__ void mma_m16n8k16(float (&d)[4], unsigned const (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two floats as bf16, the first in the lower half (PTX ISA, "cvt").
template <class = void>
__device__ unsigned as_bfloat16_pair(float first, float second) {
  unsigned both = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

}  // namespace assay::kernel
