// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/measure/little.hpp>

using namespace assay::measure;

TEST_CASE("the rate is what is in flight by the latency, up to the limit", "[measure]") {
  little_terms const terms{500e-9, 1e-6, 4e12};
  CHECK(terms.bytes_needed() == Approx(2e6));
  CHECK(terms.predicted(1e6) == Approx(2e12));
  CHECK(terms.predicted(2e6) == Approx(4e12));
  CHECK(terms.predicted(9e6) == Approx(4e12));
  CHECK(terms.predicted_random(1e6) == Approx(1e12));
  CHECK(terms.predicted_random(9e6) == Approx(4e12));
}

TEST_CASE("what is in flight counts SMs, blocks, stages and tiles", "[measure]") {
  CHECK(bytes_in_flight(132, 1, 4, 16'384) == 132 * 65'536);
  CHECK(bytes_in_flight(8, 2, 1, 256 * 4 * 16) == 8 * 32'768);
}
