// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to comparison.hpp: the definitions of its functions, but for printing.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::measure {

ASSAY_INLINE comparison::comparison() = default;
ASSAY_INLINE comparison::comparison(comparison const&) = default;
ASSAY_INLINE comparison::comparison(comparison&&) noexcept = default;
ASSAY_INLINE comparison& comparison::operator=(comparison const&) = default;
ASSAY_INLINE comparison& comparison::operator=(comparison&&) noexcept = default;
ASSAY_INLINE comparison::~comparison() = default;

namespace detail {

inline bool weighs(comparison const& all, finding const& found, std::string_view label,
                   double weight) {
  for (std::size_t i = 0; i < all.variants.size() && i < found.weights.size(); ++i) {
    if (all.variants[i].label == label) { return found.weights[i] == weight; }
  }
  return false;
}

inline finding const& only_finding(comparison const& all) {
  finding const* one = nullptr;
  for (auto const& each : all.findings) {
    if (!each.primary) { continue; }
    if (one != nullptr) {
      throw std::invalid_argument(
          "this comparison has several verdicts: ask outcome(control, variant)");
    }
    one = &each;
  }
  if (one == nullptr) { throw std::invalid_argument("this comparison has no verdict"); }
  return *one;
}

}  // namespace detail

ASSAY_INLINE bool comparison::is(verdict asked) const {
  return detail::only_finding(*this).outcome == asked;
}
ASSAY_INLINE std::string const& comparison::reason() const {
  return detail::only_finding(*this).reason;
}
ASSAY_INLINE verdict comparison::outcome(std::string_view control, std::string_view variant) const {
  return of_pair(control, variant).outcome;
}
ASSAY_INLINE estimate const& comparison::effect(std::string_view control,
                                                std::string_view variant) const {
  return of_pair(control, variant).effect;
}
ASSAY_INLINE finding const& comparison::of_pair(std::string_view control,
                                                std::string_view variant) const {
  for (auto const& each : findings) {
    if (each.primary && each.what == contrast::kind::difference &&
        detail::weighs(*this, each, control, -1) && detail::weighs(*this, each, variant, 1)) {
      return each;
    }
  }
  throw std::invalid_argument(concat({"\"", variant, "\" was not compared with \"", control,
                                      "\": variants are held against the first one"}));
}

}  // namespace assay::measure
