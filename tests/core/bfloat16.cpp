// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <assay/core/bfloat16.hpp>

#include <cmath>
#include <limits>

using namespace assay;

TEST_CASE("bfloat16 rounds to nearest, ties to even", "[core]") {
  CHECK(bfloat16{1.0F}.bits == 0x3F80);
  CHECK(bfloat16{-2.0F}.bits == 0xC000);
  CHECK(bfloat16{1.0F + 0x1p-8F}.bits == 0x3F80);            // a tie, to even below
  CHECK(bfloat16{1.0F + 0x1p-7F + 0x1p-8F}.bits == 0x3F82);  // a tie, to even above
  CHECK(bfloat16{1.0F + 0x1p-8F + 0x1p-20F}.bits == 0x3F81);
  CHECK(bfloat16{std::numeric_limits<float>::max()}.bits == 0x7F80);
  CHECK(bfloat16{std::numeric_limits<float>::infinity()}.bits == 0x7F80);
  CHECK(std::isnan(static_cast<float>(bfloat16{std::nanf("1")})));
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    bfloat16 each;
    each.bits = static_cast<std::uint16_t>(bits);
    auto const value = static_cast<float>(each);
    if (!std::isnan(value)) { REQUIRE(bfloat16{value}.bits == bits); }
  }
}

TEST_CASE("a double is rounded to bfloat16 once", "[core]") {
  // Through float this would become a tie, and go down.
  double const above_tie = 1.0 + 0x1p-8 + 0x1p-40;
  CHECK(bfloat16{static_cast<float>(above_tie)}.bits == 0x3F80);
  CHECK(to_bfloat16(above_tie).bits == 0x3F81);
  CHECK(to_bfloat16(-above_tie).bits == 0xBF81);
  double const below_tie = 1.0 + 0x1p-7 + 0x1p-8 - 0x1p-40;
  CHECK(to_bfloat16(below_tie).bits == 0x3F81);
  CHECK(to_bfloat16(-below_tie).bits == 0xBF81);
  CHECK(to_bfloat16(1.0 + 0x1p-8).bits == 0x3F80);
  CHECK(to_bfloat16(0.0).bits == 0);
  CHECK(to_bfloat16(1e300).bits == 0x7F80);
  CHECK(to_bfloat16(1e-300).bits == 0);
  CHECK(std::isnan(static_cast<float>(to_bfloat16(std::nan("")))));
}

TEST_CASE("no number is farther from its bfloat16 than the unit says", "[core]") {
  for (double value = 1.0; value < 2.0; value += 0x1p-13) {
    auto const stored = static_cast<double>(to_bfloat16(value));
    REQUIRE(std::abs(stored - value) <= bfloat16_unit * value);
  }
}
