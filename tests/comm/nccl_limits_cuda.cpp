// SPDX-License-Identifier: Apache-2.0
// assay-uses: nccl
/// @file
/// A communicator that would never end its waits, or would end them at once, is refused.

#include "catch.hpp"

#include <assay/comm/nccl.hpp>
#include <assay/world/world.hpp>

#include <chrono>
#include <cmath>
#include <limits>

using namespace assay;
using assay::test::contains;

TEST_CASE("limits that end no wait, or each, are refused before a rank joins", "[comm]") {
  for (double const limit : {0.0, -1.0, double{NAN}, std::numeric_limits<double>::infinity()}) {
    auto const join = [&] {
      comm::nccl const made{world::alone(), on::device{0}, std::chrono::duration<double>{limit}};
    };
    CHECK_THAT(test::message_of(join), contains("the limit of a communicator is ") &&
                                           contains(" s: it must be above 0 and at most 1e6"));
  }
}
