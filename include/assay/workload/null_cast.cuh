// SPDX-License-Identifier: Apache-2.0
/// @file
/// `workloads::null_cast` and `null_cast_fused` on the device.
#pragma once

#include <assay/workload/array_workload.cuh>
#include <assay/workload/null_cast.hpp>
#include <assay/workload/null_cast_kernels.cuh>

#include <cstdint>

namespace assay::workloads {

/// Three kernels on the lane's stream, or one. The device must be current on this thread.
template <device_lane Lane, class T, null_cast_form Form>
void run_on(Lane& where, basic_null_cast<T, Form> const& work, null_cast_arrays<T> const& all) {
  using tuned = kernel::null_cast_tuning<T>;
  auto const rows = work.count();
  if constexpr (Form == null_cast_form::fused) {
    kernel::launch_null_cast_fused<T, typename tuned::fused>(where.place, where.stream, rows,
                                                             all.values, all.mask, all.out);
  } else {
    scratch<std::uint8_t, Lane> const bools{where, size_of(rows)};
    kernel::launch_is_valid<typename tuned::is_valid>(where.place, where.stream, rows, all.mask,
                                                      bools.get());
    scratch<T, Lane> const data{where, size_of(rows)};
    scratch<std::uint32_t, Lane> const mask{where, mask_bytes(rows) / sizeof(std::uint32_t)};
    kernel::launch_copy_if_else<T, typename tuned::copy_if_else>(where.place, where.stream, rows,
                                                                 bools.get(), all.values, all.mask,
                                                                 T{0}, data.get(), mask.get());
    kernel::launch_cast<T, typename tuned::cast>(where.place, where.stream, rows, data.get(),
                                                 mask.get(), all.out, all.out_mask);
  }
}

}  // namespace assay::workloads
