// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cells are long enough to resolve and short enough to afford.
#include <assay/measure/procedure.hpp>

#include <limits>

#include "catch.hpp"

using namespace assay::measure;

TEST_CASE("cells fill a millisecond, and an epoch has 16 launches of each variant") {
  auto const equal = [](double seconds) { return launches_per_cell(seconds, seconds, 1e-3); };
  CHECK(equal(1e-6) == 200);
  CHECK(equal(20e-6) == 50);
  CHECK(equal(0.15e-3) == 7);
  CHECK(equal(0.19e-3) == 6);
  CHECK(launches_per_cell(0.199e-3, 0.199e-3, 0.5e-3) == 5);
  CHECK(launches_per_cell(0.19e-3, 0.19e-3, 1e-5) == 5);
  CHECK(equal(0.2e-3) == 5);
  for (double const seconds : {0.25e-3, 0.49e-3, 0.5e-3, 1.9e-3, 2e-3, 12e-3, 20e-3}) {
    CHECK(equal(seconds) == 4);
  }
  CHECK(equal(20.1e-3) == 1);
  CHECK(equal(1) == 1);
  CHECK(equal(0) == 200);  // a clock that cannot see a launch
  CHECK(launches_per_cell(0, 0, 1e-3, 1'000'000) == 1'000'000);
}

TEST_CASE("a slow variant limits the launches of a cell") {
  CHECK(launches_per_cell(10e-6, 1e-3, 1e-3) == 10);
  CHECK(launches_per_cell(10e-6, 15e-3, 1e-3) == 5);
  CHECK(launches_per_cell(0.3e-3, 20e-3, 1e-3) == 4);
  CHECK(launches_per_cell(10e-6, 21e-3, 1e-3) == 1);
  // Where something precedes each launch, a cell takes longer than its launches.
  CHECK(launches_per_cell(10e-6, 10e-6, 1e-3, 200, 1e-3) == 10);
  CHECK(launches_per_cell(10e-6, 10e-6, 1e-3, 200, 1) == 5);
}

TEST_CASE("a verdict on a 1 ms batch from 8 epochs costs less than 2 s with its control") {
  double const cells = 3 * 4;         // one block; the first two epochs have two
  double const settling = 3 * 2 * 2;  // subjects, buffer sets, launches
  double const warm_up = 0.25;
  double const building = 8 * 0.06;  // pools, inputs and verification, as measured on an H200
  double const launches = 3 + launches_per_cell(1e-3, 1e-3, 1e-3);  // 3 untimed ones on average
  CHECK((10 * cells * launches + 8 * settling) * 1e-3 + warm_up + building < 2);
}

TEST_CASE("cells of no length are refused") {
  CHECK_THROWS_WITH(launches_per_cell(1e-3, 1e-3, 0), assay::test::contains("cell_seconds"));
  CHECK_THROWS_WITH(launches_per_cell(1e-3, 1e-3, -1), assay::test::contains("-1"));
  CHECK_THROWS(launches_per_cell(1e-3, 1e-3, std::numeric_limits<double>::infinity()));
}

TEST_CASE("the longest clock of a cell ignores clocks that are not finite") {
  cell measured;
  CHECK(longest_clock(measured) == 0);
  measured[clock::gpu] = 2;
  measured[clock::submit] = 1;
  CHECK(longest_clock(measured) == 2);
}
