// SPDX-License-Identifier: Apache-2.0
/// @file
/// The axis of a chart: values to places, and the choice of ticks.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

/// A number in as few digits as it needs.
inline std::string plain_number(double value) { return digits_of(value, 6); }

/// One axis of a chart. An axis with categories places category `i` at the value `i`.
struct axis {
  std::string label;  ///< with its unit and its clock
  double low = 0, high = 1;
  bool logarithmic = false;
  std::function<std::string(double)> text = plain_number;  ///< the label of a tick
  std::vector<double> at{};                                ///< the ticks; empty: chosen
  std::vector<std::string> categories{};

  /// The place of a value: 0 at the low end, 1 at the high end. Places outside are allowed.
  double share(double value) const {
    if (!categories.empty()) { return (value + 0.5) / static_cast<double>(categories.size()); }
    // Differences and ratios of finite numbers may be infinite: halves and logarithms are not.
    if (logarithmic) {
      return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
    }
    return (value / 2 - low / 2) / (high / 2 - low / 2);
  }

  /// True for a value that has a place on the axis.
  bool holds(double value) const {
    return std::isfinite(value) && (!categories.empty() || (value >= low && value <= high));
  }

  std::string label_of(double tick) const {
    return categories.empty() ? text(tick) : categories[static_cast<std::size_t>(tick)];
  }

  /// Throws `std::invalid_argument` for a logarithmic axis whose ends have no finite logarithm.
  void require_possible() const {
    if (!logarithmic || !categories.empty() || (low > 0 && std::isfinite(high))) { return; }
    throw std::invalid_argument(
        concat({"the logarithmic axis \"", label, "\" goes from ", plain_number(low), " to ",
                plain_number(high), ": begin above 0, and end at a finite value"}));
  }

  /// At most `most` ticks.
  std::vector<double> ticks(std::size_t most) const;
};

namespace detail {

/// Multiples of 1, 2 or 5 times a power of ten between two values: the smallest such step that
/// gives at most `most` of them. Values so near that no multiple lies between them get the low one.
inline std::vector<double> linear_ticks(double low, double high, std::size_t most) {
  auto const width = std::min(high - low, std::numeric_limits<double>::max());
  auto const size = std::max(std::abs(low), std::abs(high));
  if (!(width > 1e-14 * size) || width < std::numeric_limits<double>::min()) { return {low}; }
  auto power = std::pow(10.0, std::floor(std::log10(width / static_cast<double>(most))));
  std::vector<double> found;
  for (;; power *= 10) {
    for (double const factor : {1.0, 2.0, 5.0}) {
      auto const step = factor * power;
      auto const first = std::ceil(low / step - 1e-9);
      auto const last = std::floor(high / step + 1e-9);
      if (last - first + 1 > static_cast<double>(most)) { continue; }
      for (auto each = first; each <= last; ++each) {
        found.push_back(each == 0 ? 0.0 : each * step);
      }
      return found;
    }
  }
}

/// 1, 2 and 5 times powers of ten, or powers alone; linear ticks below half a decade.
inline std::vector<double> log_ticks(double low, double high, std::size_t most) {
  auto const decades = std::log10(high) - std::log10(low);
  if (decades < 0.7) { return linear_ticks(low, high, most); }
  for (auto const& factors : {std::vector<double>{1, 2, 5}, {1, 3}, {1}}) {
    std::vector<double> found;
    for (auto power = std::floor(std::log10(low)); power <= std::ceil(std::log10(high)); ++power) {
      for (double const factor : factors) {
        auto const tick = factor * std::pow(10.0, power);
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) { found.push_back(tick); }
      }
    }
    if (found.size() <= most) { return found; }
  }
  std::vector<double> found;
  auto const stride = std::ceil(decades / static_cast<double>(most));
  for (auto power = std::ceil(std::log10(low)); power <= std::log10(high); power += stride) {
    found.push_back(std::pow(10.0, power));
  }
  return found;
}

}  // namespace detail

inline std::vector<double> axis::ticks(std::size_t most) const {
  most = std::max<std::size_t>(most, 2);
  auto all = at;
  for (std::size_t i = 0; i < categories.size(); ++i) { all.push_back(static_cast<double>(i)); }
  if (all.empty()) {
    return logarithmic ? detail::log_ticks(low, high, most) : detail::linear_ticks(low, high, most);
  }
  if (all.size() <= most || !categories.empty()) { return all; }
  std::vector<double> kept;
  auto const stride = (all.size() + most - 1) / most;
  for (std::size_t i = 0; i < all.size(); i += stride) { kept.push_back(all[i]); }
  return kept;
}

/// An axis over the finite values, with a little room at both ends. Values of one size get room
/// too. A logarithmic axis is over the positive values. Throws where there are none.
inline axis axis_over(std::vector<double> const& values, std::string label,
                      std::function<std::string(double)> text, bool logarithmic = false) {
  auto low = std::numeric_limits<double>::infinity();
  auto high = -low;
  for (double const each : values) {
    if (!std::isfinite(each) || (logarithmic && each <= 0)) { continue; }
    low = std::min(low, each);
    high = std::max(high, each);
  }
  if (low > high) {
    throw std::invalid_argument("the axis \"" + label + "\" has no finite value to show");
  }
  constexpr auto least = std::numeric_limits<double>::denorm_min();
  constexpr auto most = std::numeric_limits<double>::max();
  if (logarithmic) {
    auto const room = std::max(std::exp(0.06 * (std::log(high) - std::log(low))), 1 + 1e-6);
    return {std::move(label),
            std::max(low / room, least),
            std::min(high * room, most),
            true,
            std::move(text),
            {},
            {}};
  }
  auto const room = high > low ? 0.06 * high - 0.06 * low : std::max(std::abs(high) * 0.05, 1e-12);
  return {std::move(label),
          std::max(low - room, -most),
          std::min(high + room, most),
          false,
          std::move(text),
          {},
          {}};
}

/// An axis with a name at each place.
inline axis axis_of(std::vector<std::string> categories, std::string label = {}) {
  axis made;
  made.label = std::move(label);
  made.categories = std::move(categories);
  return made;
}

}  // namespace assay::report
