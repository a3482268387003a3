// SPDX-License-Identifier: Apache-2.0
#include "copy_strategies/littles_law.hpp"
#include "catch.hpp"

#include <string>

using namespace assay::examples;

namespace {

std::string bound(little_rate const& of) { return std::string{to_string(of.by)}; }

}  // namespace

TEST_CASE("the rate is the least of what latency, SMs and memory allow", "[machine]") {
  little_terms const terms{500e-9, 1e-6, 4e12, 1e11};
  CHECK(terms.bytes_needed() == Approx(2e6));
  CHECK(terms.sm_bytes_needed() == Approx(5e4));

  // 10 KB on each of 100 SMs, which could take in 1e13.
  CHECK(terms.predicted(1e6, 100).bytes_per_second == Approx(2e12));
  CHECK(bound(terms.predicted(1e6, 100)) == "latency");
  CHECK(terms.predicted(9e6, 100).bytes_per_second == Approx(4e12));
  CHECK(bound(terms.predicted(9e6, 100)) == "memory");
  // 100 KB on each of 4 SMs is twice the demand of their full rate.
  CHECK(terms.predicted(4e5, 4).bytes_per_second == Approx(4e11));
  CHECK(bound(terms.predicted(4e5, 4)) == "SM");
  CHECK(terms.predicted(9e6, 4).bytes_per_second == Approx(4e11));
  CHECK(terms.predicted(1e5, 4).bytes_per_second == Approx(2e11));
  CHECK(bound(terms.predicted(1e5, 4)) == "latency");

  CHECK(terms.predicted_random(1e6, 100).bytes_per_second == Approx(1e12));
  CHECK(terms.predicted_random(9e6, 100).bytes_per_second == Approx(4e12));
  CHECK(bound(terms.predicted_random(6e5, 4)) == "SM");
}

TEST_CASE("bytes in flight = SMs x blocks x stages x bytes of a tile", "[machine]") {
  CHECK(bytes_in_flight(132, 1, 4, 16'384) == 132 * 65'536);
  CHECK(bytes_in_flight(8, 2, 1, 256 * 4 * 16) == 8 * 32'768);
}
