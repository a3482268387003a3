// SPDX-License-Identifier: Apache-2.0
/// The number of GPUs that the benchmarks of all-reduce use.
#include "catch.hpp"
#include "support/ranks.hpp"

using namespace assay;

TEST_CASE("ASSAY_RANKS takes from 2 to all GPUs, and what it cannot be is named") {
  CHECK(benchmark::ranks_of(nullptr, 4) == 4);
  CHECK(benchmark::ranks_of("2", 4) == 2);
  CHECK(benchmark::ranks_of("4", 4) == 4);
  for (auto const* wrong : {"", "1", "5", "-2", "two", "2x", "99999999999999999999"}) {
    CHECK(test::message_of([&] { benchmark::ranks_of(wrong, 4); }) ==
          "ASSAY_RANKS=" + std::string{wrong} + ": a number from 2 to 4");
  }
}
