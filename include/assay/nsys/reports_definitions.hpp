// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to reports.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/reports_cuda.hpp>
#include <assay/nsys/reports_launch.hpp>
#include <assay/nsys/reports_nvtx.hpp>
#include <assay/nsys/reports_timeline.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay::trace {

ASSAY_INLINE std::span<report const> reports() {
  static constexpr std::array all{
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
  return all;
}

ASSAY_INLINE std::span<report const> own_reports() {
  static constexpr std::array all{
      report{"top_kernels", [](view const& rows) { return top_kernels(rows); }},
      report{"class_shares", [](view const& rows) { return class_shares(rows); }},
      report{"gpu_time_sum", &gpu_time_sum},
      report{"stream_gap_sum", &stream_gap_sum},
      report{"overlap_sum", &overlap_sum},
      report{"concurrency_sum", &concurrency_sum},
      report{"launch_sum", &launch_sum},
  };
  return all;
}

ASSAY_INLINE std::vector<std::string_view> default_reports() {
  constexpr std::size_t printed_by_nsys = 9;  // among `reports`
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < printed_by_nsys; ++i) { names.push_back(reports()[i].name); }
  for (auto const& each : own_reports()) { names.push_back(each.name); }
  return names;
}

ASSAY_INLINE table make_report(std::string_view name, view const& rows) {
  std::string known;
  auto const* found = static_cast<report const*>(nullptr);
  auto const look = [&](auto const& those) {
    for (auto const& each : those) {
      if (each.name == name) { found = &each; }
      known += (known.empty() ? "" : ", ") + std::string{each.name};
    }
  };
  look(reports());
  look(own_reports());
  if (found != nullptr) { return found->make(rows); }
  throw std::invalid_argument(concat({"no report is called '", name, "'; there are ", known}));
}

}  // namespace assay::trace
