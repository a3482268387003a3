// SPDX-License-Identifier: Apache-2.0
/// @file
/// `moments`: the sum, the least and the largest of some elements.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string>

namespace assay::stats {

/// The sum, the least and the largest of some elements. Those of no elements are 0 and infinities.
struct moments {
  double sum = 0;
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
  bool operator==(moments const&) const = default;

  /// `12.5 in [-0.75, 0.5]`, with as many digits as tell two values apart.
  std::string describe() const {
    std::array<char, 100> text{};
    (void)std::snprintf(text.data(), text.size(), "%.17g in [%.9g, %.9g]", sum,
                        static_cast<double>(least), static_cast<double>(most));
    return text.data();
  }
};

/// The moments of both.
inline moments operator+(moments const& a, moments const& b) {
  return {a.sum + b.sum, std::min(a.least, b.least), std::max(a.most, b.most)};
}

}  // namespace assay::stats
