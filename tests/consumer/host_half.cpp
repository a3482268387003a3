// SPDX-License-Identifier: Apache-2.0
/// @file
/// Includes all of the host half.
#include <assay/no_cuda.hpp>
