// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::matmul` on the device.
#pragma once

#include "matmul.hpp"
#include "matmul_kernel.cuh"

#include <assay/core/device.hpp>
#include <assay/workload/array_workload.cuh>

#include <cstdint>

namespace assay::workloads {

/// A and B of a lane, with tensor maps on devices that have them.
template <class T>
matmul_inputs<T> make_handle(on::device place, matmul<T> const& work, matmul_arrays<T> const& all) {
  auto const rows = [](std::int64_t count) { return static_cast<int>(count); };
  return {copy::matrix_view<T>{all.a, rows(work.m), rows(work.k), copy::chunked_pitch<T>(work.k)},
          copy::matrix_view<T>{all.b, rows(work.k), rows(work.n), copy::chunked_pitch<T>(work.n)},
          attribute(place, cudaDevAttrComputeCapabilityMajor) >= 9};
}

/// Throws `std::invalid_argument` that says why, unless the product can run so on a device.
template <class T, copy_strategy Strategy>
void require_on(on::device place, matmul<T> const&, Strategy) {
  (void)matmul_shape_on<T, Strategy>(place);
}

/// Launches one kernel on the lane's stream. The device must be current on this thread.
template <device_lane Lane, class T>
void run_on(Lane& where, matmul<T> const& work, matmul_arrays<T> const& all,
            matmul_inputs<T> const& inputs) {
  launch_matmul(where.place, where.stream, where.copy, inputs, all.c,
                copy::chunked_pitch<T>(work.n));
}

}  // namespace assay::workloads
