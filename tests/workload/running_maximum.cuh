// SPDX-License-Identifier: Apache-2.0
/// @file
/// The running maximum on a device: a warp takes a row.
#pragma once
#include "running_maximum.hpp"

#include <assay/kernel/launch.cuh>
#include <assay/workload/array_workload.cuh>

template <class T>
__global__ void running_maximum_of_rows(T const* in, T* out, std::int64_t columns) {
  auto const begin = blockIdx.x * columns;
  T largest = in[begin];
  for (auto first = std::int64_t{0}; first < columns; first += 32) {
    auto const column = first + threadIdx.x;
    T mine = column < columns ? in[begin + column] : largest;
    for (unsigned apart = 1; apart < 32; apart *= 2) {
      T const before = __shfl_up_sync(0xFFFFFFFFU, mine, apart);
      if (threadIdx.x >= apart) { mine = max(mine, before); }
    }
    mine = max(mine, largest);
    if (column < columns) { out[begin + column] = mine; }
    largest = __shfl_sync(0xFFFFFFFFU, mine, 31);
  }
}

template <assay::device_lane Lane, class Arrays>
void run_on(Lane& where, running_maximum const& work, Arrays const& all) {
  assay::kernel::launch(running_maximum_of_rows<float>, static_cast<unsigned>(work.rows), 32U, 0,
                        where.stream, all.first.data(), all.second.data(), work.columns);
}
