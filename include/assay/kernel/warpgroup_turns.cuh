// SPDX-License-Identifier: Apache-2.0
/// @file
/// Turns of two warpgroups at something that only one may do at a time.
#pragma once

#include <assay/core/ptx.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::kernel {

/// Two warpgroups take turns, the first one first. `barriers` are two mbarriers in shared memory.
/// One thread calls `initialise`, and then all synchronise, before any other use.
class warpgroup_turns {
 public:
  __device__ explicit warpgroup_turns(std::uint64_t* barriers) : barriers_(barriers) {}

  __device__ void initialise() const {
    constexpr unsigned warps = 4;
    for (int i = 0; i < 2; ++i) { ::cuda::ptx::mbarrier_init(barriers_ + i, warps); }
  }
  /// Until the warpgroup of rank `own`, 0 or 1, has its turn `number`, which it counts from 0.
  __device__ void await(int own, int number) const {
    ptx::await_parity(barriers_ + own, static_cast<unsigned>(number + 1 - own) & 1U);
  }
  /// Ends the turn of this warp. All warps of a warpgroup do so.
  __device__ void pass(int own) const {
    if (threadIdx.x % 32 == 0) { ::cuda::ptx::mbarrier_arrive(barriers_ + 1 - own); }
  }

 private:
  std::uint64_t* barriers_;
};

}  // namespace assay::kernel
