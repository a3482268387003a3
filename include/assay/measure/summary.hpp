// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five-number summaries.
#pragma once

#include <assay/measure/comparison.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace assay::measure {

/// The quantile `share` of sorted values, linear between them (type 7 of Hyndman and Fan, 1996);
/// NaN without values.
inline double quantile(std::vector<double> const& sorted, double share) {
  if (sorted.empty()) { return std::numeric_limits<double>::quiet_NaN(); }
  double const at = share * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(at);
  auto const above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Summarises the finite values of a sample; infinities and NaNs are not counted.
inline summary summarise(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  std::sort(values.begin(), values.end());
  if (values.empty()) { return {}; }
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75),
          values.front(),        values.back(),          values.size()};
}

}  // namespace assay::measure
