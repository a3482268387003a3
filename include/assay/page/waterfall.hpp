// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The difference between two variants by its parts, and their idle time.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/strips.hpp>
#include <assay/trace/labels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report::detail {

inline std::string change_in_words(measure::traced_time const& of) {
  return duration_change(of.ns * 1e-9, of.low_ns * 1e-9, of.high_ns * 1e-9);
}

/// The label of a variant, also for an index that a broken record has.
inline std::string label_at(measure::comparison const& all, int variant) {
  auto const at = static_cast<std::size_t>(variant);
  return variant >= 0 && at < all.variants.size() ? all.variants[at].label
                                                  : "variant " + std::to_string(variant);
}

/// `kernel: gemm`, `waits: cudaMalloc`: the source of a part's time. A kernel has its short name.
inline std::string part_name(measure::traced_part const& of) {
  constexpr std::array<std::string_view, 5> of_devices{"kernel", "copy", "set", "idle", "edge"};
  bool const device = std::ranges::find(of_devices, of.kind) != of_devices.end();
  return (device ? of.kind : "waits") + (of.kind == "host code" ? ": host code " : ": ") +
         (of.kind == "kernel" ? trace::short_kernel_name(of.name) : of.name);
}

/// A bar of a waterfall: a change from the sum so far, or the whole time of a variant.
struct waterfall_step {
  std::string name;
  measure::traced_time change;
  bool whole = false;
  bool clear = true;     ///< false: its interval has zero
  bool tracing = false;  ///< what tracing added, which is no part of the difference
  bool rest = false;     ///< what the steps before it leave
};

/// The most parts that a waterfall shows by themselves.
inline constexpr std::size_t waterfall_parts = 8;

/// The steps from the control's time to the variant's. The bars add up: a last step has what the
/// others leave, since medians do not.
inline std::vector<waterfall_step> waterfall_steps(measure::comparison const& all,
                                                   measure::traced_difference const& of) {
  bool const timed = std::isfinite(of.control_seconds) && std::isfinite(of.untraced.ns);
  auto const start = timed ? of.control_seconds * 1e9 : of.control.batch.ns;
  std::vector<waterfall_step> steps{{label_at(all, of.control.variant), {.ns = start}, true}};
  std::size_t others = 0, clear_others = 0;
  // The time that tracing added is taken off already, or has a step of its own.
  bool const own_step = timed && !of.tracing_taken;
  double const sum = own_step           ? of.traced.ns
                     : timed            ? of.untraced.ns
                     : of.tracing_taken ? of.traced.ns - of.tracing.ns
                                        : of.traced.ns;
  double left = sum;
  for (auto const& each : of.parts) {
    bool const clear = each.delta.distinguishable() || !each.delta.has_interval();
    if (!clear || steps.size() > waterfall_parts) {
      ++others;
      clear_others += clear ? 1 : 0;
      continue;
    }
    steps.push_back({part_name(each), each.delta});
    left -= each.delta.ns;
  }
  if (others > 0 || std::abs(left) > 1e-9 * std::abs(sum)) {
    auto const some =
        others == 0 ? ""
                    : count(others) + (others == 1 ? " other part, and " : " other parts, and ");
    auto const noise = others > 0 && clear_others == 0;
    steps.push_back({.name = some +
                             (own_step || !timed ? "what medians leave"
                                                 : "what medians and other batches leave") +
                             (noise ? "; each part is not distinguishable from zero" : ""),
                     .change = {.ns = left},
                     .rest = true});
  }
  if (own_step) {
    auto const& added = of.tracing;
    steps.push_back(
        {"less what tracing added",
         {.ns = of.untraced.ns - of.traced.ns, .low_ns = -added.high_ns, .high_ns = -added.low_ns},
         false,
         added.distinguishable() || !added.has_interval(),
         true});
  }
  auto const end = start + (timed ? of.untraced.ns : sum);
  steps.push_back({label_at(all, of.variant.variant), {.ns = end}, true});
  return steps;
}

/// The kind of a step, for its colour: those of a part agree with SLOWER and FASTER.
inline std::string_view kind_of(waterfall_step const& step) {
  if (step.whole) { return "whole"; }
  return !step.clear          ? "unsure"
         : step.tracing       ? "tracing"
         : step.rest          ? "rest"
         : step.change.ns > 0 ? "more"
                              : "less";
}

/// The legend of the kinds that the steps have.
inline markup waterfall_legend(std::vector<waterfall_step> const& steps) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kinds{
      {{"whole", "the whole time of a variant"},
       {"more", "takes longer"},
       {"less", "takes less time"},
       {"tracing", "by tracing"},
       {"unsure", "not distinguishable from zero"},
       {"rest", "what the parts leave"}}};
  markup keys;
  for (auto const& [kind, words] : kinds) {
    if (std::ranges::find(steps, kind, kind_of) == steps.end()) { continue; }
    auto const key = kind == "whole" ? chart_key(0) : box_key("step " + std::string{kind});
    keys += element("li", "", key, words);
  }
  return element("ul", "legend", keys);
}

