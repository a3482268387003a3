// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values that kernels get wrong more often than random ones.
#pragma once

#include <assay/core/requirements.hpp>

#include <string_view>

namespace assay {

/// Values in place of random ones. `zeros` and `ones`: zero and one, or the nearest number of the
/// caller's range. In [0, 1) that number is below one: `x * bins` stays below `bins`.
/// `extremes`: the two ends of the range, at random. `denormals`: random subnormal numbers of the
/// signs in the range, where it contains zero; else as `zeros`, like integers. `nan` and
/// `infinities`: one of 61 floating elements is NaN, or an infinity of a random sign, and one at
/// least.
enum class special_values { none, zeros, ones, extremes, denormals, nan, infinities };

constexpr std::string_view to_string(special_values which) noexcept {
  using enum special_values;
  return which == zeros        ? "zeros"
         : which == ones       ? "ones"
         : which == extremes   ? "extremes"
         : which == denormals  ? "denormals"
         : which == nan        ? "NaN"
         : which == infinities ? "infinities"
                               : "random";
}

}  // namespace assay
