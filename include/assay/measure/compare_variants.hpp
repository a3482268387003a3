// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare_variants`: a comparison of variants of any kind.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>

#include <vector>

namespace assay::measure {

/// Measures variants and classifies contrasts of their times, as `run_right` by the real clock.
comparison compare_variants(std::vector<variant> const& variants,
                            std::vector<contrast> const& contrasts, options const& chosen = {});

}  // namespace assay::measure

#ifndef ASSAY_DECLARED
#include <assay/measure/compare_variants_definitions.hpp>
#endif
