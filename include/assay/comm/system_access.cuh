// SPDX-License-Identifier: Apache-2.0
/// @file
/// Loads and stores of system scope, by which GPUs exchange data, and the bound of a wait.
///
/// The accesses are PTX, since neither `cuda::ptx` nor `cuda::atomic_ref` has accesses of system
/// scope and 16 bytes. Kernels of this room exchange data by these functions alone.
#pragma once

#include <assay/comm/protocol.hpp>
#include <assay/core/ptx.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::comm::sys {

/// Loads a vec16 past L1. Each of its four words is whole: no word mixes two stores.
__device__ inline uint4 load(uint4 const* from) {
  uint4 now;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(now.x), "=r"(now.y), "=r"(now.z), "=r"(now.w)
               : "l"(from)
               : "memory");
  return now;
}

/// Stores a vec16, relaxed: it orders no other access.
__device__ inline void store(uint4* to, uint4 const& vec) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(vec.x),
               "r"(vec.y), "r"(vec.z), "r"(vec.w)
               : "memory");
}

__device__ inline uint2 load(uint2 const* from) {
  uint2 now;
  asm volatile("ld.relaxed.sys.global.v2.u32 {%0, %1}, [%2];"
               : "=r"(now.x), "=r"(now.y)
               : "l"(from)
               : "memory");
  return now;
}

__device__ inline void store(uint2* to, uint2 const& pair) {
  asm volatile("st.relaxed.sys.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(pair.x), "r"(pair.y)
               : "memory");
}

/// Stores a flag; with `release`, after all stores that this thread made or observed.
__device__ inline void store_flag(unsigned* flag, unsigned value, bool release) {
  if (release) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  } else {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  }
}

/// Loads a flag, relaxed: it orders no other access.
__device__ inline unsigned load_relaxed(unsigned const* flag) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

/// Loads a flag, acquire: later accesses see all that the flag's writer released.
__device__ inline unsigned load_acquire(unsigned const* flag) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

/// Bulk copies from shared memory: commits those that this thread has started as one group; waits
/// until their sources are read; waits until their targets are written.
__device__ inline void commit_bulk_copies() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void await_bulk_copies_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ inline void await_bulk_copies() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Replaces words that equal the sentinel, since a receiver would take them for missing data.
__device__ inline uint4 without_sentinel(uint4 vec) {
  auto const word = [](unsigned value) {
    return value == protocol::sentinel ? protocol::sentinel_substitute : value;
  };
  return {word(vec.x), word(vec.y), word(vec.z), word(vec.w)};
}

/// True when all four words of a vec16 have arrived.
__device__ inline bool arrived(uint4 const& vec) {
  return vec.x != protocol::sentinel && vec.y != protocol::sentinel &&
         vec.z != protocol::sentinel && vec.w != protocol::sentinel;
}

/// The limit of one wait. Reads the timer and the word that ends all waits every 1024 polls.
///
/// A poll of device memory goes past L1 and takes 0.1 us or more. So a wait of less than 0.1 ms
/// never reads the word, which lies in host memory. Ranks that come in time have no longer waits.
class spin_deadline {
 public:
  __device__ spin_deadline(std::uint64_t nanoseconds, unsigned const* stop)
      : nanoseconds_(nanoseconds), stop_(stop) {}

  /// Called after each poll without success; false ends the wait.
  __device__ bool keep_waiting() {
    if ((++polls_ & 1023U) != 0) { return true; }
    auto const now = ::cuda::ptx::get_sreg_globaltimer();
    if (begun_ == 0) { begun_ = now; }
    return now - begun_ < nanoseconds_ && load_relaxed(stop_) == 0;
  }

 private:
  std::uint64_t nanoseconds_;
  unsigned const* stop_;
  std::uint64_t begun_ = 0;
  unsigned polls_ = 0;
};

}  // namespace assay::comm::sys
