// SPDX-License-Identifier: Apache-2.0
/// @file
/// `curve`: seconds over size, linear between knots in the logarithms of both.
#pragma once

#include <assay/core/requirements.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::dispatch {

/// A measured size: the median of the times of a call.
struct knot {
  double size = 0;
  double seconds = 0;
  double spread = 0;  ///< half of the interval of the median, in units of log2(seconds)
  bool operator==(knot const&) const = default;
};

/// Interpolates knots. Beyond them the curve goes on with the slope of the last octave, and
/// its interval grows by half an octave of seconds per octave of size.
///
/// The half-width of the interval is `scale` times the spread. Held-out sizes decide the scale: see
/// `conformal_scale`.
class curve {
 public:
  /// Throws `std::invalid_argument` unless there are 2 knots or more with rising sizes, positive
  /// finite seconds, and spreads and a scale of at least 0.
  curve(std::vector<knot> knots, double scale) : knots_(std::move(knots)), scale_(scale) {
    auto const is_amount = [](double value) { return std::isfinite(value) && value >= 0; };
    std::vector<double> spreads;
    bool valid = knots_.size() >= 2 && is_amount(scale);
    for (std::size_t i = 0; i < knots_.size(); ++i) {
      auto const& each = knots_[i];
      valid = valid && each.size >= 1 && each.size <= 0x1p53 && std::isfinite(each.seconds) &&
              each.seconds > 0 && is_amount(each.spread) &&
              (i == 0 || each.size > knots_[i - 1].size);
      if (!valid) { break; }
      at_.push_back(std::log2(each.size));
      log_seconds_.push_back(std::log2(each.seconds));
      spreads.push_back(each.spread);
    }
    if (!valid) {
      throw std::invalid_argument(
          "a curve of " + std::to_string(knots_.size()) +
          " knots: 2 or more are needed, with rising sizes from 1 to 2^53, positive seconds, and "
          "spreads and a scale of at least 0");
    }
    std::nth_element(spreads.begin(), spreads.begin() + spreads.size() / 2, spreads.end());
    typical_spread_ = spreads[spreads.size() / 2];
    for (std::size_t i = 0; i + 1 < at_.size(); ++i) { slopes_.push_back(slope(i, i + 1)); }
    // Slopes over an octave or more, as close knots differ by noise, and never down: more work does
    // not take less time in the long run.
    std::size_t inner = 1;
    while (inner + 1 < at_.size() && at_[inner] < at_.front() + 1) { ++inner; }
    first_slope_ = std::max(0.0, slope(0, inner));
    inner = at_.size() - 2;
    while (inner > 0 && at_[inner] > at_.back() - 1) { --inner; }
    last_slope_ = std::max(0.0, slope(inner, at_.size() - 1));
  }

  bool covers(double log_size) const noexcept {
    return log_size >= at_.front() && log_size <= at_.back();
  }

  /// log2 of the seconds at a log2 of a size.
  double log_seconds(double log_size) const noexcept {
    if (log_size < at_.front()) {
      return log_seconds_.front() + first_slope_ * (log_size - at_.front());
    }
    if (log_size > at_.back()) {
      return log_seconds_.back() + last_slope_ * (log_size - at_.back());
    }
    auto const i = segment(log_size);
    return log_seconds_[i] + slopes_[i] * (log_size - at_[i]);
  }

  /// The spread at a size before scaling. The median of all spreads is part of it and limits it:
  /// the spread of one knot is itself uncertain.
  double spread(double log_size) const noexcept {
    constexpr double floor = 1e-3;  // a noiseless sample is no proof of a noiseless machine
    double const inside = std::clamp(log_size, at_.front(), at_.back());
    auto const i = segment(inside);
    double const share = (inside - at_[i]) / (at_[i + 1] - at_[i]);
    double const here = std::lerp(knots_[i].spread, knots_[i + 1].spread, share);
    return std::min(here, 4 * typical_spread_) + typical_spread_ + floor;
  }

  /// Half of the prediction interval, in units of log2(seconds).
  double half_width(double log_size) const noexcept {
    double const outside = std::max({0.0, at_.front() - log_size, log_size - at_.back()});
    return scale_ * spread(log_size) + 0.5 * outside;
  }

 private:
  /// The last knot at or below a size between the ends. A binary search without branches: a branch
  /// that is predicted wrong costs more than all the rest of a choice.
  std::size_t segment(double log_size) const noexcept {
    double const* first = at_.data();
    for (auto count = slopes_.size(); count > 1;) {
      auto const half = count / 2;
      first = first[half] <= log_size ? first + half : first;
      count -= half;
    }
    return static_cast<std::size_t>(first - at_.data());
  }
  double slope(std::size_t from, std::size_t to) const noexcept {
    return (log_seconds_[to] - log_seconds_[from]) / (at_[to] - at_[from]);
  }

  std::vector<knot> knots_;
  std::vector<double> at_;  // log2 of the sizes
  std::vector<double> log_seconds_;
  std::vector<double> slopes_;  // from each knot to the next
  double scale_;
  double typical_spread_ = 0;
  double first_slope_ = 0;
  double last_slope_ = 0;
};

/// The share of future medians that a prediction interval holds, at least.
inline constexpr double coverage = 0.9;

/// The fewest held-out sizes that give intervals this coverage.
inline constexpr std::size_t fewest_held_out = 9;

/// The scale with which intervals hold a new size with the probability `coverage`. `errors` has for
/// each held-out size its errors at several moments, each divided by its spread.
///
/// Split conformal prediction (Vovk, Gammerman, Shafer 2005). It assumes nothing but that future
/// sizes are drawn as the held-out ones were. The errors of one size are alike, so each size counts
/// as one, however many moments it has.
inline double conformal_scale(std::vector<std::vector<double>> const& errors) {
  if (errors.size() < fewest_held_out) {
    throw std::invalid_argument(std::to_string(errors.size()) + " held-out sizes: " +
                                std::to_string(fewest_held_out) + " or more are needed");
  }
  std::vector<std::pair<double, double>> all;  // with the weights
  for (auto const& of_size : errors) {
    for (double const each : of_size) {
      all.emplace_back(each, 1.0 / static_cast<double>(of_size.size()));
    }
  }
  std::sort(all.begin(), all.end());
  auto const sizes = static_cast<double>(errors.size());
  double left = std::min(std::ceil(coverage * (sizes + 1)), sizes) - 1e-9;  // sums of weights round
  for (auto const& [error, weight] : all) {
    if ((left -= weight) <= 0) { return error; }
  }
  return all.back().first;
}

}  // namespace assay::dispatch
