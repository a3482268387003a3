// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers in words: `0.05`, not `0.050000`.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <charconv>
#include <string>

namespace assay::stats {

/// A number with at most this many significant digits and no zeros at its end, or with this many
/// digits after the point in `std::chars_format::fixed`. Not by printf: the locale of the program
/// may have another decimal point.
inline std::string number_text(double value, int digits = 6,
                               std::chars_format form = std::chars_format::general) {
  std::array<char, 400> text{};  // the largest double has 309 digits before the point
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), value, form, digits).ptr};
}

}  // namespace assay::stats
