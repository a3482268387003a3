// SPDX-License-Identifier: Apache-2.0
/// @file
/// The program `trace_stats`, for programs that are compiled with -DASSAY_COMPILED. Needs CLI11,
/// nlohmann_json and SQLite 3.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/cli/trace_stats_definitions.hpp>
