// SPDX-License-Identifier: Apache-2.0
/// @file
/// A unit that includes all of the host half and of the trace.
#include <assay/no_cuda.hpp>
#include <assay/trace.hpp>
