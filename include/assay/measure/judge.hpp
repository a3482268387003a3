// SPDX-License-Identifier: Apache-2.0
/// @file
/// From epoch effects to a verdict, and whether to stop: pure functions, shared by the engine, its
/// simulator and anyone who has effects of their own.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/measure/looks.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace assay::measure {

/// What one look says of one contrast, on the scale of log ratios.
struct judgement {
  verdict outcome = verdict::inconclusive;
  bool material = true;  ///< false: a sign is resolved, and yet the interval is all in the margin
  interval effect;
};

/// The verdict that an interval of a log ratio allows: a sign where it excludes 0; equivalence
/// where it lies in the margin, which is two one-sided tests at half its level each.
///
/// The margin is a ratio: 0.01 allows from 1 / 1.01 to 1.01.
inline judgement classify(interval const& effect, double margin) {
  double const bound = std::log1p(margin);
  judgement found{verdict::inconclusive, true, effect};
  if (effect.excludes(0)) {
    found.outcome = effect.low > 0 ? verdict::slower : verdict::faster;
    found.material = !effect.inside(bound);
  } else if (effect.inside(bound)) {
    found.outcome = verdict::equivalent;
  }
  return found;
}

/// Judges the effects of the epochs so far at a look.
inline judgement judge(std::span<double const> epoch_effects, look const& at, double margin) {
  return classify(signed_rank_interval(epoch_effects, at.critical_value), margin);
}

/// The stop rule for one contrast: a sign, or equivalence unless a sign is asked for (`resolve`).
constexpr bool settled(judgement const& found, bool resolve) noexcept {
  return found.outcome == verdict::faster || found.outcome == verdict::slower ||
         (found.outcome == verdict::equivalent && !resolve);
}

/// How many epochs would settle it, if the effect is as estimated and the half-width keeps falling
/// with the root of their number; 0 where that cannot be known. An estimate, not a promise.
inline int epochs_to_settle(judgement const& found, int epochs, double margin, bool resolve) {
  double const half_width = found.effect.half_width();
  double const size = std::abs(found.effect.estimate);
  double const to_exclude_zero = size;
  double const to_fit_margin = resolve ? 0 : std::log1p(margin) - size;
  double const enough = std::max(to_exclude_zero, to_fit_margin);
  if (!std::isfinite(half_width) || !(enough > 0)) { return 0; }
  double const shrink = half_width / enough;
  double const needed = std::ceil(epochs * shrink * shrink);
  if (needed > 1e6) { return 0; }
  return std::max(epochs + 1, static_cast<int>(needed));
}

/// A log-scale interval as the ratio that reports print.
inline estimate to_estimate(interval const& effect, double confidence) {
  return {std::exp(effect.estimate), std::exp(effect.low), std::exp(effect.high), confidence};
}

}  // namespace assay::measure
