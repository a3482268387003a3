// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of analyses of traces and of their tables, for programs that are compiled with
/// -DASSAY_COMPILED. Needs no toolkit.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/chrome/chrome_definitions.hpp>
#include <assay/nsys/reports_definitions.hpp>
#include <assay/report/trace_table_definitions.hpp>
#include <assay/report/traced_definitions.hpp>
#include <assay/trace/explanation_definitions.hpp>
