// SPDX-License-Identifier: Apache-2.0
/// @file
/// Everything, for nvcc; but the trace is in trace.hpp, and what needs an optional package is
/// included by its name.
#pragma once

#include <assay/assay.hpp>
#include <assay/core/ptx.cuh>
#include <assay/kernel/clock_probe.cuh>
#include <assay/kernel/grid_stride.cuh>
#include <assay/kernel/launch.cuh>
#include <assay/kernel/warp_tile.cuh>
#include <assay/measure/instruments.cuh>
#include <assay/measure/stream_subject.cuh>
#include <assay/workload/element_wise.cuh>
#include <assay/workload/iterated_map.cuh>
#include <assay/workload/null_cast.cuh>
#include <assay/workload/null_cast_kernels.cuh>
#include <assay/workload/vector_add.cuh>
