// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of which it is known what they move and do, to hold counters against.
#pragma once

#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <cstdint>

namespace assay::kernel {

/// to[i] = from[i].
template <class T>
__global__ void known_copy(T const* __restrict__ from, T* __restrict__ to, std::int64_t count) {
  constexpr int batch = 4;  // a load in flight for each thread of a full SM is too little for DRAM
  auto const threads = std::int64_t{gridDim.x} * blockDim.x;
  auto const first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (auto i = first; i < count; i += batch * threads) {
    T values[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (i + k * threads < count) { values[k] = from[i + k * threads]; }
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (i + k * threads < count) { to[i + k * threads] = values[k]; }
    }
  }
}

/// Eight independent chains of `steps` fused multiply-adds in each thread: 16 FLOPs a step.
template <class T>
__global__ void known_fma_chain(T factor, int steps, T* out) {
  constexpr int chains = 8;  // an FMA takes four cycles, so four warps of one chain would do
  T x[chains];
  for (int c = 0; c < chains; ++c) { x[c] = static_cast<T>(threadIdx.x + c); }
  for (int s = 0; s < steps; ++s) {
    for (int c = 0; c < chains; ++c) { x[c] = x[c] * factor + factor; }
  }
  T sum = 0;
  for (int c = 0; c < chains; ++c) { sum += x[c]; }
  // Never true for factors below 1, which the compiler cannot know.
  if (sum == static_cast<T>(-1)) { *out = sum; }
}

/// A permutation with one cycle over 2^log_count places: a full-period congruential generator.
template <class T>
__global__ void known_chase_table(T* next, int log_count) {
  auto const count = std::int64_t{1} << log_count;
  for (std::int64_t const i : grid_stride(count)) {
    next[i] = static_cast<T>((i * 1664525 + 1013904223) & (count - 1));
  }
}

/// Each thread follows the table from a place of its own: one load under way at a time.
template <class T>
__global__ void known_chase(T const* next, int log_count, int steps, T* out) {
  auto const thread = static_cast<T>(blockIdx.x * blockDim.x + threadIdx.x);
  auto const mask = static_cast<T>((std::int64_t{1} << log_count) - 1);
  T at = (thread * static_cast<T>(2654435761U)) & mask;
  for (int s = 0; s < steps; ++s) { at = next[at]; }
  if (at > mask) { *out = at; }  // never: the compiler cannot know
}

/// Holds its SM for so many of its clock's cycles.
template <class T>
__global__ void known_spin(T cycles) {
  auto const begin = clock64();
  while (clock64() - begin < cycles) {}
}

}  // namespace assay::kernel
