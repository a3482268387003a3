// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of the doors for programs that are compiled with -DASSAY_COMPILED. Needs no
/// toolkit; what needs nvcc is in assay.cu.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/arrays/setup_definitions.hpp>
#include <assay/chrome/chrome_definitions.hpp>
#include <assay/compare_definitions.hpp>
#include <assay/measure/axes_definitions.hpp>
#include <assay/measure/callables_definitions.hpp>
#include <assay/measure/compare_variants_definitions.hpp>
#include <assay/measure/comparison_definitions.hpp>
#include <assay/measure/environment_watch_definitions.hpp>
#include <assay/measure/experiment_definitions.hpp>
#include <assay/nsys/reports_definitions.hpp>
#include <assay/page/page_definitions.hpp>
#include <assay/race/race_definitions.hpp>
#include <assay/race/result_definitions.hpp>
#include <assay/report/csv_definitions.hpp>
#include <assay/report/explanation_definitions.hpp>
#include <assay/report/junit_definitions.hpp>
#include <assay/report/markdown_definitions.hpp>
#include <assay/report/short_text_definitions.hpp>
#include <assay/report/text_definitions.hpp>
#include <assay/report/trace_table_definitions.hpp>
#include <assay/report/traced_definitions.hpp>
#include <assay/serve/serve_definitions.hpp>
#include <assay/trace/explanation_definitions.hpp>
