// SPDX-License-Identifier: Apache-2.0
/// @file
/// A ring of slots in shared memory between producer and consumer warps.
#pragma once

#include <assay/core/ptx.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace assay::copy {

/// A position in a ring: the slot, and the number of rounds modulo 2.
template <int Slots>
struct ring_position {
  int slot = 0;
  unsigned round = 0;

  /// The position of a fill. Fills are counted from 0.
  __device__ static ring_position of(int fill) {
    return {fill % Slots, static_cast<unsigned>(fill / Slots) & 1U};
  }
  __device__ void advance() {
    if (++slot == Slots) {
      slot = 0;
      round ^= 1U;
    }
  }
  __device__ bool operator==(ring_position const& other) const {
    return slot == other.slot && round == other.round;
  }
};

/// `Slots` slots of `SlotBytes`, each with two mbarriers: producers arrive at `full`, consumers at
/// `empty`.
///
/// A producer waits with `await_empty(at)`, fills `slot(at)` and arrives at `full(at)`. A consumer
/// waits with `await_full(at)`, reads and arrives with `release(at)`. Each thread keeps its own
/// position and goes round in order. `storage` is shared memory at a multiple of 1024. One thread
/// calls `initialise`, and then all synchronise, before any other use.
template <int Slots, int SlotBytes>
class tile_ring {
 public:
  using position = ring_position<Slots>;
  static constexpr int slots = Slots;
  static constexpr std::size_t storage_bytes =
      static_cast<std::size_t>(Slots) * (SlotBytes + 2 * sizeof(std::uint64_t));

  __device__ explicit tile_ring(void* storage)
      : slots_(static_cast<std::byte*>(storage)),
        barriers_(reinterpret_cast<std::uint64_t*>(slots_ + Slots * SlotBytes)) {}

  /// `producers` and `readers` are how many arrivals complete a phase.
  __device__ void initialise(unsigned producers, unsigned readers) const {
    for (int i = 0; i < Slots; ++i) {
      ::cuda::ptx::mbarrier_init(barriers_ + i, producers);
      ::cuda::ptx::mbarrier_init(barriers_ + Slots + i, readers);
    }
    // Bulk copies see mbarriers through the asynchronous proxy.
    if constexpr (ptx::architecture >= 90) {
      ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared);
    }
  }

  __device__ std::byte* slot(position at) const { return slots_ + at.slot * SlotBytes; }
  __device__ std::uint64_t* full(position at) const { return barriers_ + at.slot; }

  __device__ void await_full(position at) const { ptx::await_parity(full(at), at.round); }
  /// A slot that was never filled counts as empty.
  __device__ void await_empty(position at) const { ptx::await_parity(empty(at), at.round ^ 1U); }
  __device__ void release(position at) const { ::cuda::ptx::mbarrier_arrive(empty(at)); }

 private:
  __device__ std::uint64_t* empty(position at) const { return barriers_ + Slots + at.slot; }

  std::byte* slots_;
  std::uint64_t* barriers_;
};

}  // namespace assay::copy
