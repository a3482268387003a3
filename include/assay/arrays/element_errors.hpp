// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to expectation.hpp: the errors of an array's elements.
#pragma once

#include <assay/arrays/agreement.hpp>
#include <assay/arrays/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

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
    note(at, by, permitted, is_right);
  }
  void note(std::size_t at, double by, double permitted, bool is_right) {
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
    if (is_worse(more.error, more.worst, error, worst)) {
      error = more.error;
      worst = more.worst;
    }
    if (more.share > share ||
        (more.share == share && is_worse(more.of_share, more.at_share, of_share, at_share))) {
      share = more.share;
      of_share = more.of_share;
      at_share = more.at_share;
    }
    first = std::min(first, more.first);
    count += more.count;
  }

  /// True for a larger error, or for the first one of those that are as large. NaN is the largest.
  static bool is_worse(double by, std::size_t at, double than, std::size_t than_at) {
    bool const larger = std::isnan(by) ? !std::isnan(than) : by > than;
    bool const as_large = by == than || (std::isnan(by) && std::isnan(than));
    return larger || (as_large && at < than_at);
  }

  /// "3 of 100 elements are wrong, the largest error is 8 at element 9"; `all` is "100".
  std::string in_words(std::string const& all) const {
    auto const begin = std::to_string(count) + " of " + all + " elements ";
    auto const by = in_text(error, 3);
    if (std::isnan(error)) {
      return begin + (count == 1 ? "is wrong"
                                 : "are wrong, the error at element " + std::to_string(worst) +
                                       " is no number");
    }
    if (count == 1) { return begin + "is wrong, by " + by; }
    return begin + "are wrong, the largest error is " + by + " at element " + std::to_string(worst);
  }
};

/// The error of a wrong element: "838 ulp, 105 times its bound". Beside 0 there are no units in the
/// last place, and a bound of the smallest numbers says nothing.
inline std::string error_in_words(worst_error const& of, bool is_floating) {
  constexpr double many = 1e6;
  if (std::isnan(of.error) || std::isnan(of.ulps)) { return "no number"; }
  if (std::isinf(of.error)) { return "infinite"; }
  if (is_floating && of.ulps == 0) {
    return in_text(of.error, 3) + " where 0 is expected" +
           (of.share > many ? "" : ", " + in_text(of.share, 3) + " times its bound");
  }
  return in_text(of.ulps, 3) + (is_floating ? " ulp, " : ", ") +
         (std::isinf(of.share) ? "where no error is permitted"
                               : in_text(of.share, 3) + " times its bound");
}

}  // namespace assay::arrays::detail
