// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/arrays/agreement.hpp>
#include <assay/workload/null_cast.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace assay;

TEST_CASE("the reference of null_cast, written out", "[reference]") {
  std::uint8_t const mask[] = {0b0000'0101, 0b0000'0010};
  std::int32_t const ints[] = {7, 8, std::numeric_limits<std::int32_t>::min(), 9, 1, 1, 1, 1, 5, 6};
  std::vector<double> out(10, -1);
  workloads::null_cast_reference(ints, mask, 0, 10, out.data());
  CHECK(out == std::vector<double>{7, 0, -2147483648.0, 0, 0, 0, 0, 0, 0, 6});

  workloads::null_cast_reference(ints, static_cast<std::uint8_t const*>(nullptr), 3, 10,
                                 out.data());
  CHECK(out == std::vector<double>{9, 1, 1, 1, 1, 5, 6, 0, 0, 6});
}

TEST_CASE("the reference rounds int64 to nearest even", "[reference]") {
  auto const big = std::int64_t{1} << 53;
  std::int64_t const values[] = {big + 1, big + 3, std::numeric_limits<std::int64_t>::max(),
                                 -big - 1};
  double out[4];
  workloads::null_cast_reference(values, static_cast<std::uint8_t const*>(nullptr), 0, 4, out);
  CHECK(out[0] == 0x1p53);
  CHECK(out[1] == 0x1p53 + 4);
  CHECK(out[2] == 0x1p63);
  CHECK(out[3] == -0x1p53);
}

TEST_CASE("results are the same by their bits, but for NaN", "[reference]") {
  auto const nan = std::nan("");
  CHECK(arrays::detail::same_result(1.5, 1.5));
  CHECK_FALSE(arrays::detail::same_result(0.0, -0.0));
  CHECK_FALSE(arrays::detail::same_result(1.0, std::nextafter(1.0, 2.0)));
  CHECK(arrays::detail::same_result(nan, -std::nan("7")));
  CHECK_FALSE(arrays::detail::same_result(nan, 0.0));
  CHECK_FALSE(arrays::detail::same_result(0.0, nan));
}
