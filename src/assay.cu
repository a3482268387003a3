// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of doors that launch kernels or watch a device, for programs that are compiled
/// with -DASSAY_COMPILED.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/arrays/device_arrays_definitions.cuh>
#include <assay/compare/launch_support_definitions.cuh>
#include <assay/compare_definitions.cuh>
#include <assay/kernel/launch_definitions.cuh>
#include <assay/kernel/shared_memory_definitions.cuh>
#include <assay/machine/clock_probe_definitions.cuh>
#include <assay/measure/device_watch_definitions.hpp>
#include <assay/measure/instruments_definitions.cuh>
#include <assay/referee_definitions.cuh>
#include <assay/verify_definitions.cuh>
#include <assay/workload/null_cast_definitions.cuh>

#include <cstdint>

namespace assay::kernel {

template struct null_cast_kernels<std::int32_t>;
template struct null_cast_kernels<std::int64_t>;
template struct null_cast_kernels<float>;

}  // namespace assay::kernel
