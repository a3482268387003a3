// SPDX-License-Identifier: Apache-2.0
/// @file
/// Verdicts from epoch effects, and the rule that ends a comparison: pure functions for the engine,
/// for its simulator, and for programs with effects of their own.
#pragma once

#include <assay/stats/group_sequential.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/verdict.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

namespace assay::stats {

/// The verdict that one interim analysis allows, on the scale of log ratios.
struct classification {
  verdict outcome = verdict::inconclusive;
  bool exceeds_margin = true;  ///< false: the sign is resolved, and the interval is in the margin
  interval effect;
  bool beyond_margin = false;  ///< the whole interval lies beyond the margin, on one side
};

/// The verdict that an interval of a log ratio allows: a sign if the interval excludes 0, and
/// equivalence if it lies in the margin.
///
/// Equivalence is two one-sided tests, each at half the interval's level. The margin is a ratio:
/// 0.01 allows ratios from 1 / 1.01 to 1.01.
inline classification classify(interval const& effect, double margin) {
  double const bound = std::log1p(margin);
  classification found{verdict::inconclusive, true, effect};
  found.beyond_margin = effect.low > bound || effect.high < -bound;
  if (effect.excludes(0)) {
    found.outcome = effect.low > 0 ? verdict::slower : verdict::faster;
    found.exceeds_margin = !effect.inside(bound);
  } else if (effect.inside(bound)) {
    found.outcome = verdict::equivalent;
  }
  return found;
}

/// Classifies the effects of the epochs so far at an interim analysis. Each effect is the log ratio
/// of the variant's time to the control's in one epoch.
inline classification classify(std::span<double const> epoch_effects, interim_analysis const& at,
                               double margin) {
  return classify(signed_rank_interval(epoch_effects, at.critical_value), margin);
}

/// Classifies the effects of a program's own measurements, in one analysis of all of them.
///
/// Each effect is the log ratio of a pair of measurements. The pairs must be exchangeable where the
/// two sides are equal. Too few effects for the level `alpha` are inconclusive. The time of 100,000
/// effects is a fraction of a second. Throws `std::invalid_argument` for no effects, for effects
/// that are not finite, and for a margin that is not positive.
inline classification classify(std::span<double const> effects, double margin, double alpha) {
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (std::isfinite(effects[i])) { continue; }
    throw std::invalid_argument("effect " + std::to_string(i) + " is " + number_text(effects[i]) +
                                ": effects are finite log ratios");
  }
  if (!(margin > 0)) {
    throw std::invalid_argument("a margin is positive, not " + number_text(margin));
  }
  auto const critical =
      signed_rank_critical_value(static_cast<std::int64_t>(effects.size()), alpha);
  return classify(signed_rank_interval(effects, critical), margin);
}

/// True when a contrast needs no more epochs: it has a sign, or it is equivalent and
/// `run_until_sign` does not ask for a sign. With `run_until_margin`, a sign also needs an interval
/// that lies in the margin or beyond it.
constexpr bool settled(classification const& found, bool run_until_sign,
                       bool run_until_margin = false) noexcept {
  if (!is_sign(found.outcome)) { return found.outcome == verdict::equivalent && !run_until_sign; }
  return !run_until_margin || !found.exceeds_margin || found.beyond_margin;
}

namespace detail {

/// The half-width at which an interval lies between two bounds in four cases of five. The true
/// value is at the distances `near` and `far` from the bounds, near <= far.
///
/// The estimate is taken as normal, and the half-width as 2.65 standard errors: an analysis at
/// level .008.
inline double half_width_for_four_in_five(double near, double far) {
  auto const inside = [](double distance, double half_width) {
    return 0.5 * std::erfc(-2.65 * (distance / half_width - 1) / std::sqrt(2.0));
  };
  double low = 0;
  double high = near;
  for (int step = 0; step < 50; ++step) {
    double const middle = 0.5 * (low + high);
    (inside(near, middle) + inside(far, middle) - 1 >= 0.8 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace detail

/// The number of epochs that settle a contrast in four cases of five; 0 where it is unknown. The
/// effect is taken as estimated, and the half-width as falling with the root of the number.
inline int epochs_to_settle(classification const& found, int epochs, double margin,
                            bool run_until_sign) {
  double const half_width = found.effect.half_width();
  double const size = std::abs(found.effect.estimate);
  double const bound = std::log1p(margin);
  double enough =
      detail::half_width_for_four_in_five(size, std::numeric_limits<double>::infinity());
  if (!run_until_sign && size < bound) {
    enough = std::max(enough, detail::half_width_for_four_in_five(bound - size, bound + size));
  }
  if (!std::isfinite(half_width) || !(enough > 0)) { return 0; }
  double const shrink = half_width / enough;
  double const needed = std::ceil(epochs * shrink * shrink);
  if (needed > 1e6) { return 0; }
  return std::max(epochs + 1, static_cast<int>(needed));
}

}  // namespace assay::stats
