// SPDX-License-Identifier: Apache-2.0
#include <assay/core/distinct.hpp>

#include "catch.hpp"

TEST_CASE("a text is added once, in the order in which texts came") {
  std::vector<std::string> all;
  CHECK(assay::add_distinct(all, "pool"));
  CHECK(assay::add_distinct(all, ""));
  CHECK(assay::add_distinct(all, "async"));
  CHECK_FALSE(assay::add_distinct(all, "pool"));
  CHECK_FALSE(assay::add_distinct(all, ""));
  CHECK(all == std::vector<std::string>{"pool", "", "async"});
}
