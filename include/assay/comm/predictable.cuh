// SPDX-License-Identifier: Apache-2.0
/// @file
/// Inputs whose all-reduce is known exactly whatever the order, and how many elements are wrong.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/core/range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace assay::comm {

/// The element of a rank's input: a whole number from 0 to 31, so that the sum over 8 ranks still
/// is one that bfloat16 has (to 256), in every order and after every partial sum.
__host__ __device__ inline float predictable_input(std::uint64_t seed, int rank,
                                                   std::uint64_t index) {
  // The finaliser of SplitMix64.
  auto x = seed + 0x9E3779B97F4A7C15U * (index * max_ranks + static_cast<std::uint64_t>(rank) + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<float>((x ^ (x >> 31U)) & 31U);
}

/// What an element is after the all-reduce; exact but for an average over other than 2, 4 or 8.
__host__ __device__ inline float predictable_output(std::uint64_t seed, int ranks, reduction what,
                                                    std::uint64_t index) {
  float result = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    float const each = predictable_input(seed, rank, index);
    result = what == reduction::max ? fmaxf(result, each) : result + each;
  }
  return what == reduction::average ? result / static_cast<float>(ranks) : result;
}

/// How far a right element of `T` may be from `predictable_output`, as a share of it: nothing, but
/// for averages over a number of ranks whose reciprocal is not exact: then the reciprocal, each
/// product and each partial sum may be rounded to the type, and all terms are positive.
template <element T>
double predictable_tolerance(int ranks, reduction what) {
  bool const exact = (ranks & (ranks - 1)) == 0;
  if (what != reduction::average || exact) { return 0; }
  // Half the distance from 1 to the next: 2^-24 of float, 2^-11 of half, 2^-8 of bfloat16.
  bool const narrow = sizeof(T) == 2;
  bool const half = narrow && static_cast<float>(static_cast<T>(1.0F + 0x1p-10F)) != 1.0F;
  double const unit = !narrow ? 0x1p-24 : half ? 0x1p-11 : 0x1p-8;
  return (ranks + 2) * unit;
}

}  // namespace assay::comm

namespace assay::kernel {

/// Fills a rank's input.
template <class T>
__global__ void fill_predictable(T* to, std::size_t count, std::uint64_t seed, int rank) {
  for (auto const i : grid_stride(count)) {
    to[i] = static_cast<T>(comm::predictable_input(seed, rank, i));
  }
}

/// Adds the number of wrong elements to `*wrong`; a NaN is one.
template <class T>
__global__ void count_wrong(T const* of, std::size_t count, std::uint64_t seed, int ranks,
                            comm::reduction what, float tolerance, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (auto const i : grid_stride(count)) {
    float const expected = comm::predictable_output(seed, ranks, what, i);
    bool const right = fabsf(static_cast<float>(of[i]) - expected) <= tolerance * expected;
    mine += right ? 0 : 1;
  }
  if (mine != 0) { atomicAdd(wrong, mine); }
}

}  // namespace assay::kernel

namespace assay::comm {

/// Enqueues the filling of a rank's input; the stream's device, `place`, must be current.
template <element T>
void fill_predictable(on::device place, ::cuda::stream_ref stream, T* to, std::size_t count,
                      std::uint64_t seed, int rank) {
  if (count == 0) { return; }
  auto const entry = kernel::fill_predictable<T>;
  kernel::launch(entry, kernel::stride_shape(entry, place, count, 256), 0, stream, to, count, seed,
                 rank);
}

/// Enqueues the counting of the wrong elements of an output, added to `*wrong` on the device.
template <element T>
void count_wrong(on::device place, ::cuda::stream_ref stream, T const* of, std::size_t count,
                 std::uint64_t seed, int ranks, reduction what, unsigned long long* wrong) {
  if (count == 0) { return; }
  auto const entry = kernel::count_wrong<T>;
  auto const tolerance = static_cast<float>(predictable_tolerance<T>(ranks, what));
  kernel::launch(entry, kernel::stride_shape(entry, place, count, 256), 0, stream, of, count, seed,
                 ranks, what, tolerance, wrong);
}

}  // namespace assay::comm
