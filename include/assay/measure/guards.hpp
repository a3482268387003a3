// SPDX-License-Identifier: Apache-2.0
/// @file
/// What forbids a verdict although its interval allows one.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/stats/classify.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

namespace assay::measure {

/// The level at which guards are tested, once each, where the comparison stops.
inline constexpr double guard_alpha = 0.01;

/// A share as text with its sign: "+0.31 %".
inline std::string percent_text(double share) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%+.2f %%", 100 * share);
  return text;
}

/// The hidden control: variant 0 against its own second instance.
struct control_check {
  bool testable = false;   ///< enough epochs for a test at `guard_alpha`
  bool differs = false;    ///< it found a difference where there is none
  stats::interval effect;  ///< log ratio; the range of the Walsh averages where not testable
  /// The largest log ratio between two instances of the same variant that the interval allows.
  double bias_bound() const { return std::max(std::abs(effect.low), std::abs(effect.high)); }
};

/// The interval of an effect, widened by the most that two instances of one variant may differ. If
/// it still excludes 0, differences between instances cannot explain the effect: each variant is
/// one instance.
inline stats::interval widened(stats::interval const& effect, double bias_bound) {
  return {effect.low - bias_bound, effect.estimate, effect.high + bias_bound};
}

inline control_check check_control(std::span<double const> effects) {
  int const critical =
      stats::signed_rank_critical_value(static_cast<int>(effects.size()), guard_alpha);
  control_check found;
  found.testable = critical >= 0;
  found.effect = stats::signed_rank_interval(effects, std::max(critical, 0));
  found.differs = found.testable && found.effect.excludes(0);
  return found;
}

/// A verdict that a guard puts in the place of the interval's own, and why.
struct objection {
  verdict outcome;
  std::string reason;
};

/// The objection of carry-over from the cell before, if there is one.
///
/// Carry-over objects when the part of the effect that it explains is resolved at `guard_alpha` and
/// some value of that part's interval, taken away, would change the verdict. Equivalence that is
/// no longer certain becomes INCONCLUSIVE, since no other verdict is in reach; all else becomes
/// UNPROVEN. Carry-over that all variants share never objects.
inline std::optional<objection> carry_over_objection(stats::classification const& found,
                                                     std::span<double const> carry_over,
                                                     double margin) {
  if (found.outcome == verdict::inconclusive) { return {}; }
  int const critical =
      stats::signed_rank_critical_value(static_cast<int>(carry_over.size()), guard_alpha);
  auto const carried = stats::signed_rank_interval(carry_over, critical);
  if (!carried.excludes(0)) { return {}; }
  auto const without = stats::classify(
      stats::interval{found.effect.low - carried.high, found.effect.estimate - carried.estimate,
                      found.effect.high - carried.low},
      margin);
  if (without.outcome == found.outcome) { return {}; }
  bool const less_certain =
      found.outcome == verdict::equivalent && without.outcome == verdict::inconclusive;
  return objection{
      less_certain ? verdict::inconclusive : verdict::unproven,
      "carry-over: the cell before explains " + percent_text(std::expm1(carried.estimate)) +
          " of the effect, without which it is " + std::string{to_string(without.outcome)}};
}

/// Why the clock is too coarse for this verdict, if it is: a sign is refused when the difference
/// per launch is under one tick of the clock spread over the launches of a cell.
inline std::optional<std::string> resolution_veto(stats::classification const& found,
                                                  double launch_seconds, double tick_seconds,
                                                  double launches) {
  if (found.outcome != verdict::faster && found.outcome != verdict::slower) { return {}; }
  double const difference = std::abs(std::expm1(found.effect.estimate)) * launch_seconds;
  double const finest = tick_seconds / launches;
  if (!(difference < finest)) { return {}; }
  char text[160];
  (void)std::snprintf(text, sizeof text,
                      "clock: a difference of %.3g ns per launch is under its resolution of %.3g "
                      "ns; use a longer launch or longer cells",
                      1e9 * difference, 1e9 * finest);
  return text;
}

/// For reports, not a veto: a difference in SM clock above 0.5 % between variants, told as its
/// share of the effect, since log t = log cycles - log f. `log_clock_ratio` is the contrast of the
/// variants' log median clocks; NaN where clocks are unknown.
inline std::optional<std::string> clock_split(std::string const& contrast_name,
                                              stats::interval const& effect,
                                              double log_clock_ratio) {
  if (!(std::abs(log_clock_ratio) > 0.005)) { return {}; }
  auto const share = [](double log_ratio) { return percent_text(std::expm1(log_ratio)); };
  return contrast_name + ": the SM clocks differ; time " + share(effect.estimate) + " = cycles " +
         share(effect.estimate + log_clock_ratio) + ", clock " + share(log_clock_ratio);
}

}  // namespace assay::measure
