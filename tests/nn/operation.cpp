// SPDX-License-Identifier: Apache-2.0
/// @file
/// Floats in two halves: each comes back bit by bit, and the upper half is the nearest one.
#include "catch.hpp"

#include <assay/core/bfloat16.hpp>
#include <assay/nn/operation.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace assay;

namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

struct counts {
  std::uint32_t changed = 0, not_nearest = 0, ties = 0;
};

/// Of all floats with that upper half.
counts of_upper_half(std::uint32_t upper) {
  counts found;
  for (std::uint32_t lower = 0; lower <= 0xFFFFU; ++lower) {
    auto const value = from_bits(upper << 16U | lower);
    nn::float_halves const both{value};
    auto const back = static_cast<float>(nn::float_halves{both.high, both.low});
    found.changed += std::bit_cast<std::uint32_t>(back) != (upper << 16U | lower);
    if (lower == 0x8000U) {
      ++found.ties;  // away from zero
      found.not_nearest += both.high.bits != upper + 1;
    } else {
      found.not_nearest += both.high.bits != bfloat16{value}.bits;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("each float comes back from its halves, and the upper one is its rounding", "[nn]") {
  // Zeros, subnormal numbers, the smallest and the largest exponents, even and odd numbers; the
  // floats above the largest finite half round to infinity.
  for (std::uint32_t const sign : {0U, 0x8000U}) {
    for (std::uint32_t const upper :
         {0x0000U, 0x0001U, 0x007FU, 0x0080U, 0x3F7FU, 0x3F80U, 0x3F81U, 0x4049U, 0x7F7FU}) {
      auto const found = of_upper_half(sign | upper);
      INFO("upper half " << (sign | upper));
      CHECK(found.changed == 0);
      CHECK(found.not_nearest == 0);
      CHECK(found.ties == 1);
    }
    auto const infinity = from_bits((sign | 0x7F80U) << 16U);
    CHECK(static_cast<float>(nn::float_halves{infinity}) == infinity);
    CHECK(nn::float_halves{infinity}.high.bits == (sign | 0x7F80U));
  }
}

TEST_CASE("a NaN stays one in both forms, whatever its bits are", "[nn]") {
  for (std::uint32_t const bits :
       {0x7F80'0001U, 0x7F80'8000U, 0x7FC0'0000U, 0x7FFF'FFFFU, 0xFF80'0001U, 0xFFFF'FFFFU}) {
    nn::float_halves const both{from_bits(bits)};
    CHECK(std::isnan(static_cast<float>(both)));
    CHECK(std::isnan(static_cast<float>(both.high)));
  }
}

TEST_CASE("a part of floats in two halves is a part of both", "[nn]") {
  std::vector<bfloat16> high(7);
  std::vector<std::uint16_t> low(7);
  nn::split_floats const all{high, low}, part = all.subspan(2, 3);
  CHECK(part.size() == 3);
  CHECK(part.high.data() == &high[2]);
  CHECK(part.low.data() == &low[2]);
  CHECK(part.low.size() == 3);
  CHECK(nn::factors_of(part).data() == &high[2]);
  CHECK(nn::split_floats{}.empty());
}
