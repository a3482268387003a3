// SPDX-License-Identifier: Apache-2.0
/// @file
/// A unit that includes everything but the trace.
#include <assay/assay.cuh>
