// SPDX-License-Identifier: Apache-2.0
/// @file
/// One of two units that include everything.
#include <assay/assay.cuh>
