// SPDX-License-Identifier: Apache-2.0
/// @file
/// `recorder_options`: what a recorder records, and how much memory it may take.
#pragma once

#include <assay/cupti/record_buffers.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace assay::trace {

/// How much of a graph launch is told. Its nodes cost as much as as many launches would; as a
/// whole it costs one record, and its kernels, copies and sets are not told then.
enum class graph_detail { nodes, launches };

/// Calls that only ask, by name without a version: they would make most of a trace's rows and
/// explain nothing.
inline std::vector<std::string> calls_that_only_ask() {
  return {"__cudaPopCallConfiguration",
          "__cudaPushCallConfiguration",
          "cudaDeviceGetAttribute",
          "cudaDriverGetVersion",
          "cudaFuncGetAttributes",
          "cudaGetDevice",
          "cudaGetDeviceCount",
          "cudaGetDeviceProperties",
          "cudaGetDriverEntryPoint",
          "cudaGetDriverEntryPointByVersion",
          "cudaGetErrorName",
          "cudaGetErrorString",
          "cudaGetLastError",
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
          "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
          "cudaPeekAtLastError",
          "cudaPointerGetAttributes",
          "cudaRuntimeGetVersion",
          "cudaSetDevice",
          "cudaStreamGetCaptureInfo",
          "cudaStreamIsCapturing",
          "cudaThreadExchangeStreamCaptureMode",
          "cuCtxGetCurrent",
          "cuCtxGetDevice",
          "cuCtxPopCurrent",
          "cuCtxPushCurrent",
          "cuCtxSetCurrent",
          "cuDeviceGet",
          "cuDeviceGetAttribute",
          "cuDeviceGetCount",
          "cuDevicePrimaryCtxGetState",
          "cuDriverGetVersion",
          "cuFuncGetAttribute",
          "cuGetErrorName",
          "cuGetErrorString",
          "cuGetExportTable",
          "cuGetProcAddress",
          "cuKernelGetFunction",
          "cuPointerGetAttribute",
          "cuPointerGetAttributes",
          "cuStreamGetCaptureInfo",
          "cuStreamIsCapturing",
          "cuThreadExchangeStreamCaptureMode"};
}

/// What a `recorder` records, and how much memory it may take.
struct recorder_options {
  bool kernels = true;
  bool copies = true;
  bool sets = true;
  bool runtime_calls = true;
  bool driver_calls = false;  ///< each launch through the runtime then has a second row
  bool synchronizations = true;
  bool memory = true;  ///< allocations, and what happens to the driver's pools
  bool overheads = true;
  bool ranges = true;  ///< assay's, and others' where the NVTX hook is in place
  graph_detail graphs = graph_detail::nodes;
  std::vector<std::string> ignored_calls = calls_that_only_ask();
  buffer_limits buffers = {};
  std::size_t most_rows = 20'000'000;  ///< of the trace; some 140 bytes for a kernel, 50 for a call
  std::size_t range_bytes = std::size_t{256} << 20U;  ///< some 72 bytes for a range
  /// How often records are asked for that did not yet fill a buffer; zero: only at the end.
  std::chrono::milliseconds flush_every{1000};
  bool operator==(recorder_options const&) const = default;
};

}  // namespace assay::trace
