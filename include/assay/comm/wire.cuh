// SPDX-License-Identifier: Apache-2.0
/// @file
/// Loads and stores that other GPUs take part in, and waiting for theirs.
///
/// In PTX, because neither `cuda::ptx` nor `cuda::atomic_ref` has accesses of system scope that are
/// 16 bytes wide, and to keep what few others there are from bringing headers along. Other headers
/// have only these functions.
#pragma once

#include <assay/comm/protocol.hpp>
#include <assay/core/ptx.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::comm::wire {

/// A pack as it is now, never from L1. Each of its four words is what somebody wrote as a whole.
__device__ inline uint4 load(uint4 const* from) {
  uint4 now;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(now.x), "=r"(now.y), "=r"(now.z), "=r"(now.w)
               : "l"(from)
               : "memory");
  return now;
}

/// Sends a pack; orders nothing.
__device__ inline void store(uint4* to, uint4 const& pack) {
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(pack.x),
               "r"(pack.y), "r"(pack.z), "r"(pack.w)
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

/// Raises a flag; with `release`, after all that this thread wrote or has seen written.
__device__ inline void raise(unsigned* flag, unsigned value, bool release) {
  if (release) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  } else {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  }
}

/// A flag; orders nothing.
__device__ inline unsigned look(unsigned const* flag) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

/// A flag, and before all later accesses what its writer had released.
__device__ inline unsigned seen(unsigned const* flag) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

/// Copies of the tensor memory accelerator from shared memory: ends what this thread has started as
/// one group; waits until it has been read; waits until it is written.
__device__ inline void end_copies() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void await_copies_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ inline void await_copies() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
/// But for the last `Groups`.
template <int Groups>
__device__ void await_copies_but() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Groups) : "memory");
}

/// What `comm/protocol.hpp` says, where kernels can call it.
__host__ __device__ constexpr unsigned ll_buffer(unsigned epoch) {
  return epoch % protocol::ll_buffers;
}
__host__ __device__ constexpr unsigned lamport_buffer(unsigned epoch) {
  return epoch % protocol::lamport_buffers;
}
__host__ __device__ constexpr unsigned buffer_to_clear(unsigned epoch) {
  return (epoch % protocol::lamport_buffers + protocol::lamport_buffers - protocol::cleared_after) %
         protocol::lamport_buffers;
}
__host__ __device__ constexpr bool renews(unsigned before, unsigned after) {
  return before / protocol::renewal_period != after / protocol::renewal_period;
}
__host__ __device__ constexpr bool renews_ll(unsigned epoch) {
  return epoch % protocol::renewal_period >= protocol::renewal_period - protocol::ll_buffers;
}
__host__ __device__ constexpr unsigned next_epoch(unsigned epoch) {
  return epoch == 0xFFFFFFFCU ? 1U : epoch + 1U;
}
__host__ __device__ constexpr bool reached(unsigned value, unsigned wanted) {
  return static_cast<int>(value - wanted) >= 0;
}
__host__ __device__ constexpr bool plausible(unsigned value, unsigned wanted) {
  return value - wanted + 1U <= 2U;
}
__host__ __device__ constexpr bool can_stand(unsigned value, unsigned last) {
  return last - value < 4U * protocol::renewal_period;
}
/// Whether the above are the rules that were proven.
consteval bool as_proven() {
  for (unsigned const near : {0U, protocol::renewal_period - 5U, 0x7FFFFFFAU, 0xFFFFFFF5U}) {
    for (unsigned epoch = near; epoch != near + 10U; ++epoch) {
      bool const same = ll_buffer(epoch) == protocol::ll_buffer(epoch) &&
                        lamport_buffer(epoch) == protocol::lamport_buffer(epoch) &&
                        buffer_to_clear(epoch) == protocol::buffer_to_clear(epoch) &&
                        next_epoch(epoch) == protocol::next_epoch(epoch) &&
                        renews_ll(epoch) == protocol::renews_ll(epoch);
      if (!same) { return false; }
      for (unsigned value = epoch - 3U; value != epoch + 9U; ++value) {
        if (reached(value, epoch) != protocol::reached(value, epoch)) { return false; }
        if (plausible(value, epoch) != protocol::plausible(value, epoch)) { return false; }
        if (renews(value, epoch) != protocol::renews(value, epoch)) { return false; }
      }
      for (unsigned const age : {0U, 1U, 2U, 3U, 4U, 5U}) {
        for (unsigned const late : {0U, 1U}) {
          auto const value = epoch - age * protocol::renewal_period + late;
          if (can_stand(value, epoch) != protocol::can_stand(value, epoch)) { return false; }
        }
      }
    }
  }
  return true;
}
static_assert(as_proven());

/// What a rank's own pack is sent as, so that no word of it looks like one that is not there yet.
__device__ inline uint4 disguised(uint4 pack) {
  auto const word = [](unsigned value) {
    return value == protocol::unwritten ? protocol::unwritten_sent_as : value;
  };
  return {word(pack.x), word(pack.y), word(pack.z), word(pack.w)};
}

/// Whether all four words of a disguised pack are there.
__device__ inline bool arrived(uint4 const& pack) {
  return pack.x != protocol::unwritten && pack.y != protocol::unwritten &&
         pack.z != protocol::unwritten && pack.w != protocol::unwritten;
}

/// Counts the looks of one wait, so that it can end. Costs nothing until a look was in vain.
class patience {
 public:
  /// `nanoseconds` 0: for ever. `*given_up` (this rank's own memory): another block's wait has
  /// ended.
  __device__ patience(std::uint64_t nanoseconds, unsigned const* given_up)
      : nanoseconds_(nanoseconds), given_up_(given_up) {}

  /// After each look in vain: whether to go on.
  __device__ bool more() {
    if (nanoseconds_ == 0) { return true; }
    if ((++looks_ & 255U) != 0) { return true; }
    auto const now = ::cuda::ptx::get_sreg_globaltimer();
    if (begun_ == 0) { begun_ = now; }
    return now - begun_ < nanoseconds_ && *static_cast<unsigned const volatile*>(given_up_) == 0;
  }

 private:
  std::uint64_t nanoseconds_;
  unsigned const* given_up_;
  std::uint64_t begun_ = 0;
  unsigned looks_ = 0;
};

}  // namespace assay::comm::wire
