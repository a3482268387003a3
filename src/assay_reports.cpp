// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of reports and pages, for programs that are compiled with -DASSAY_COMPILED. Needs
/// no toolkit.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/page/page_definitions.hpp>
#include <assay/referee/text_definitions.hpp>
#include <assay/report/csv_definitions.hpp>
#include <assay/report/explanation_definitions.hpp>
#include <assay/report/junit_definitions.hpp>
#include <assay/report/markdown_definitions.hpp>
#include <assay/report/text_definitions.hpp>