/// The strip of one step, and its value in words.
inline markup waterfall_row(waterfall_step const& step, double from, axis const& x, page_ids& ids) {
  auto const to = step.whole ? step.change.ns : from + step.change.ns;
  auto const words = step.whole ? duration(to * 1e-9)
                                : change_in_words(step.change) +
                                      (step.clear ? "" : ", not distinguishable from zero");
  auto strip = strip_of(step.name, words, x);
  if (step.whole) {
    strip.rule_x(to);
    strip.marks({{.x = to, .y = 0.5, .text = words}}, 0);
  } else {
    strip.step(std::min(from, to), std::max(from, to), kind_of(step), words);
    strip.whisker(from + step.change.low_ns, from + step.change.high_ns, 0.5);
  }
  return strip_row(step.name, strip.svg(ids.next()), words);
}

/// The parts of a difference as a table.
inline html_table parts_table(measure::traced_difference const& of) {
  html_table rows{{"part", "change", "low", "high", "control", "variant", "times, control",
                   "times, variant", "bytes, control", "bytes, variant", "in words"}};
  for (auto const& each : of.parts) {
    auto const number = [](double value) { return html_cell{fixed(value, 0), value}; };
    auto const words = !each.delta.has_interval()     ? "no interval: too few traced batches"
                       : each.delta.distinguishable() ? "distinguishable from zero"
                                                      : "not distinguishable from zero";
    rows.add({each.kind + ": " + each.name, change_cell(each.delta.ns),
              change_cell(each.delta.low_ns), change_cell(each.delta.high_ns),
              time_cell(each.control_ns * 1e-9), time_cell(each.variant_ns * 1e-9),
              number(each.control_count), number(each.variant_count),
              html_cell{byte_size(each.control_bytes), each.control_bytes},
              html_cell{byte_size(each.variant_bytes), each.variant_bytes}, words});
  }
  return rows;
}

/// The strips of a waterfall below its legend; empty where no step has a finite time. The axis
/// reads `ms a batch`, with the words of `per`.
inline markup waterfall_chart(std::vector<waterfall_step> const& steps, std::string const& per,
                              page_ids& ids) {
  std::vector<double> values;
  double sum = 0;
  for (auto const& each : steps) {
    if (!each.whole) {
      values.insert(values.end(), {sum + each.change.low_ns, sum + each.change.high_ns});
    }
    sum = each.whole ? each.change.ns : sum + each.change.ns;
    values.push_back(sum);
  }
  std::erase_if(values, [](double each) { return !std::isfinite(each); });
  if (values.empty()) { return {}; }
  auto const unit = unit_for(*std::ranges::max_element(values) * 1e-9);
  auto const x = axis_over(values, std::string{unit.name} + ' ' + per,
                           [unit](double ns) { return plain_number(ns * 1e-9 * unit.factor); });
  markup rows;
  sum = 0;
  for (auto const& each : steps) {
    rows += waterfall_row(each, sum, x, ids);
    sum = each.whole ? each.change.ns : sum + each.change.ns;
  }
  return waterfall_legend(steps) + element("div", "waterfall", strip_list(rows, x, ids));
}

/// The waterfall of a difference, and its table.
inline markup waterfall(measure::comparison const& all, measure::traced_difference const& of,
                        page_ids& ids, page_budget const& budget) {
  auto const chart = waterfall_chart(waterfall_steps(all, of), "a batch, wall clock", ids);
  if (chart.empty()) { return {}; }
  auto const held = of.confidence > 0
                        ? count(of.pairs) +
                              " traced batches of each, in turn. Line: the interval; "
                              "all hold together at " +
                              percent(of.confidence, 0) + "."
                        : "Too few traced batches for intervals: " + count(of.pairs) + " of each.";
  return paragraph("From the time of " + label_at(all, of.control.variant) + " to that of " +
                       label_at(all, of.variant.variant) + ", by part. " + held,
                   "soft") +
         chart + parts_table(of).folded("parts of the difference", budget.marks);
}

/// Idle time of both variants by cause, as bars and as a table.
inline markup idle_by_cause(measure::comparison const& all, measure::traced_difference const& of,
                            page_ids& ids, page_budget const& budget) {
  html_table rows{{"variant", "cause", "idle", "low", "high"}};
  std::vector<bar_row> bars;
  for (auto const* side : {&of.control, &of.variant}) {
    auto& bar = bars.emplace_back(bar_row{label_at(all, side->variant), {}, {}});
    double sum = 0;
    for (auto const& [cause, time] : side->idle) {
      rows.add({bar.label, cause, time_cell(time.ns * 1e-9), time_cell(time.low_ns * 1e-9),
                time_cell(time.high_ns * 1e-9)});
      bar.parts.emplace_back(cause, time.ns * 1e-9);
      sum += std::max(time.ns, 0.0) * 1e-9;
    }
    bar.value = duration(sum) + " idle";
  }
  auto const drawn = stacked_bars(bars, " of a batch, all devices idle", ids);
  if (drawn.empty()) { return paragraph("No device was idle between its operations.", "soft"); }
  return drawn + rows.folded("idle time by cause", budget.marks);
}

}  // namespace assay::report::detail
