// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to comparison.hpp: the definition of `<<`.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/short_text.hpp>

#include <ostream>

namespace assay::measure {

ASSAY_INLINE std::ostream& operator<<(std::ostream& out, comparison const& all) {
  return out << report::short_text(all);
}

}  // namespace assay::measure
