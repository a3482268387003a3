// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything, for nvcc; but the trace is in trace.hpp, and what needs an optional package is
/// included by its name.
#pragma once

#include <assay/assay.hpp>
#include <assay/arrays/device_arrays.cuh>
#include <assay/comm/all_reduce.cuh>
#include <assay/comm/all_reduce_call.cuh>
#include <assay/comm/all_reduce_direct.cuh>
#include <assay/comm/all_reduce_kernels.cuh>
#include <assay/comm/all_reduce_lamport.cuh>
#include <assay/comm/fifo_reducer.cuh>
#include <assay/comm/fifo_sender.cuh>
#include <assay/comm/flow_control.cuh>
#include <assay/comm/system_access.cuh>
#include <assay/comm/vec16.cuh>
#include <assay/compare.cuh>
#include <assay/compare/launch_session.cuh>
#include <assay/compare/launch_subject.cuh>
#include <assay/copy/bulk.cuh>
#include <assay/copy/concepts.cuh>
#include <assay/copy/cp_async.cuh>
#include <assay/copy/regular.cuh>
#include <assay/copy/require_code.cuh>
#include <assay/core/ptx.cuh>
#include <assay/dispatch/device_load.cuh>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/kernel_attributes.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/kernel/mma.cuh>
#include <assay/kernel/shared_memory.cuh>
#include <assay/machine/clock_probe.cuh>
#include <assay/machine/stream_latch.cuh>
#include <assay/measure/instruments.cuh>
#include <assay/race.cuh>
#include <assay/workload/array_workload.cuh>
#include <assay/workload/element_wise.cuh>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/vector_add.cuh>
#include <assay/workload/warp_tile.cuh>
