// SPDX-License-Identifier: Apache-2.0
/// @file
/// All headers that need no nvcc: those of no_cuda.hpp, and those that need the toolkit's
/// headers and runtime; but those of the trace.
#pragma once

#include <assay/no_cuda.hpp>
#include <assay/comm/peers.hpp>
#include <assay/comm/protocol.hpp>
#include <assay/comm/tuning.hpp>
#include <assay/comm/workspace.hpp>
#include <assay/core/cccl.hpp>
#include <assay/core/device.hpp>
#include <assay/core/driver_call.hpp>
#include <assay/core/error.hpp>
#include <assay/core/memory_type_cuda.hpp>
#include <assay/core/owned_memory.hpp>
#include <assay/core/stream.hpp>
#include <assay/dispatch/device.hpp>
#include <assay/machine/device_ceilings.hpp>
#include <assay/machine/device_environment.hpp>
#include <assay/machine/memory_scrub.hpp>
#include <assay/measure/device_watch.hpp>
#include <assay/memory/async.hpp>
#include <assay/memory/cccl_3_0.hpp>
#include <assay/memory/cuda_malloc.hpp>
#include <assay/memory/managed.hpp>
#include <assay/memory/pinned.hpp>
#include <assay/pool/mapped_range.hpp>
#include <assay/pool/pool.hpp>
#include <assay/pool/pool_backend.hpp>
#include <assay/submit/graph.hpp>
#include <assay/transfer/cuda_link.hpp>
#include <assay/transfer/mapped.hpp>
#include <assay/transfer/overlapped.hpp>
#include <assay/transfer/pageable.hpp>
#include <assay/transfer/pinned.hpp>
#include <assay/transfer/staged.hpp>
