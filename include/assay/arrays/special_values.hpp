// SPDX-License-Identifier: Apache-2.0
/// @file
/// Values that kernels get wrong more often than random ones.
#pragma once

#include <assay/core/requirements.hpp>

#include <string_view>

namespace assay {

/// Values in place of random ones. `zeros`: the number of the range that is nearest to zero.
/// `extremes`: the two ends of the range, at random. `nan`: one of 61 floating elements is NaN, and
/// one at least.
enum class special_values { none, zeros, extremes, nan };

constexpr std::string_view to_string(special_values which) noexcept {
  using enum special_values;
  return which == zeros      ? "zeros"
         : which == extremes ? "extremes"
         : which == nan      ? "NaN"
                             : "random";
}

}  // namespace assay
