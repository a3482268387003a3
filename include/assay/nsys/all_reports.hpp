// SPDX-License-Identifier: Apache-2.0
/// @file
/// All reports as functions: the reports of `nsys stats`, and our own.
#pragma once

#include <assay/nsys/reports_cuda.hpp>
#include <assay/nsys/reports_launch.hpp>
#include <assay/nsys/reports_nvtx.hpp>
#include <assay/nsys/reports_timeline.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <array>
#include <string_view>

namespace assay::trace {

/// A report: its name, and the function that makes it of some rows of a trace.
struct report {
  std::string_view name;
  table (*make)(view const&);
};

/// Every report of `nsys stats` that there is, in the order in which `nsys stats` prints them;
/// those that have a row for each event come last.
inline constexpr std::array reports{
    report{"nvtx_sum", &nvtx_sum},
    report{"osrt_sum", &osrt_sum},
    report{"cuda_api_sum", &cuda_api_sum},
    report{"cuda_gpu_kern_sum", &cuda_gpu_kern_sum},
    report{"cuda_gpu_mem_time_sum", &cuda_gpu_mem_time_sum},
    report{"cuda_gpu_mem_size_sum", &cuda_gpu_mem_size_sum},
    report{"um_sum", [](view const& rows) { return um_sum(rows); }},
    report{"um_total_sum", &um_total_sum},
    report{"um_cpu_page_faults_sum", &um_cpu_page_faults_sum},
    report{"nvtx_kern_sum", &nvtx_kern_sum},
    report{"nvtx_gpu_proj_sum", &nvtx_gpu_proj_sum},
    report{"cuda_kern_exec_sum", &cuda_kern_exec_sum},
    report{"cuda_gpu_sum", &cuda_gpu_sum},
    report{"cuda_api_gpu_sum", &cuda_api_gpu_sum},
    report{"nvtx_pushpop_trace", &nvtx_pushpop_trace},
    report{"nvtx_gpu_proj_trace", &nvtx_gpu_proj_trace},
    report{"cuda_kern_exec_trace", &cuda_kern_exec_trace},
    report{"cuda_gpu_trace", &cuda_gpu_trace},
};

/// The reports that `nsys stats` has not.
inline constexpr std::array own_reports{
    report{"top_kernels", [](view const& rows) { return top_kernels(rows); }},
    report{"class_shares", [](view const& rows) { return class_shares(rows); }},
    report{"gpu_time_sum", &gpu_time_sum},
    report{"stream_gap_sum", &stream_gap_sum},
    report{"overlap_sum", &overlap_sum},
    report{"concurrency_sum", &concurrency_sum},
    report{"launch_sum", &launch_sum},
};

}  // namespace assay::trace
