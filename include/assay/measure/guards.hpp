// SPDX-License-Identifier: Apache-2.0
/// @file
/// The verdict that effects allow, and the guards: tests that can forbid it.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/epoch_effects.hpp>
#include <assay/measure/options.hpp>
#include <assay/measure/subject.hpp>
#include <assay/stats/classify.hpp>
#include <assay/stats/group_sequential.hpp>
#include <assay/stats/number_text.hpp>
#include <assay/stats/signed_rank.hpp>
#include <assay/stats/summary.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::measure {

/// The level of each guard, which is tested once, at the end of the comparison.
inline constexpr double guard_alpha = 0.01;

/// A variant below this multiple of an empty call's time does no work that a call shows.
inline constexpr double longest_empty = 1.25;

/// The place of its code moves the time of a call on a host by up to so many empty calls: loops of
/// 8 to 16,384 elements at 40 places differed by up to 24 ns, beside 2.2 ns for an empty call. A
/// branch that is not predicted ends the overlap with the next call.
inline constexpr double place_of_code = 12;

/// A share as text with its sign: "+0.31 %".
inline std::string percent_text(double share) {
  auto const text = stats::number_text(100 * share, 2, std::chars_format::fixed) + " %";
  return text.front() == '-' ? text : "+" + text;
}

/// A number with three digits.
inline std::string digits_text(double value) { return stats::number_text(value, 3); }

/// A share as text without a sign: "2 %".
inline std::string share_text(double share) { return digits_text(100 * share) + " %"; }

/// The hidden control: variant 0 against its own second instance.
struct control_check {
  bool testable = false;   ///< enough epochs for a test at `guard_alpha`
  bool differs = false;    ///< the test found a difference where there is none
  stats::interval effect;  ///< log ratio; the range of the Walsh averages where not testable
  /// The largest log ratio between two instances of one variant that the interval allows.
  double bias_bound() const { return std::max(std::abs(effect.low), std::abs(effect.high)); }
};

/// The interval of an effect, widened on both sides by `bias_bound`. Each variant is one instance,
/// so differences between instances cannot explain an effect whose widened interval excludes 0.
inline stats::interval widened_by_bias(stats::interval const& effect, double bias_bound) {
  return {effect.low - bias_bound, effect.estimate, effect.high + bias_bound};
}

inline control_check check_control(std::span<double const> effects) {
  auto const critical = static_cast<int>(
      stats::signed_rank_critical_value(static_cast<int>(effects.size()), guard_alpha));
  control_check found;
  found.testable = critical >= 0;
  found.effect = stats::signed_rank_interval(effects, std::max(critical, 0));
  found.differs = found.testable && found.effect.excludes(0);
  return found;
}

/// A verdict that replaces the one of the interval, and the guard's reason.
struct objection {
  verdict outcome;
  std::string reason;
};

/// The objection of the carry-over guard, if there is one.
///
/// Carry-over from the cell before explains a part of the effect, and that part has an interval.
/// The guard objects when the interval excludes 0 at `alpha`, and taking away some value of
/// it changes the verdict. An equivalence that is no longer certain becomes INCONCLUSIVE, because
/// no other verdict is near. All else becomes UNPROVEN. Carry-over that all variants share never
/// objects.
inline std::optional<objection> carry_over_objection(stats::classification const& found,
                                                     std::span<double const> carry_over,
                                                     double margin, double alpha = guard_alpha) {
  if (found.outcome == verdict::inconclusive || found.outcome == verdict::unproven) { return {}; }
  auto const critical =
      stats::signed_rank_critical_value(static_cast<int>(carry_over.size()), alpha);
  auto const carried = stats::signed_rank_interval(carry_over, critical);
  if (!carried.excludes(0)) { return {}; }
  auto const without = stats::classify(
      stats::interval{found.effect.low - carried.high, found.effect.estimate - carried.estimate,
                      found.effect.high - carried.low},
      margin);
  bool const both_in_margin = found.outcome == verdict::equivalent && !without.exceeds_margin;
  if (without.outcome == found.outcome || both_in_margin) { return {}; }
  bool const less_certain =
      found.outcome == verdict::equivalent && without.outcome == verdict::inconclusive;
  return objection{
      less_certain ? verdict::inconclusive : verdict::unproven,
      concat({"carry-over: the cell before explains ", percent_text(std::expm1(carried.estimate)),
              " of the effect, without which it is ", to_string(without.outcome)})};
}

