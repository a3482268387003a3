// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The figures of effects: forest plots, and epochs in run order.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/strips.hpp>
#include <assay/report/headline.hpp>
#include <assay/report/short_text.hpp>
#include <assay/stats/signed_rank.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace assay::report::detail {

/// The forest plot of a clock: a row for each contrast, all on one axis.
inline markup forest(measure::comparison const& all, measure::clock on, page_ids& ids,
                     page_budget const& budget) {
  auto const found = shown_findings(all, on);
  auto const bound = 1 + all.margin;
  std::vector<double> ratios{bound, 1 / bound};
  for (auto const* each : found) {
    if (has_interval(each->effect)) {
      ratios.insert(ratios.end(), {each->effect.ratio, each->effect.low, each->effect.high});
    }
  }
  auto const x = ratio_axis(ratios, "the control's", on);
  markup rows;
  for (std::size_t i = 0; i < std::min(found.size(), budget.marks); ++i) {
    auto const& each = *found[i];
    auto strip = strip_of(each.contrast_name, sentence(each, all), x);
    strip.band_x(1 / bound, bound);
    strip.rule_x(1);
    auto const& [ratio, low, high, confidence] = each.effect;
    bool const open = each.outcome == measure::verdict::inconclusive ||
                      each.outcome == measure::verdict::unproven;
    if (each.outcome != measure::verdict::wrong_answer && has_interval(each.effect)) {
      strip.marks({{.x = ratio,
                    .y = 0.5,
                    .text = effect_and_interval(each),
                    .open = open,
                    .x_low = std::max(low, x.low),
                    .x_high = std::min(high, x.high)}},
                  0);
    }
    rows += strip_row(each.contrast_name, strip.svg(ids.next()),
                      element("b", verdict_class(each), verdict_text(each)) + " " +
                          element("span", "whole", effect_and_interval(each)));
  }
  return strip_list(rows, x, ids);
}

/// The findings of a clock as a table.
inline html_table findings_table(measure::comparison const& all, measure::clock on) {
  html_table rows{
      {"contrast", "clock", "verdict", "effect", "low", "high", "confidence", "noise", "in words"}};
  for (auto const* each : shown_findings(all, on)) {
    auto const& [ratio, low, high, confidence] = each->effect;
    bool const timed =
        each->outcome != measure::verdict::wrong_answer && has_interval(each->effect);
    auto const share = [&, form = form_of(each->effect)](double value) {
      return timed ? html_cell{form.text(value), value} : html_cell{"-"};
    };
    rows.add({each->contrast_name, to_string(on), verdict_text(*each), share(ratio), share(low),
              share(high), html_cell{setting_percent(confidence), confidence},
              timed ? html_cell{percent(each->noise), each->noise} : html_cell{"-"},
              sentence(*each, all)});
  }
  return rows;
}

/// Adds the ends of the margin, unless they are so far from the values that an axis with both would
/// hide how the values differ.
inline void show_margin_if_near(std::vector<double>& values, double margin) {
  std::erase_if(values, [](double each) { return !(each > 0) || !std::isfinite(each); });
  auto const [low, high] = std::ranges::minmax(values.empty() ? std::vector{1.0} : values);
  auto const room = std::pow(high / low, 3);
  if (values.empty() || (low / room <= 1 + margin && high * room >= 1 / (1 + margin))) {
    values.insert(values.end(), {1 / (1 + margin), 1.0, 1 + margin});
  }
}

/// The effects of a contrast in the order of epochs, with the estimate of each interim analysis.
inline figure epoch_figure(measure::finding const& of, measure::comparison const& all,
                           page_ids& ids) {
  std::vector<mark> effects, analyses;
  std::vector<double> values;
  for (double const each : of.epoch_effects) {
    auto const ratio = std::exp(each);
    auto const number = static_cast<double>(effects.size() + 1);
    effects.push_back({.x = number, .y = ratio, .text = "epoch " + fixed(number, 0)});
    values.push_back(ratio);
  }
  auto const add = [&](double at, measure::estimate const& effect) {
    analyses.push_back({.x = at,
                        .y = effect.ratio,
                        .text = interval_text(effect),
                        .y_low = effect.low,
                        .y_high = effect.high});
    if (has_interval(effect)) { values.insert(values.end(), {effect.low, effect.high}); }
  };
  for (auto const& each : all.analyses) {
    auto const count = static_cast<std::size_t>(std::max(each.epochs, 0));
    if (count == 0 || count >= of.epoch_effects.size()) { continue; }  // the last one is below
    auto const so_far = std::span{of.epoch_effects}.first(count);
    if (!std::ranges::all_of(so_far, [](double effect) { return std::isfinite(effect); })) {
      continue;
    }
    auto const found = stats::signed_rank_interval(so_far, each.critical_value);
    add(each.epochs + 0.5, {std::exp(found.estimate), std::exp(found.low), std::exp(found.high)});
  }
  auto const last = static_cast<double>(of.epoch_effects.size());
  add(last + 1, of.effect);
  show_margin_if_near(values, all.margin);
  axis x{.label = "epoch, in run order", .low = 0, .high = last + 2};
  auto const title = of.contrast_name + " (" + clock_name(of.on) + ")";
  chart drawn{title, "Effects of " + fixed(last, 0) + " epochs. " + sentence(of, all), x,
              ratio_axis(values, "the control's", of.on), 150};
  drawn.band_y(1 / (1 + all.margin), 1 + all.margin);
  drawn.rule_y(1);
  drawn.marks(effects, 0);
  for (auto const& each : analyses) { drawn.rule_x(each.x, "analysis"); }
  drawn.marks(analyses, 1);
  return {title, {}, drawn.svg(ids.next()), {}};
}

/// The effects of all epochs as a table.
inline html_table epoch_table(measure::comparison const& all) {
  html_table rows{{"contrast", "clock", "epoch", "effect"}};
  for (auto const* of : shown_findings(all, all.primary)) {
    for (std::size_t i = 0; i < of->epoch_effects.size(); ++i) {
      auto const ratio = std::exp(of->epoch_effects[i]);
      rows.add({of->contrast_name, to_string(of->on), count_cell(i + 1),
                html_cell{report::change_text(ratio, percent_decimals(ratio - 1)), ratio - 1}});
    }
  }
  return rows;
}

}  // namespace assay::report::detail
