// SPDX-License-Identifier: Apache-2.0
/// @file
/// `verdict`: the outcome of a contrast.
#pragma once

#include <assay/core/requirements.hpp>

#include <array>
#include <cstddef>
#include <iosfwd>
#include <string_view>

namespace assay::stats {

/// The outcome of a contrast. `faster` and `slower` compare the variant with the control. For an
/// interaction they mean a negative and a positive effect.
enum class verdict { faster, slower, equivalent, inconclusive, unproven, wrong_answer };

constexpr std::string_view to_string(verdict which) noexcept {
  constexpr std::array<std::string_view, 6> names{"FASTER",       "SLOWER",   "EQUIVALENT",
                                                  "INCONCLUSIVE", "UNPROVEN", "WRONG ANSWER"};
  return names[static_cast<std::size_t>(which)];
}

/// Prints the verdict as reports do. A template, so that only what prints needs `<ostream>`.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, verdict which) {
  return out << to_string(which);
}

constexpr bool is_sign(verdict which) noexcept {
  return which == verdict::faster || which == verdict::slower;
}

}  // namespace assay::stats