/// The difference of a sign in nanoseconds per launch, if it is below `finest` seconds.
inline std::optional<double> difference_below(stats::classification const& found,
                                              double launch_seconds, double finest) {
  double const difference = std::abs(std::expm1(found.effect.estimate)) * launch_seconds;
  if (!stats::is_sign(found.outcome) || !(difference < finest)) { return {}; }
  return 1e9 * difference;
}

/// The reason why the clock is too coarse for this verdict, if it is. A sign needs a difference per
/// launch of at least one tick of the clock, divided by the launches of a cell.
inline std::optional<std::string> resolution_veto(stats::classification const& found,
                                                  double launch_seconds, double tick_seconds,
                                                  double launches) {
  double const finest = tick_seconds / launches;
  auto const small = difference_below(found, launch_seconds, finest);
  if (!small) { return {}; }
  return concat({"clock: a difference of ", digits_text(*small),
                 " ns per launch is under its resolution of ", digits_text(1e9 * finest),
                 " ns; use a longer launch or longer cells"});
}

/// The reason against any verdict on a variant that takes no longer than a call that does nothing.
/// Equal empty calls differ by up to 60 % on a host, by the places of their code. Advice for the
/// compiler would mislead for kernels, whose time is that of the launch where streams are not held.
inline std::optional<std::string> empty_call_veto(std::string const& label, double launch_seconds,
                                                  double empty_seconds, bool on_host) {
  if (!(launch_seconds < longest_empty * empty_seconds)) { return {}; }
  auto const time = [](double seconds) {
    return seconds < 1e-6 ? digits_text(1e9 * seconds) + " ns" : digits_text(1e6 * seconds) + " us";
  };
  return concat({"\"", label, "\" takes ", time(launch_seconds), ", no longer than an empty call (",
                 time(empty_seconds), "); ",
                 on_host ? "the compiler may have removed its work: return a result, or pass it to "
                           "assay::keep"
                         : "its kernels do too little, or the host's part of a launch hides them: "
                           "do more work in a call, and let all callables only enqueue"});
}

/// The reason why a call on the host is too short for this sign, if it is. The place of its code
/// explains as much as the whole call takes, and at most `place_of_code` empty calls.
inline std::optional<std::string> call_veto(stats::classification const& found,
                                            double launch_seconds, double empty_seconds) {
  double const explained =
      std::max(empty_seconds, std::min(place_of_code * empty_seconds, launch_seconds));
  auto const small = difference_below(found, launch_seconds, explained);
  if (!small) { return {}; }
  return concat({"a difference of ", digits_text(*small),
                 " ns is less than the place of the code can explain in a call (",
                 digits_text(1e9 * explained), " ns); do more work in a call"});
}

/// The reason against a sign that the placement of kept buffers may explain.
inline std::string placement_reason(stats::interval const& effect, double placement) {
  return concat({percent_text(std::expm1(effect.estimate)),
                 " may be the placement of your buffers, which is worth up to ",
                 share_text(placement),
                 ": use a factory, which has new ones in each epoch: "
                 "[=](assay::setup& make) { auto const x = make.random<float>(n); "
                 "return [=](/* stream */) { /* work on x.data() */ }; }. "
                 "Or say options::same_buffers where both use the same buffers"});
}

/// The reason against any verdict where slow calls are too few to know their share of the mean.
inline std::string skewness_reason(int epochs) {
  return concat(
      {"a few of ", std::to_string(epochs),
       " epochs hold much slower calls than the others, too few to know the mean time of a call: "
       "allow more time (max_seconds, max_epochs) or find what slows them"});
}

