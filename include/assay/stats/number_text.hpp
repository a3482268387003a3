// SPDX-License-Identifier: Apache-2.0
/// @file
/// Numbers in the words of an error: `0.05`, not `0.050000`.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <cstdio>
#include <string>

namespace assay::stats {

/// A number with at most six significant digits, and no zeros at its end.
inline std::string number_text(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

}  // namespace assay::stats
