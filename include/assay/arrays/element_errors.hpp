// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to expectation.hpp: the errors of an array's elements.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace assay::arrays::detail {

/// The wrong elements of an array, and the worst among all.
struct element_errors {
  std::size_t first = std::numeric_limits<std::size_t>::max(), count = 0;
  double error = -1;  ///< the largest; NaN where an element that is no number is wrong
  std::size_t worst = 0;
  double share = 0, of_share = 0;  ///< the largest share of a permitted error, and that error
  std::size_t at_share = 0;

  /// Notes an element, right or wrong.
  void add(std::size_t at, double by, double permitted, bool is_right) {
    if (is_right && !(by > share * permitted)) { return; }
    double const part = by / permitted;
    double const now = is_right   ? std::min(part, 1.0)
                       : part > 1 ? part
                                  : std::numeric_limits<double>::infinity();
    auto one = is_right ? element_errors{} : element_errors{at, 1, by, at};
    one.share = now;
    one.of_share = by;
    one.at_share = at;
    add(one);
  }
  void add(element_errors const& more) {
    bool const larger = std::isnan(more.error) ? !std::isnan(error) : more.error > error;
    bool const as_large = more.error == error || (std::isnan(more.error) && std::isnan(error));
    if (larger || (as_large && more.worst < worst)) {
      error = more.error;
      worst = more.worst;
    }
    if (more.share > share || (more.share == share && more.at_share < at_share)) {
      share = more.share;
      of_share = more.of_share;
      at_share = more.at_share;
    }
    first = std::min(first, more.first);
    count += more.count;
  }
};

}  // namespace assay::arrays::detail
