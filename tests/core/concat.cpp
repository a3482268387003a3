// SPDX-License-Identifier: Apache-2.0
#include <assay/core/concat.hpp>

#include "catch.hpp"

TEST_CASE("texts of all kinds become one, in their order") {
  std::string const name = "pool";
  CHECK(assay::concat({"\"", name, "\" takes ", std::to_string(3), " ns"}) == "\"pool\" takes 3 ns");
  CHECK(assay::concat({}).empty());
  CHECK(assay::concat({"", name, ""}) == "pool");
}
