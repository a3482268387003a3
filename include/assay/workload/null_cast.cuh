// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::null_cast` and `null_cast_fused` on the device: three kernels that follow each
/// other, and one for all. In compiled mode this header needs no nvcc.
#pragma once

#include <assay/workload/array_workload.cuh>
#include <assay/workload/null_cast.hpp>

#include <cstdint>

namespace assay::kernel {

/// Launches the kernels for a column of `T`, with the tuning that `null_cast_tuning` names.
template <workloads::null_cast_value T>
struct null_cast_kernels {
  static void is_valid(::cuda::stream_ref stream, std::int64_t rows, std::uint32_t const* mask,
                       std::uint8_t* bools);
  static void copy_if_else(::cuda::stream_ref stream, std::int64_t rows, std::uint8_t const* bools,
                           T const* values, std::uint32_t const* mask, T scalar, T* data,
                           std::uint32_t* data_mask);
  static void cast(::cuda::stream_ref stream, std::int64_t rows, T const* data,
                   std::uint32_t const* data_mask, double* out, std::uint32_t* out_mask);
  static void fused(::cuda::stream_ref stream, std::int64_t rows, T const* values,
                    std::uint32_t const* mask, double* out);
};

}  // namespace assay::kernel

namespace assay::workloads {

/// Three kernels on the lane's stream, or one. The device must be current on this thread.
template <device_lane Lane, class T, null_cast_form Form>
void run_on(Lane& where, basic_null_cast<T, Form> const& work, null_cast_arrays<T> const& all) {
  using kernels = kernel::null_cast_kernels<T>;
  auto const rows = work.count();
  if constexpr (Form == null_cast_form::fused) {
    kernels::fused(where.stream, rows, all.values, all.mask, all.out);
  } else {
    scratch<std::uint8_t, Lane> const bools{where, size_of(rows)};
    kernels::is_valid(where.stream, rows, all.mask, bools.get());
    scratch<T, Lane> const data{where, size_of(rows)};
    scratch<std::uint32_t, Lane> const mask{where, mask_bytes(rows) / sizeof(std::uint32_t)};
    kernels::copy_if_else(where.stream, rows, bools.get(), all.values, all.mask, T{0}, data.get(),
                          mask.get());
    kernels::cast(where.stream, rows, data.get(), mask.get(), all.out, all.out_mask);
  }
}

}  // namespace assay::workloads

#ifndef ASSAY_COMPILED
#include <assay/workload/null_cast_definitions.cuh>
#endif
