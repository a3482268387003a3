// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of explanations, for programs that are compiled with -DASSAY_COMPILED. Needs the
/// CUDA toolkit with CUPTI.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/cupti/explain_definitions.hpp>
