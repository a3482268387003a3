// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of reports, pages and analyses of traces, for programs that are compiled with
/// -DASSAY_COMPILED. Needs no toolkit.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/chrome/chrome_definitions.hpp>
#include <assay/nsys/reports_definitions.hpp>
#include <assay/page/page_definitions.hpp>
#include <assay/report/csv_definitions.hpp>
#include <assay/report/explanation_definitions.hpp>
#include <assay/report/junit_definitions.hpp>
#include <assay/report/markdown_definitions.hpp>
#include <assay/report/text_definitions.hpp>
#include <assay/report/trace_table_definitions.hpp>
#include <assay/report/traced_definitions.hpp>
#include <assay/trace/explanation_definitions.hpp>
