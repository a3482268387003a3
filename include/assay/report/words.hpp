// SPDX-License-Identifier: Apache-2.0
/// @file
/// A finding in plain language: one sentence with its number and its clock.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/distinct.hpp>
#include <assay/core/policy.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

/// The control and the variant of a finding that compares just two; nothing for other contrasts.
inline std::optional<std::pair<std::size_t, std::size_t>> compared_pair(
    measure::finding const& of) {
  auto const& weights = of.weights;
  auto const at = [&](double weight) {
    auto const found = std::find(weights.begin(), weights.end(), weight);
    return static_cast<std::size_t>(found - weights.begin());
  };
  auto const zeros = static_cast<std::size_t>(std::count(weights.begin(), weights.end(), 0.0));
  bool const two =
      zeros + 2 == weights.size() && at(1) != weights.size() && at(-1) != weights.size();
  return two ? std::optional{std::pair{at(-1), at(1)}} : std::nullopt;
}

/// The form of an effect and both ends of its interval, by the largest of them: changes in per
/// cent, or factors where a change is above 100 %.
struct effect_form {
  bool factors = false;
  int decimals = 0;

  /// `+0.30` or `4.02`, without its unit.
  std::string number(double ratio) const {
    return factors ? fixed(ratio, decimals) : signed_percent(ratio - 1, decimals);
  }
  std::string text(double ratio) const { return number(ratio) + (factors ? "x" : " %"); }
};

inline effect_form form_of(measure::estimate const& effect) {
  double change = 0, ratio = 0;
  for (auto const each : {effect.ratio, effect.low, effect.high}) {
    if (!std::isfinite(each)) { continue; }
    change = std::max(change, std::abs(each - 1));
    ratio = std::max(ratio, each);
  }
  return ratio > 2 ? effect_form{true, decimals_for(ratio, 3)}
                   : effect_form{false, percent_decimals(change)};
}

}  // namespace detail

/// True if there is an interval. Before the first analysis there is none, and an estimate alone
/// would look like a result.
inline bool has_interval(measure::estimate const& effect) {
  return std::isfinite(effect.high) || effect.low > 0;
}

/// An effect as a signed percentage of the control's time, or a factor: `+0.30 %`, `4.02x`.
inline std::string effect_text(measure::estimate const& effect) {
  return detail::form_of(effect).text(effect.ratio);
}

/// The interval of an effect in the form of the effect: `[+0.21, +0.39]`, `[3.82, 4.30]`.
inline std::string interval_text(measure::estimate const& effect) {
  if (!has_interval(effect)) { return "no bound yet"; }
  auto const form = detail::form_of(effect);
  return concat({"[", form.number(effect.low), ", ", form.number(effect.high), "]"});
}

/// An effect with its interval: `+54.8 % [+49.1, +60.9]`. Empty where nothing was timed.
inline std::string effect_and_interval(measure::finding const& of) {
  if (of.outcome == measure::verdict::wrong_answer) { return {}; }
  return has_interval(of.effect) ? concat({effect_text(of.effect), " ", interval_text(of.effect)})
                                 : "no bound yet";
}

namespace detail {

/// The choice of one variant on an axis; empty when the variant has no such axis.
inline std::string choice(measure::variant_result const& which, std::string const& axis) {
  for (auto const& [name, value] : which.axes) {
    if (name == axis) { return value; }
  }
  return {};
}

/// An axis on which a contrast sets two choices against each other.
struct opposed {
  std::string axis, negative, positive;
};

/// Shortens two choices to their names where the names differ: `mr::pool{10 GiB}` to `mr::pool`.
inline opposed by_name(opposed of) {
  if (name_of(of.negative) == name_of(of.positive)) { return of; }
  return {of.axis, name_of(of.negative), name_of(of.positive)};
}

/// The axes with exactly two choices among the variants of a contrast, in the variants' order.
inline std::vector<opposed> two_level_axes(measure::finding const& found,
                                           std::vector<measure::variant_result> const& variants) {
  std::vector<opposed> result;
  if (found.weights.size() != variants.size()) { return result; }
  std::vector<std::size_t> weighed;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (found.weights[i] != 0) { weighed.push_back(i); }
  }
  if (weighed.empty()) { return result; }
  for (auto const& [axis, first] : variants[weighed.front()].axes) {
    std::vector<std::string> choices;
    for (auto const i : weighed) { add_distinct(choices, choice(variants[i], axis)); }
    if (choices.size() == 2) { result.push_back({axis, choices[0], choices[1]}); }
  }
  return result;
}

