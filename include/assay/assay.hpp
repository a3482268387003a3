// SPDX-License-Identifier: Apache-2.0
/// @file
/// All headers that need no nvcc: those of host.hpp, and those that need the toolkit's
/// headers and runtime.
#pragma once

#include <assay/host.hpp>
#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/core/error.hpp>
#include <assay/core/stream.hpp>
#include <assay/measure/device_ceilings.hpp>
#include <assay/measure/device_environment.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/cuda.hpp>
#include <assay/memory/fill_cuda.hpp>
#include <assay/memory/legacy_async.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/mapped_range.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/memory/pool.hpp>
#include <assay/memory/pool_backend.hpp>
#include <assay/submit/graph.hpp>
