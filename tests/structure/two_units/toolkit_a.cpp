// SPDX-License-Identifier: Apache-2.0
/// @file
/// One of two units that include all that needs no nvcc.
#include <assay/assay.hpp>
