// SPDX-License-Identifier: Apache-2.0
/// @file
/// `curve`: seconds over size, linear between knots in the logarithms of both.
#pragma once

#include <assay/core/concat.hpp>
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
class curve {
 public:
  /// Throws `std::invalid_argument` unless there are 2 knots or more with rising sizes, positive
  /// finite seconds, and spreads of at least 0.
  explicit curve(std::vector<knot> knots) : knots_(std::move(knots)) {
    bool valid = knots_.size() >= 2;
    for (std::size_t i = 0; valid && i < knots_.size(); ++i) {
      auto const& each = knots_[i];
      valid = each.size >= 1 && each.size <= 0x1p53 && std::isfinite(each.seconds) &&
              each.seconds > 0 && std::isfinite(each.spread) && each.spread >= 0 &&
              (i == 0 || each.size > knots_[i - 1].size);
      at_.push_back(std::log2(each.size));
      log_seconds_.push_back(std::log2(each.seconds));
    }
    if (!valid) {
      throw std::invalid_argument(concat(
          {"a curve of ", std::to_string(knots_.size()),
           " knots: 2 or more are needed, with rising sizes from 1 to 2^53, positive seconds, and "
           "spreads of at least 0"}));
    }
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

  /// Half of the interval in units of log2(seconds), between those of the knots beside a size.
  double half_width(double log_size) const noexcept {
    double const inside = std::clamp(log_size, at_.front(), at_.back());
    auto const i = segment(inside);
    double const share = (inside - at_[i]) / (at_[i + 1] - at_[i]);
    return std::lerp(knots_[i].spread, knots_[i + 1].spread, share) +
           0.5 * std::abs(log_size - inside);
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
  double first_slope_ = 0;
  double last_slope_ = 0;
};

}  // namespace assay::dispatch
