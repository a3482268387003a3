// SPDX-License-Identifier: Apache-2.0
/// @file
/// Environment variables that are set for a scope are restored after it.

#include "catch.hpp"

#include <assay/comm/environment.hpp>

#include <cstdlib>
#include <optional>
#include <string>

using namespace assay::comm;
using assay::test::contains;

TEST_CASE("a variable is set for a scope, and then as it was", "[comm]") {
  constexpr char const* name = "ASSAY_TEST_SCOPED";
  REQUIRE(unsetenv(name) == 0);
  {
    detail::scoped_variable const set{name, "one"};
    CHECK(environment_variable(name) == "one");
    {
      detail::scoped_variable const inner{name, "two"};
      CHECK(environment_variable(name) == "two");
      detail::scoped_variable const nothing{name, std::nullopt};
      CHECK(environment_variable(name) == "two");
    }
    CHECK(environment_variable(name) == "one");
  }
  CHECK(std::getenv(name) == nullptr);
  REQUIRE(setenv(name, "", 1) == 0);
  { detail::scoped_variable const set{name, "one"}; }
  CHECK(std::getenv(name) != nullptr);  // set, and empty, as before
  REQUIRE(unsetenv(name) == 0);
}

TEST_CASE("NCCL's multicast is off while communicators are made, and the variable not left behind",
          "[comm]") {
  constexpr char const* name = detail::without_multicast::name;
  REQUIRE(unsetenv(name) == 0);
  {
    detail::without_multicast const off;
    CHECK(environment_variable(name) == "0");
  }
  CHECK(std::getenv(name) == nullptr);
  REQUIRE(setenv(name, "0", 1) == 0);
  { detail::without_multicast const off; }
  CHECK(environment_variable(name) == "0");
  REQUIRE(setenv(name, "1", 1) == 0);
  CHECK_THROWS_WITH(detail::without_multicast{},
                    contains("NCCL_NVLS_ENABLE=1") && contains("unset it or set 0"));
  CHECK(environment_variable(name) == "1");
  REQUIRE(unsetenv(name) == 0);
}
