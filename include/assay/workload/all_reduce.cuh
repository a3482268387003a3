// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels that fill the input of a rank of an all-reduce, and count the wrong elements of its
/// output.
#pragma once

#include <assay/core/stream.hpp>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/workload/all_reduce.hpp>

#include <cmath>
#include <cstddef>
#include <type_traits>

namespace assay::kernel {

template <class T>
__global__ void fill_input(T* to, std::size_t count, workloads::reduction_inputs of, int rank) {
  for (auto const i : grid_stride(count)) {
    to[i] = static_cast<T>(static_cast<float>(of.input(rank, i)));
  }
}

/// Adds the number of wrong elements to `*wrong`; a NaN is wrong.
template <class T>
__global__ void count_wrong(T const* found, std::size_t count, workloads::reduction_inputs of,
                            comm::reduction what, double tolerance, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (auto const i : grid_stride(count)) {
    double right = of.output(what, i), value = 0;
    if constexpr (std::is_integral_v<T>) {
      right = trunc(right);  // averages of integers round towards zero
    }
    if constexpr (sizeof(T) <= 2) {
      value = static_cast<float>(found[i]);
    } else {
      value = static_cast<double>(found[i]);
    }
    mine += fabs(value - right) <= tolerance * right ? 0 : 1;
  }
  if (mine != 0) { atomicAdd(wrong, mine); }
}

}  // namespace assay::kernel

namespace assay::workloads {

/// Enqueues the filling of a rank's input. The stream's device, `place`, has to be current, here
/// and below.
template <comm::element T>
void enqueue_input(on::device place, ::cuda::stream_ref stream, T* to, std::size_t count,
                   reduction_inputs const& of, int rank) {
  if (count == 0) { return; }
  auto const entry = kernel::fill_input<T>;
  kernel::launch(entry, kernel::stride_shape(entry, place, count, 256), 0, stream, to, count, of,
                 rank);
}

/// Enqueues the counting of the wrong elements of an output, added to `*wrong` on the device.
template <comm::element T>
void enqueue_count_wrong(on::device place, ::cuda::stream_ref stream, T const* found,
                         std::size_t count, reduction_inputs const& of, comm::reduction what,
                         unsigned long long* wrong) {
  if (count == 0) { return; }
  auto const entry = kernel::count_wrong<T>;
  kernel::launch(entry, kernel::stride_shape(entry, place, count, 256), 0, stream, found, count, of,
                 what, of.tolerance<T>(what), wrong);
}

}  // namespace assay::workloads
