// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to null_cast.cuh: the definitions of its functions.
#pragma once

#include <assay/workload/null_cast.cuh>
#include <assay/workload/null_cast_kernels.cuh>

#include <cstdint>

namespace assay::kernel {

template <workloads::null_cast_value T>
void null_cast_kernels<T>::is_valid(::cuda::stream_ref stream, std::int64_t rows,
                                    std::uint32_t const* mask, std::uint8_t* bools) {
  launch_is_valid<typename null_cast_tuning<T>::is_valid>(stream, rows, mask, bools);
}

template <workloads::null_cast_value T>
void null_cast_kernels<T>::copy_if_else(::cuda::stream_ref stream, std::int64_t rows,
                                        std::uint8_t const* bools, T const* values,
                                        std::uint32_t const* mask, T scalar, T* data,
                                        std::uint32_t* data_mask) {
  launch_copy_if_else<T, typename null_cast_tuning<T>::copy_if_else>(stream, rows, bools, values,
                                                                     mask, scalar, data, data_mask);
}

template <workloads::null_cast_value T>
void null_cast_kernels<T>::cast(::cuda::stream_ref stream, std::int64_t rows, T const* data,
                                std::uint32_t const* data_mask, double* out,
                                std::uint32_t* out_mask) {
  launch_cast<T, typename null_cast_tuning<T>::cast>(stream, rows, data, data_mask, out, out_mask);
}

template <workloads::null_cast_value T>
void null_cast_kernels<T>::fused(::cuda::stream_ref stream, std::int64_t rows, T const* values,
                                 std::uint32_t const* mask, double* out) {
  launch_null_cast_fused<T, typename null_cast_tuning<T>::fused>(stream, rows, values, mask, out);
}

}  // namespace assay::kernel