/// The two sides of a contrast as text.
struct sides {
  std::string control, variant;  ///< empty where the variants do not show them
  std::string gap_from, gap_to;  ///< for an interaction: the choices on both sides of the gap
};

inline sides sides_of(measure::finding const& found,
                      std::vector<measure::variant_result> const& variants) {
  using kind = measure::contrast::kind;
  if (found.what == kind::interaction) {
    auto axes = two_level_axes(found, variants);
    if (axes.size() != 2) { return {}; }
    auto between = axes[0];
    auto gap = axes[1];
    // A positive weight of (second choice, second choice) means that the effect is the gap under
    // the second choice over the gap under the first. Else the first and second swap places.
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (choice(variants[i], between.axis) == between.positive &&
          choice(variants[i], gap.axis) == gap.positive && found.weights[i] < 0) {
        std::swap(between.negative, between.positive);
        break;
      }
    }
    between = by_name(between);
    gap = by_name(gap);
    return {between.negative, between.positive, gap.negative, gap.positive};
  }
  sides result;
  if (found.weights.size() != variants.size()) { return result; }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    auto const weight = found.weights[i];
    if (weight == 0) { continue; }
    auto& side = weight < 0 ? result.control : result.variant;
    if (!side.empty()) { return {}; }
    side = variants[i].label;
  }
  return result;
}

/// `3.10 % [2.00, 4.20]`, for `faster` with exchanged signs and ends; above 100 % a factor with the
/// words `factor` behind it.
inline std::string size_of_difference(measure::finding const& found, bool faster,
                                      std::string const& factor) {
  auto const& effect = found.effect;
  auto const form = form_of(effect);
  auto const size = [&](double ratio) {
    auto const sign = faster ? -100.0 : 100.0;
    return fixed(form.factors ? ratio : sign * (ratio - 1), form.decimals);
  };
  auto const unit = form.factors ? factor : " %";
  auto const near = size(faster ? effect.high : effect.low);
  // The interval of a bound is wider than its noise, so its middle says nothing.
  if (found.is_bound) { return concat({"at least ", near, unit, " (", found.reason, ")"}); }
  auto text = concat(
      {size(effect.ratio), unit, " [", near, ", ", size(faster ? effect.low : effect.high), "]"});
  if (effect.ratio <= 0.5) {
    auto const times = 1 / effect.ratio;
    text += ", a factor of " + fixed(times, times < 10 ? 2 : 1);
  }
  return text;
}

/// The one place that decides how a verdict tells its difference.
inline std::string difference_sentence(measure::finding const& found, sides const& who,
                                       std::string const& margin_note) {
  auto const faster = found.outcome == measure::verdict::faster;
  auto const named = who.control.empty();
  if (found.what == measure::contrast::kind::interaction) {
    auto const by = (form_of(found.effect).factors ? " by a factor of " : " by ") +
                    size_of_difference(found, faster, "") + margin_note;
    if (named) { return concat({found.contrast_name, ": the gaps differ", by}); }
    return concat({"the gap between ", who.gap_from, " and ", who.gap_to, " differs", by,
                   " between ", who.control, " and ", who.variant, ": going from ", who.gap_from,
                   " to ", who.gap_to, " costs ", faster ? "less" : "more", " with ", who.variant});
  }
  auto const size =
      size_of_difference(found, faster, " times as long" + (named ? "" : " as " + who.control));
  auto const subject = named ? found.contrast_name + ": " : who.variant + " ";
  if (form_of(found.effect).factors) { return concat({subject, "takes ", size, margin_note}); }
  return concat({subject, named ? "" : "is ", faster ? "faster" : "slower",
                 named ? "" : " than " + who.control, " by ", size, margin_note});
}

/// The contrast as the object of a sentence: `A and B`, a gap, or its name.
inline std::string contrast_phrase(measure::finding const& found, sides const& who) {
  if (who.control.empty()) { return found.contrast_name; }
  if (found.what == measure::contrast::kind::interaction) {
    return concat({"the gap between ", who.gap_from, " and ", who.gap_to, ", ", who.control,
                   " against ", who.variant});
  }
  return concat({who.control, " and ", who.variant});
}

/// The size of a sign against the margin; empty where the whole interval lies beyond the margin.
inline std::string margin_note(measure::finding const& found, double margin) {
  if (measure::is_beyond_margin(found, margin)) { return {}; }
  return (found.exceeds_margin ? ", perhaps below your " : ", below your ") +
         setting_percent(margin);
}

