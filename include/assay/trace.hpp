// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of the trace that needs no CUDA toolkit and no optional package; the rest is included
/// by its name.
#pragma once

#include <assay/chrome/chrome.hpp>
#include <assay/chrome/json_text.hpp>
#include <assay/chrome/labels.hpp>
#include <assay/chrome/tracks.hpp>
#include <assay/cupti/record_buffers.hpp>
#include <assay/cupti/recorder_options.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/nsys/columns.hpp>
#include <assay/nsys/reports.hpp>
#include <assay/nsys/reports_cuda.hpp>
#include <assay/nsys/reports_launch.hpp>
#include <assay/nsys/reports_nvtx.hpp>
#include <assay/nsys/reports_timeline.hpp>
#include <assay/nsys/reports_trace.hpp>
#include <assay/nsys/schema.hpp>
#include <assay/report/counters.hpp>
#include <assay/report/explanation.hpp>
#include <assay/report/trace_table.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/report/traced.hpp>
#include <assay/trace/change.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/glob.hpp>
#include <assay/trace/gpu_operation.hpp>
#include <assay/trace/host_wait_breakdown.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/intervals.hpp>
#include <assay/trace/kernel_causes.hpp>
#include <assay/trace/labels.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/overlap_reasons.hpp>
#include <assay/trace/ranges.hpp>
#include <assay/trace/roofline.hpp>
#include <assay/trace/strings.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/time_breakdown.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>
