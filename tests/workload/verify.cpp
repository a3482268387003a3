// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/workload/verify.hpp>

#include <vector>

using namespace assay;

namespace {

/// What first_wrong finds when these rows alone are wrong.
std::int64_t found(std::int64_t count, std::vector<std::int64_t> const& wrong_rows) {
  return workloads::first_wrong(count, [&](std::int64_t begin, std::int64_t end) {
    auto lowest = end;
    for (auto const row : wrong_rows) {
      if (row >= begin && row < lowest) { lowest = row; }
    }
    return lowest;
  });
}

}  // namespace

TEST_CASE("any one wrong row is found, round the ends of every step and part", "[workload]") {
  constexpr std::int64_t grain = std::int64_t{1} << 17;
  for (std::int64_t const count : {std::int64_t{1}, std::int64_t{5000}, 3 * grain + 77}) {
    CHECK(found(count, {}) == count);
    for (std::int64_t edge = 0; edge <= count; edge += workloads::verify_step) {
      for (auto const row : {edge - 1, edge, edge + 1}) {
        if (row >= 0 && row < count) { REQUIRE(found(count, {row}) == row); }
      }
    }
    CHECK(found(count, {count - 1}) == count - 1);
  }
  CHECK(found(0, {}) == 0);
}

TEST_CASE("of several wrong rows the lowest is named", "[workload]") {
  constexpr std::int64_t count = std::int64_t{1} << 19;
  CHECK(found(count, {count - 1, 4097, 4096, 100'000}) == 4096);
  CHECK(found(count, {count - 1, count / 2, count / 4 * 3}) == count / 2);
}

TEST_CASE("a wrong row is named with its lane", "[workload]") {
  CHECK(workloads::wrong_row(2, 17, "got 1, expected 2") == "lane 2, row 17: got 1, expected 2");
}
