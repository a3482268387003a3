// SPDX-License-Identifier: Apache-2.0
/// @file
/// Inputs with an exact all-reduce in every order of summation, and a count of wrong outputs.
#pragma once

#include <assay/comm/concepts.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace assay::examples {

/// Returns half the distance from 1 to the next number of `T`. It is 2^-24 in float, 2^-11 in half
/// and 2^-8 in bfloat16.
template <comm::element T>
constexpr double unit_roundoff() {
  if (sizeof(T) == 4) { return 0x1p-24; }
  return static_cast<float>(static_cast<T>(1.0F + 0x1p-10F)) != 1.0F ? 0x1p-11 : 0x1p-8;
}

/// The inputs and outputs of all ranks: whole numbers from 0 to `most`, so small that all partial
/// sums over the ranks are exact in every type and in every order.
struct exact_inputs {
  std::uint64_t seed = 0;
  int ranks = 1;
  static constexpr unsigned most = 31;  ///< one less than a power of two
  static_assert(most * comm::max_ranks <= 256, "whole numbers of bfloat16 go to 256");

  __host__ __device__ float input(int rank, std::uint64_t index) const {
    // The finaliser of SplitMix64.
    auto x = seed + 0x9E3779B97F4A7C15U * (index + 1) +
             0xD1B54A32D192ED03U * static_cast<std::uint64_t>(rank);
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<float>((x ^ (x >> 31U)) & most);
  }

  /// The value of an element after the all-reduce; exact, except an average over a number of ranks
  /// that is not a power of two.
  __host__ __device__ float output(comm::reduction what, std::uint64_t index) const {
    float result = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      float const each = input(rank, index);
      result = what == comm::reduction::max ? fmaxf(result, each) : result + each;
    }
    return what == comm::reduction::average ? result / static_cast<float>(ranks) : result;
  }

  /// Bounds the relative error of a correct element of `T`. The bound is 0, except for averages
  /// over a number of ranks that is not a power of two. There the reciprocal, each product and each
  /// partial sum may be rounded, and all terms are positive.
  template <comm::element T>
  double tolerance(comm::reduction what) const {
    bool const exact = (ranks & (ranks - 1)) == 0;
    return what != comm::reduction::average || exact ? 0 : (ranks + 2) * unit_roundoff<T>();
  }
};

}  // namespace assay::examples

namespace assay::kernel {

/// Fills a rank's input.
template <class T>
__global__ void fill_exact_inputs(T* to, std::size_t count, examples::exact_inputs what, int rank) {
  for (auto const i : grid_stride(count)) { to[i] = static_cast<T>(what.input(rank, i)); }
}

/// Adds the number of wrong elements to `*wrong`; a NaN is wrong.
template <class T>
__global__ void count_wrong(T const* of, std::size_t count, examples::exact_inputs inputs,
                            comm::reduction what, float tolerance, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (auto const i : grid_stride(count)) {
    float const expected = inputs.output(what, i);
    bool const right = fabsf(static_cast<float>(of[i]) - expected) <= tolerance * expected;
    mine += right ? 0 : 1;
  }
  if (mine != 0) { atomicAdd(wrong, mine); }
}

}  // namespace assay::kernel

namespace assay::examples {

/// Enqueues the filling of a rank's input; the stream's device, `place`, must be current.
template <comm::element T>
void fill_exact_inputs(on::device place, ::cuda::stream_ref stream, T* to, std::size_t count,
                       exact_inputs const& what, int rank) {
  if (count == 0) { return; }
  auto const entry = kernel::fill_exact_inputs<T>;
  kernel::launch(entry, kernel::stride_shape(entry, place, count, 256), 0, stream, to, count, what,
                 rank);
}

/// Enqueues the counting of the wrong elements of an output, added to `*wrong` on the device.
template <comm::element T>
void count_wrong(on::device place, ::cuda::stream_ref stream, T const* of, std::size_t count,
                 exact_inputs const& inputs, comm::reduction what, unsigned long long* wrong) {
  if (count == 0) { return; }
  auto const entry = kernel::count_wrong<T>;
  auto const tolerance = static_cast<float>(inputs.tolerance<T>(what));
  kernel::launch(entry, kernel::stride_shape(entry, place, count, 256), 0, stream, of, count,
                 inputs, what, tolerance, wrong);
}

}  // namespace assay::examples