/// A note, not a veto, on SM clocks that differ by more than 0.5 % between variants. It splits the
/// effect into cycles and clock, because log t = log cycles - log f. `log_clock_ratio` is the
/// contrast of the variants' log median clocks, NaN where clocks are unknown.
inline std::optional<std::string> clock_split(std::string const& contrast_name,
                                              stats::interval const& effect,
                                              double log_clock_ratio) {
  if (!(std::abs(log_clock_ratio) > 0.005)) { return {}; }
  auto const share = [](double log_ratio) { return percent_text(std::expm1(log_ratio)); };
  return concat({contrast_name, ": the SM clocks differ; time ", share(effect.estimate),
                 " = cycles ", share(effect.estimate + log_clock_ratio), ", clock ",
                 share(log_clock_ratio)});
}

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
  int epochs_in_group = 1;            ///< neighbouring epochs whose launches have one mean
  bool skewed = false;                ///< fewer than `fewest_groups` groups are free of skewness
  bool placed = false;                ///< the sign may be that of the placement of buffers
  double allowance = 0;               ///< the log ratio that placement may be worth
  std::string bound{};                ///< why the interval was widened; empty where it was not
  std::vector<std::string> vetoes{};  ///< the reasons against any verdict

  /// True when no more epochs are needed. A sign that placement explains needs none where the whole
  /// interval lies between the margin and the allowance.
  bool settled(options const& chosen) const {
    double const low = found.effect.low;
    double const high = found.effect.high;
    double const margin = std::log1p(chosen.margin);
    if (placed) {
      return (low >= margin && high <= allowance) || (high <= -margin && low >= -allowance);
    }
    return !skewed && stats::settled(found, chosen.run_until_sign, chosen.run_until_margin);
  }
};

namespace detail {

/// The classification that remains where placement may be worth a log ratio of `allowance`: a sign
/// beyond it, with a widened interval, or equivalence.
inline judged_effects beyond_placement(judged_effects of, double allowance, double margin) {
  of.allowance = allowance;
  if (allowance == 0 || !stats::is_sign(of.found.outcome)) { return of; }
  auto const bound = stats::classify(widened_by_bias(of.found.effect, allowance), margin);
  if (stats::is_sign(bound.outcome)) {
    of.found = bound;
    of.bound = "the placement of buffers that a callable keeps may be worth " +
               share_text(std::expm1(allowance));
  } else if (of.found.effect.inside(std::log1p(margin))) {
    of.found.outcome = verdict::equivalent;
  } else {
    of.found.outcome = verdict::unproven;
    of.placed = true;
    of.vetoes.push_back(placement_reason(of.found.effect, std::expm1(allowance)));
  }
  return of;
}

}  // namespace detail

/// Classifies the effects of the epochs up to an interim analysis.
///
/// Neighbouring epochs are merged until their effects are not skewed: the mean of more launches has
/// a law nearer to the normal one. Where too few groups are left, the whole range of the effects is
/// judged: it is an interval of the signed-rank test too, and slow calls do not leave it.
/// `placement` is a share as in `variant::placement`.
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
    auto const critical =
        stats::signed_rank_critical_value(static_cast<int>(groups.size()), at.alpha);
    return beyond(stats::classify(stats::signed_rank_interval(groups, critical), margin), merged);
  }
  auto range = stats::signed_rank_interval(each_epoch, 0);
  range.estimate = stats::mean(each_epoch);
  auto const found = stats::classify(range, margin);
  if (found.outcome != verdict::inconclusive) { return beyond(found, 1); }
  judged_effects unknown{found, 1, true};
  unknown.vetoes.push_back(skewness_reason(at.epochs));
  return unknown;
}

/// The classification that remains where the control's instances differ: a verdict with an interval
/// that is wider by their difference, else a veto.
inline judged_effects beyond_control(judged_effects of, control_check const& control,
                                     std::string const& label, double margin) {
  if (!control.differs || of.found.outcome == verdict::inconclusive) { return of; }
  auto const why = concat({"\"", label, "\" differs from its own second instance by ",
                           percent_text(std::expm1(control.effect.estimate))});
  auto const bound =
      stats::classify(widened_by_bias(of.found.effect, control.bias_bound()), margin);
  if (bound.outcome == verdict::inconclusive) {
    of.vetoes.push_back("hidden control: " + why);
  } else {
    of.found = bound;
    of.bound = why;
  }
  return of;
}

/// The share of its time that placement may be worth to a variant of the contrast, where the
/// longest launch takes so many seconds.
inline double placement_of(contrast const& by, std::vector<variant> const& variants,
                           double launch_seconds) {
  double largest = 0;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    if (by.weights[v] == 0) { continue; }
    largest = std::max(largest, variants[v].placement);
    if (launch_seconds < short_launch_seconds) {
      largest = std::max(largest, variants[v].short_placement);
    }
  }
  return largest;
}

}  // namespace assay::measure
