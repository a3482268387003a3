// SPDX-License-Identifier: Apache-2.0
/// @file
/// The verdict that effects of mean times allow, also where a few epochs hold slow calls.
#pragma once

#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/guards.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/classify.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace assay::measure {

/// The fewest groups of epochs that are judged: 7 groups need a level of .016 for any verdict.
inline constexpr int fewest_groups = 8;

/// True if the signed-rank interval of these effects is about another value than their mean.
///
/// The signed-rank estimate lies at a middle of the effects. A few epochs with slow calls leave it
/// where it is, and move the mean. Two conditions show this: the skewness exceeds two standard
/// errors of normal values, and the estimate misses the mean by more than a tenth of the margin.
/// A longer comparison meets the second one again if its slow calls were a single disturbance.
inline bool is_skewed(std::span<double const> effects, double margin) {
  double const standard_error = std::sqrt(6.0 / static_cast<double>(effects.size()));
  if (!(std::abs(stats::skewness(effects)) > 2 * standard_error)) { return false; }
  double const estimate = stats::signed_rank_interval(effects, 0).estimate;
  return std::abs(stats::mean(effects) - estimate) > std::log1p(margin) / 10;
}

/// A classification, and what it rests on.
struct judged_effects {
  stats::classification found;
  int epochs_in_group = 1;  ///< neighbouring epochs whose launches have one mean
  bool skewed = false;      ///< fewer than `fewest_groups` groups are free of skewness
  bool placed = false;      ///< the sign may be that of the placement of buffers
  bool is_bound = false;    ///< the interval was widened by the allowance for placement

  /// True when no more epochs are needed. A sign that placement explains needs more of them only
  /// where the effect may still turn out to lie in the margin.
  bool settled(options const& chosen) const {
    double const bound = std::log1p(chosen.margin);
    if (placed) { return found.effect.low >= bound || found.effect.high <= -bound; }
    return !skewed && stats::settled(found, chosen.run_until_sign, chosen.run_until_margin);
  }
};

namespace detail {

/// The classification that remains where placement may be worth a log ratio of `allowance`: a sign
/// beyond it, with a widened interval, or equivalence.
inline judged_effects beyond_placement(judged_effects of, double allowance, double margin) {
  if (allowance == 0 || !stats::is_sign(of.found.outcome)) { return of; }
  auto const bound = stats::classify(widened(of.found.effect, allowance), margin);
  if (stats::is_sign(bound.outcome)) {
    of.found = bound;
    of.is_bound = true;
  } else if (of.found.effect.inside(std::log1p(margin))) {
    of.found.outcome = verdict::equivalent;
  } else {
    of.found.outcome = verdict::unproven;
    of.placed = true;
  }
  return of;
}

}  // namespace detail

/// Classifies the effects of the epochs up to an interim analysis.
///
/// Neighbouring epochs are merged until their effects are not skewed: the mean of more launches has
/// a law nearer to the normal one. Where too few groups are left, the effects are INCONCLUSIVE with
/// their whole range. `placement` is a share as in `variant::placement`.
inline judged_effects judge(epoch_effects const& from, clock on, std::size_t contrast,
                            stats::interim_analysis const& at, double margin, double placement) {
  std::span<double const> const each_epoch{from.effects(on, contrast).data(),
                                           static_cast<std::size_t>(at.epochs)};
  auto const beyond = [&](stats::classification const& found, int merged) {
    return detail::beyond_placement({found, merged}, std::log1p(placement), margin);
  };
  if (!is_skewed(each_epoch, margin)) { return beyond(stats::classify(each_epoch, at, margin), 1); }
  for (int merged = 2; at.epochs / merged >= fewest_groups; ++merged) {
    auto const groups = from.grouped(on, contrast, at.epochs, at.epochs / merged);
    if (is_skewed(groups, margin)) { continue; }
    int const critical =
        stats::signed_rank_critical_value(static_cast<int>(groups.size()), at.alpha);
    return beyond(stats::classify(stats::signed_rank_interval(groups, critical), margin), merged);
  }
  auto range = stats::signed_rank_interval(each_epoch, 0);
  range.estimate = stats::mean(each_epoch);
  return {{verdict::inconclusive, true, range}, 1, true};
}

/// The share of its time that placement may be worth to a variant of the contrast.
inline double placement_of(contrast const& by, std::vector<variant> const& variants) {
  double largest = 0;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    if (by.weights[v] != 0) { largest = std::max(largest, variants[v].placement); }
  }
  return largest;
}

}  // namespace assay::measure
