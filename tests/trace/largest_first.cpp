// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/trace/largest_first.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace assay;

TEST_CASE("rows come by falling size, and rows of equal size keep their order") {
  std::vector<std::pair<std::string, int>> rows{{"a", 1}, {"b", 3}, {"c", 1},
                                                {"d", 3}, {"e", 2}, {"f", 1}};
  trace::largest_first(rows, [](auto const& row) { return row.second; });
  std::string names;
  for (auto const& row : rows) { names += row.first; }
  CHECK(names == "bdeacf");
  rows.clear();
  trace::largest_first(rows, [](auto const& row) { return row.second; });
  CHECK(rows.empty());
}
