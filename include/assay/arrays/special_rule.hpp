// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to element.hpp: which elements of an array are special, and their bits.
#pragma once

#include <assay/core/requirements.hpp>

#include <cstdint>

namespace assay::arrays {

/// Elements in the place of random ones; by default there are none. A special element has the bits
/// of one of two choices, and those of subnormal numbers are so many steps beyond.
struct special_rule {
  struct choice {
    std::uint64_t bits = 0;
    std::uint64_t steps = 0;  ///< 1 to so many are added; 0: none is
  };
  bool any = false;
  std::uint64_t up_to = 0;   ///< elements whose random bits are not above are special
  std::uint64_t surely = 0;  ///< the index of one that is special, whatever its bits are
  choice one{}, other{};
};

/// `special_draw{rule, random bits, index}` tells of an element whether it `is_special` and its
/// `bits`, on the host and on a device.
struct special_draw {
  special_rule of{};
  std::uint64_t drawn = 0;
  std::uint64_t index = 0;
  bool is_special = of.any && (drawn <= of.up_to || index == of.surely);
  std::uint64_t begin = drawn % 2 == 0 ? of.one.bits : of.other.bits;
  std::uint64_t steps = drawn % 2 == 0 ? of.one.steps : of.other.steps;
  std::uint64_t bits = begin + (steps == 0 ? 0 : 1 + (drawn >> 1U) % steps);
};

}  // namespace assay::arrays
