// SPDX-License-Identifier: Apache-2.0
#include "nn/expect_within.hpp"
#include "arrays/on_host.hpp"
#include "catch.hpp"

#include <cmath>

using namespace assay;
using test::contains;

TEST_CASE("a result beyond its bound is seen, and so is NaN", "[nn]") {
  auto const verified = [](auto first, auto second, double wanted, double allowed) {
    auto make = test::on_host(1);
    auto const found = make.output<decltype(first)>(2);
    test::expect_within(make, found, {1, wanted}, {1, allowed});
    found.data()[0] = first;
    found.data()[1] = second;
    return make.verify().value_or("right");
  };
  CHECK(verified(1.0F, 2.0F, 2.5, 0.5) == "right");
  CHECK_THAT(verified(1.0F, 2.0F, 2.5, 0.49), contains("element 1 of array 0 is 2, expected 2.5"));
  CHECK_THAT(verified(1.0F, NAN, 2, 1), contains("element 1 of array 0 is nan"));
  bfloat16 const one{1.0F};  // half the distance to the next number is 2^-8 = 0.00390625
  CHECK(verified(one, one, 1.00392, 0) == "right");
  CHECK_THAT(verified(one, one, 1.00393, 0), contains("element 1 of array 0 is 1, expected 1.0"));
}
