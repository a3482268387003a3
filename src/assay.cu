// SPDX-License-Identifier: Apache-2.0
/// @file
/// The definitions of doors that launch kernels, for programs that are compiled with
/// -DASSAY_COMPILED.
#ifndef ASSAY_COMPILED
#define ASSAY_COMPILED
#endif

#include <assay/compare_definitions.cuh>
