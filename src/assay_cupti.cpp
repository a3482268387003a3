// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of explanations and of traces by CUPTI, for programs that are compiled with
/// -DASSAY_COMPILED. Needs the
/// CUDA toolkit with CUPTI.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/cli/cupti_tracing_definitions.hpp>
#include <assay/cupti/explain_definitions.hpp>
