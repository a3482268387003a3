// SPDX-License-Identifier: Apache-2.0
/// @file
/// The difference between the steps of two runs as a page of HTML: one file that loads nothing.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/waterfall.hpp>
#include <assay/report/format.hpp>
#include <assay/report/traced.hpp>
#include <assay/stats/five_numbers.hpp>
#include <assay/trace/results.hpp>
#include <assay/trace/step_difference.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

/// The waterfall of a step: the control's work, the changes of its parts, the variant's work.
inline markup step_waterfall(trace::step_difference const& of, trace::step_labels const& names,
                             page_ids& ids) {
  measure::comparison all;
  all.variants.resize(2);
  all.variants[0].label = names.control;
  all.variants[1].label = names.variant;
  measure::traced_difference traced;
  traced.control.batch.ns = of.work.of.control.ns;
  traced.variant.variant = 1;
  traced.control_seconds = std::numeric_limits<double>::quiet_NaN();  // none is untraced
  traced.traced = traced_time_of(of.work.of.delta);
  for (auto const& each : of.parts) { traced.parts.push_back(traced_part_of(each.of)); }
  return waterfall_chart(waterfall_steps(all, traced),
                         "a step, from its first call to the end of its work", ids) +
         parts_table(traced).folded("parts of the difference", 1000);
}

/// The mean step of both sides: devices at work, idle by cause, and before and after the work.
inline markup step_idle(trace::step_difference const& of, trace::step_labels const& names,
                        page_ids& ids) {
  html_table rows{{"run", "time", "a step, mean"}};
  std::vector<bar_row> bars;
  for (auto const& [side, name] :
       {std::pair{&of.control, &names.control}, std::pair{&of.variant, &names.variant}}) {
    auto& bar = bars.emplace_back(bar_row{*name, {}, {}});
    double idle = 0;
    auto const add = [&](std::string const& what, double ns, double other_ns) {
      if (ns == 0 && other_ns == 0) { return; }  // colours are few
      bar.parts.emplace_back(what, ns * 1e-9);
      rows.add({*name, what, time_cell(ns * 1e-9)});
    };
    auto const& other = side == &of.control ? of.variant : of.control;
    add("devices work", side->device_ns, other.device_ns);
    for (std::size_t cause = 0; cause < trace::idle_causes; ++cause) {
      idle += side->idle_ns[cause];
      add("idle, " + std::string{to_string(static_cast<trace::idle_cause>(cause))},
          side->idle_ns[cause], other.idle_ns[cause]);
    }
    add("before the first and after the last work", side->edge_ns, other.edge_ns);
    bar.value = duration(idle * 1e-9) + " idle";
  }
  return stacked_bars(bars, " of a step, all devices as one", ids) +
         rows.folded("a step by what devices do", 1000);
}

/// The host's calls of a step, whether devices waited for them or not.
inline markup step_calls(std::vector<trace::step_change> const& calls) {
  html_table rows{
      {"call", "change", "low", "high", "control", "variant", "times, control", "times, variant"}};
  for (auto const& each : calls) {
    auto const& [what, name, control, variant, pairs, tracing, delta] = each.of;
    rows.add({name, change_cell(delta.estimate), change_cell(delta.low), change_cell(delta.high),
              time_cell(control.ns * 1e-9), time_cell(variant.ns * 1e-9),
              html_cell{fixed(control.count, 0), control.count},
              html_cell{fixed(variant.count, 0), variant.count}});
  }
  return rows.html("medians of a step", 1000);
}

}  // namespace detail

/// The page: the run to choose, the sentences, then the waterfall, idle time by cause and the
/// host's calls of a step.
inline std::string steps_page(trace::step_difference const& of, trace::step_labels const& names,
                              std::string const& headline, std::vector<std::string> const& lines) {
  detail::page_ids ids;
  auto const title = names.range + ": " + names.variant + " against " + names.control;
  auto body = element("h1", "", title) + detail::paragraph(headline, "choice");
  for (auto const& line : lines) { body += detail::paragraph(line); }
  if (!of.parts.empty()) {
    body += detail::title_of("The difference, part by part") +
            detail::step_waterfall(of, names, ids) + detail::title_of("Idle time by cause") +
            detail::step_idle(of, names, ids);
  }
  if (!of.calls.empty()) {
    body += detail::title_of("The host's calls") + detail::step_calls(of.calls);
  }
  return detail::whole_page(title, body);
}

}  // namespace assay::report
