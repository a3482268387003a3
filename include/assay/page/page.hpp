// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison as a page of HTML: one file that loads nothing, to be opened after a run.
#pragma once

#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace assay::report {

/// One comparison of a page. Both comparisons must outlive the call of `page`.
struct page_part {
  measure::comparison const& of;
  measure::comparison const* baseline = nullptr;  ///< a saved result to show beside it
};

/// The size that the part of one comparison stays below.
inline constexpr std::size_t page_limit = 1'000'000;

/// The page of one comparison or more. The part of each stays below `page_limit` bytes: where that
/// needs it, dots, rows and charts are left out, and the page says how many.
std::string page(std::vector<page_part> const& parts);

}  // namespace assay::report

#ifndef ASSAY_DECLARED
#include <assay/page/page_definitions.hpp>
#endif
