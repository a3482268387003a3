// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to compare_variants.hpp: its definition, which brings the whole engine.
#pragma once

#include <assay/measure/compare_variants.hpp>
#include <assay/measure/run_right.hpp>

#include <vector>

namespace assay::measure {

ASSAY_INLINE comparison compare_variants(std::vector<variant> const& variants,
                                         std::vector<contrast> const& contrasts,
                                         options const& chosen) {
  return run_right(variants, contrasts, chosen);
}

}  // namespace assay::measure
