// SPDX-License-Identifier: Apache-2.0
/// @file
/// A unit that includes all that needs no nvcc.
#include <assay/assay.hpp>
