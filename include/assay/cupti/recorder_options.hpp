// SPDX-License-Identifier: Apache-2.0
/// @file
/// `recorder_options`: what a recorder records, and how much memory it may take.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>

namespace assay::trace {

/// Calls that only query a state, by name without a version. They are not recorded: these calls
/// would fill most of a trace and explain nothing.
inline constexpr char const* query_calls =
    "__cudaPopCallConfiguration|__cudaPushCallConfiguration|cudaDeviceGetAttribute|"
    "cudaDriverGetVersion|cudaFuncGetAttributes|cudaGetDevice|cudaGetDeviceCount|"
    "cudaGetDeviceProperties|cudaGetDriverEntryPoint|cudaGetDriverEntryPointByVersion|"
    "cudaGetErrorName|cudaGetErrorString|cudaGetLastError|"
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor|"
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags|cudaPeekAtLastError|"
    "cudaPointerGetAttributes|cudaRuntimeGetVersion|cudaSetDevice|cudaStreamGetCaptureInfo|"
    "cudaStreamIsCapturing|cudaThreadExchangeStreamCaptureMode|cuCtxGetCurrent|cuCtxGetDevice|"
    "cuCtxPopCurrent|cuCtxPushCurrent|cuCtxSetCurrent|cuDeviceGet|cuDeviceGetAttribute|"
    "cuDeviceGetCount|cuDevicePrimaryCtxGetState|cuDriverGetVersion|cuFuncGetAttribute|"
    "cuGetErrorName|cuGetErrorString|cuGetExportTable|cuGetProcAddress|cuKernelGetFunction|"
    "cuPointerGetAttribute|cuPointerGetAttributes|cuStreamGetCaptureInfo|cuStreamIsCapturing|"
    "cuThreadExchangeStreamCaptureMode";

/// The rows that a `recorder` records, and the limits of its memory.
struct recorder_options {
  bool kernels = true;
  bool copies = true;
  bool memsets = true;
  bool runtime_calls = true;
  bool driver_calls = false;  ///< each launch through the runtime then has a second row
  bool synchronizations = true;
  bool memory = true;  ///< allocations and releases
  bool overheads = true;
  bool ranges = true;                  ///< assay's, and others' where the NVTX hook is in place
  std::size_t most_rows = 20'000'000;  ///< a kernel takes some 140 bytes, a call 50
  std::size_t range_bytes = std::size_t{256} << 20U;  ///< a range takes some 72 bytes
  bool operator==(recorder_options const&) const = default;
};

}  // namespace assay::trace