/// The sentence without its clock.
inline std::string statement(measure::finding const& found, measure::comparison const& all) {
  using measure::verdict;
  auto const who = sides_of(found, all.variants);
  auto const phrase = contrast_phrase(found, who);
  auto const named = who.control.empty();
  auto const gap = found.what == measure::contrast::kind::interaction;
  auto const between = (named || gap ? " for " : " between ") + phrase;
  auto const seen = concat({effect_text(found.effect), " ", interval_text(found.effect)});
  switch (found.outcome) {
    case verdict::faster:
    case verdict::slower:
      return difference_sentence(found, who, margin_note(found, all.margin));
    case verdict::equivalent: {
      auto const& [ratio, low, high, confidence] = found.effect;
      auto const largest = std::max(std::abs(low - 1), std::abs(high - 1));
      return concat({"no difference larger than ",
                     percent_upper(largest, percent_decimals(largest)),
                     gap && !named ? " in " + phrase : between});
    }
    case verdict::inconclusive: {
      auto text =
          concat({"cannot tell yet", between, ": ", has_interval(found.effect) ? seen : "no bound",
                  " after ", std::to_string(all.epochs), " epochs"});
      if (found.epochs_needed > 0) {
        text +=
            concat({"; about ", std::to_string(found.epochs_needed), " epochs would settle it"});
      }
      return found.reason.empty() ? text : concat({text, "; ", found.reason});
    }
    case verdict::unproven:
      return concat({"nothing is proven about ", phrase, ": ", found.reason,
                     has_interval(found.effect) ? concat({" (it looked like ", seen, ")"}) : ""});
    case verdict::wrong_answer:
      return concat({"no comparison of ", phrase, ": ",
                     found.reason.empty() ? "wrong result" : found.reason});
  }
  return found.contrast_name;
}

}  // namespace detail

namespace detail {

/// The share that slow calls add to the time of a typical call; 0 where no calls were timed alone.
inline double added_by_slow_calls(measure::variant_result const& of, measure::clock on) {
  auto const added = of.slow_share * (of.slow_seconds / of.on(on).median - 1);
  return added > 0 ? added : 0;
}

/// `1 call in 9 of "b" takes 3.000 ms`
inline std::string slow_calls(measure::variant_result const& of) {
  auto const every = std::round(1 / of.slow_share);
  // The nearest whole number is off by more than 10 % for 1 in 2.5, say.
  bool const whole = every >= 2 && std::abs(every * of.slow_share - 1) < 0.1;
  auto const calls =
      whole ? "1 call in " + fixed(every, 0) : percent(of.slow_share) + " of the calls";
  return concat(
      {calls, " of \"", of.label, "\" ", whole ? "takes " : "take ", duration(of.slow_seconds)});
}

}  // namespace detail

/// One sentence, with its full stop, on typical calls and on the variants whose slow calls move a
/// mean. Empty unless typical calls differ by another amount than the mean times of the verdict.
inline std::string typical_sentence(measure::finding const& found, measure::comparison const& all) {
  if (std::isnan(found.typical_ratio) || !has_interval(found.effect) ||
      found.outcome == measure::verdict::wrong_answer) {
    return {};
  }
  auto const added = [&](std::size_t i) {
    bool const compared = i < found.weights.size() && found.weights[i] != 0;
    return compared ? detail::added_by_slow_calls(all.variants[i], found.on) : 0;
  };
  double most = 0;
  for (std::size_t i = 0; i < all.variants.size(); ++i) { most = std::max(most, added(i)); }
  std::string causes;
  for (std::size_t i = 0; i < all.variants.size(); ++i) {
    if (added(i) == 0 || added(i) < most / 2) { continue; }  // a smaller one is not why
    causes += (causes.empty() ? ", since " : " and ") + detail::slow_calls(all.variants[i]);
  }
  auto const typical = found.typical_ratio;
  return concat(
      {"typical calls: ", change_text(typical, std::min(2, percent_decimals(typical - 1))),
       "; the mean differs by ", effect_text(found.effect), causes, "."});
}

/// One sentence, without its full stop, on a finding about the variants of `all`, with its clock.
///
/// An EQUIVALENT finding names the largest difference that its interval allows, rounded up. An
/// INCONCLUSIVE finding names the number of epochs that settle it, where that is known.
inline std::string sentence(measure::finding const& found, measure::comparison const& all) {
  return concat({detail::statement(found, all), " (", to_string(found.on), " clock)"});
}

}  // namespace assay::report
