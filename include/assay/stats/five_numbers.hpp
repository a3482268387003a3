// SPDX-License-Identifier: Apache-2.0
/// @file
/// `summary`, five numbers of a sample, and `interval`, a location with its bounds.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstddef>
#include <limits>

namespace assay::stats {

/// Five numbers of a sample, and the number of its values.
struct summary {
  double median = std::numeric_limits<double>::quiet_NaN();
  double q1 = std::numeric_limits<double>::quiet_NaN();
  double q3 = std::numeric_limits<double>::quiet_NaN();
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  std::size_t count = 0;
};

/// A location and its interval, on the scale of the values.
struct interval {
  double low = -std::numeric_limits<double>::infinity();
  double estimate = 0;
  double high = std::numeric_limits<double>::infinity();

  bool excludes(double value) const noexcept { return low > value || high < value; }
  bool inside(double bound) const noexcept { return low > -bound && high < bound; }
  double half_width() const noexcept { return 0.5 * (high - low); }
};

}  // namespace assay::stats
