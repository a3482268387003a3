// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of comparisons, races, arrays, dispatch and the referee, for programs that are
/// compiled with -DASSAY_COMPILED. Needs no toolkit; what needs nvcc is in assay.cu.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/arrays/setup_definitions.hpp>
#include <assay/callables/callable_definitions.hpp>
#include <assay/compare_definitions.hpp>
#include <assay/core/nvtx_range_definitions.hpp>
#include <assay/dispatch/costs_definitions.hpp>
#include <assay/dispatch/engine_definitions.hpp>
#include <assay/dispatch/file_definitions.hpp>
#include <assay/dispatch/sampling_definitions.hpp>
#include <assay/dispatch/task_bench_definitions.hpp>
#include <assay/dispatch/timed_calls_definitions.hpp>
#include <assay/host/parallel_for_definitions.hpp>
#include <assay/measure/axes_definitions.hpp>
#include <assay/measure/callables_definitions.hpp>
#include <assay/measure/compare_variants_definitions.hpp>
#include <assay/measure/comparison_definitions.hpp>
#include <assay/measure/experiment_definitions.hpp>
#include <assay/measure/options_definitions.hpp>
#include <assay/race/race_definitions.hpp>
#include <assay/race/result_definitions.hpp>
#include <assay/referee/run_referee_definitions.hpp>
#include <assay/referee/serve_problem_definitions.hpp>
#include <assay/report/short_text_definitions.hpp>
#include <assay/serve/serve_definitions.hpp>
#include <assay/submit/batch_definitions.hpp>
#include <assay/submit/thread_team_definitions.hpp>
#include <assay/submit/threaded_definitions.hpp>
#include <assay/verify_definitions.hpp>
#include <assay/workload/array_workload_definitions.hpp>
