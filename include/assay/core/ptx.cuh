// SPDX-License-Identifier: Apache-2.0
/// @file
/// The instructions of `cuda::ptx` that this library uses, and the architecture of the compilation.
/// CCCL has a header for each instruction. The public header, which includes all of them, costs
/// nvcc 0.8 s more.
#pragma once

#include <assay/core/requirements.hpp>

#if __has_include(<cuda/__ptx/instructions/mbarrier_expect_tx.h>)  // CCCL 2.8 and later
#include <cuda/__ptx/instructions/cp_async_bulk.h>
#include <cuda/__ptx/instructions/cp_async_bulk_tensor.h>
#include <cuda/__ptx/instructions/fence.h>
#include <cuda/__ptx/instructions/get_sreg.h>
#include <cuda/__ptx/instructions/mbarrier_arrive.h>
#include <cuda/__ptx/instructions/mbarrier_expect_tx.h>
#include <cuda/__ptx/instructions/mbarrier_init.h>
#include <cuda/__ptx/instructions/mbarrier_wait.h>
#else
#include <cuda/ptx>
#endif

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::ptx {

/// The compute capability that this pass compiles device code for, times ten; 0 in the pass for the
/// host. For `if constexpr` in device code: a program built for several architectures compiles
/// every kernel for each of them, also those that a check on the host keeps from running there.
#if defined(__CUDA_ARCH__)
inline constexpr int architecture = __CUDA_ARCH__ / 10;
#else
inline constexpr int architecture = 0;
#endif

/// True in a pass for sm_90a, which has instructions that no other architecture has.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool is_sm_90a = true;
#else
inline constexpr bool is_sm_90a = false;
#endif

/// True if the phase of that parity of a barrier in shared memory is complete. From compute
/// capability 9.0 the hardware may suspend the thread for a while before the answer is false.
__device__ inline bool is_complete(std::uint64_t* barrier, unsigned parity) {
  if constexpr (architecture >= 90) {
    return ::cuda::ptx::mbarrier_try_wait_parity(barrier, parity);
  } else {
    return ::cuda::ptx::mbarrier_test_wait_parity(barrier, parity);
  }
}

/// Waits until the phase of that parity is complete.
__device__ inline void await_parity(std::uint64_t* barrier, unsigned parity) {
  while (!is_complete(barrier, parity)) {}
}

}  // namespace assay::ptx
