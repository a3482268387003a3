// SPDX-License-Identifier: Apache-2.0
/// @file
/// `summary`: five numbers of a sample.
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

}  // namespace assay::stats
