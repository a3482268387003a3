// SPDX-License-Identifier: Apache-2.0
/// @file
/// A candidate of a version that is not there yet.
#include <assay/referee/candidate.h>

extern "C" int const assay_candidate_version = 2;
