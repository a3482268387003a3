// SPDX-License-Identifier: Apache-2.0
/// @file
/// `estimate`: seconds with an interval, and their text.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/requirements.hpp>
#include <assay/stats/number_text.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace assay::dispatch {

/// Seconds and the ends of their interval. Infinite where a call is impossible.
struct estimate {
  double seconds = 0;
  double low = 0;
  double high = 0;
  bool operator==(estimate const&) const = default;
};

/// A call that cannot be made.
inline constexpr estimate impossible{std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};

namespace detail {

inline std::string fixed(double value) {
  return stats::number_text(value, value < 9.95 ? 1 : 0, std::chars_format::fixed);
}

inline std::pair<double, char const*> unit_of(double seconds) noexcept {
  if (seconds >= 0.9995) { return {1, " s"}; }
  if (seconds >= 0.9995e-3) { return {1e3, " ms"}; }
  if (seconds >= 0.9995e-6) { return {1e6, " us"}; }
  return {1e9, " ns"};
}

}  // namespace detail

/// The seconds alone: `41 us`.
inline std::string short_text(double seconds) {
  if (!std::isfinite(seconds)) { return "impossible"; }
  auto const [factor, unit] = detail::unit_of(seconds);
  return detail::fixed(seconds * factor) + unit;
}

/// `41 us [39, 44]`: both ends have the unit of the estimate.
inline std::string in_words(estimate const& of) {
  auto text = short_text(of.seconds);
  if (!std::isfinite(of.seconds)) { return text; }
  auto const factor = detail::unit_of(of.seconds).first;
  return concat(
      {text, " [", detail::fixed(of.low * factor), ", ", detail::fixed(of.high * factor), "]"});
}

}  // namespace assay::dispatch
