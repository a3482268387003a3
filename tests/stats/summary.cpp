// SPDX-License-Identifier: Apache-2.0
/// @file
/// Five numbers of a sample.
#include <assay/stats/summary.hpp>

#include <cmath>
#include <limits>

#include "catch.hpp"

using namespace assay::measure;

TEST_CASE("quantiles lie linearly between the sorted values") {
  auto const found = summarise({4, 1, 3, 2});
  CHECK(found.min == 1);
  CHECK(found.q1 == 1.75);
  CHECK(found.median == 2.5);
  CHECK(found.q3 == 3.25);
  CHECK(found.max == 4);
  CHECK(found.count == 4);
  CHECK(quantile({1, 2, 3}, 0) == 1);
  CHECK(quantile({1, 2, 3}, 1) == 3);
}

TEST_CASE("what is not finite is not counted, and nothing has no summary") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const found = summarise({nan, 7, std::numeric_limits<double>::infinity()});
  CHECK(found.count == 1);
  CHECK(found.median == 7);
  CHECK(std::isnan(summarise({nan}).median));
  CHECK(summarise({}).count == 0);
}
