// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cells are long enough to resolve and short enough to afford.
#include <assay/measure/cell_size.hpp>

#include <limits>

#include "catch.hpp"

using namespace assay::measure;

TEST_CASE("cells fill a millisecond, within their bounds") {
  CHECK(size_cells(1e-6, 1e-6, 1e-3) == cell_size{2, 200});
  CHECK(size_cells(20e-6, 20e-6, 1e-3) == cell_size{2, 50});
  CHECK(size_cells(0.15e-3, 0.15e-3, 1e-3) == cell_size{2, 7});
  CHECK(size_cells(0.199e-3, 0.199e-3, 0.5e-3) == cell_size{2, 5});
  CHECK(size_cells(0.19e-3, 0.19e-3, 1e-3) == cell_size{2, 6});
  CHECK(size_cells(0.19e-3, 0.19e-3, 1e-5) == cell_size{2, 5});
  CHECK(size_cells(0.2e-3, 0.2e-3, 1e-3) == cell_size{1, 5});
  CHECK(size_cells(0.3e-3, 0.3e-3, 1e-3) == cell_size{1, 4});
  CHECK(size_cells(0.49e-3, 0.49e-3, 1e-3) == cell_size{1, 3});
  CHECK(size_cells(0.5e-3, 0.5e-3, 1e-3) == cell_size{1, 1});
  CHECK(size_cells(1.9e-3, 1.9e-3, 1e-3) == cell_size{1, 1});
  CHECK(size_cells(2e-3, 2e-3, 1e-3) == cell_size{0, 1});
  CHECK(size_cells(12e-3, 12e-3, 1e-3) == cell_size{0, 1});
  CHECK(size_cells(0, 0, 1e-3) == cell_size{2, 200});  // a clock that cannot see a launch
}

TEST_CASE("a slow variant limits the launches of a cell") {
  CHECK(size_cells(10e-6, 1e-3, 1e-3) == cell_size{2, 10});
  CHECK(size_cells(10e-6, 20e-3, 1e-3) == cell_size{2, 1});
}

TEST_CASE("a verdict on a 1 ms batch from 8 epochs costs less than 1.1 s with its control") {
  auto const [wash_out, launches] = size_cells(1e-3, 1e-3, 1e-3);
  double const cells = 3 * 4;         // one block; the first two epochs have two
  double const settling = 3 * 2 * 2;  // subjects, buffer sets, launches
  double const warm_up = 0.25;
  double const building = 8 * 0.06;  // pools, inputs and verification, as measured on an H200
  CHECK((10 * cells * (wash_out + launches) + 8 * settling) * 1e-3 + warm_up + building < 1.1);
}

TEST_CASE("cells of no length are refused") {
  CHECK_THROWS_WITH(size_cells(1e-3, 1e-3, 0), assay::test::contains("cell_seconds"));
  CHECK_THROWS_WITH(size_cells(1e-3, 1e-3, -1), assay::test::contains("-1"));
  CHECK_THROWS(size_cells(1e-3, 1e-3, std::numeric_limits<double>::infinity()));
}

TEST_CASE("the longest clock of a cell ignores clocks that are not finite") {
  cell measured;
  CHECK(longest_clock(measured) == 0);
  measured[clock::gpu] = 2;
  measured[clock::submit] = 1;
  CHECK(longest_clock(measured) == 2);
}
