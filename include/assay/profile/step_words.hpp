// SPDX-License-Identifier: Apache-2.0
/// @file
/// The difference between the steps of two runs in words.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/trace_words.hpp>
#include <assay/report/words.hpp>
#include <assay/stats/rank_sum.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/step_difference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::profile {

namespace detail {

/// Text tells that intervals were widened from so many times on: chance alone widens those of some
/// 30 independent steps by 1.1 times.
inline constexpr double told_widening = 1.2;

/// `+2.00 % [+1.90, +2.10]`; empty where the control takes no time.
inline std::string factor_text(stats::interval const& of) {
  measure::estimate const effect{of.estimate, of.low, of.high};
  if (!std::isfinite(of.estimate)) { return {}; }
  return report::effect_text(effect) +
         (report::has_interval(effect) ? " " + report::interval_text(effect) : std::string{});
}

/// A change with its factor: `+160.0 us [+150.0, +170.0], +2.0 % [+1.9, +2.1]`.
inline std::string step_change_text(trace::step_change const& each,
                                    trace::step_difference const& in) {
  if (each.of.delta.low == 0 && each.of.delta.high == 0) { return "no change"; }
  auto const factor = factor_text(each.factor);
  return report::detail::interval_time(each.of.delta) + (factor.empty() ? "" : ", " + factor) +
         (!std::isfinite(each.of.delta.low) ? ""
          : !each.of.distinguishable()      ? ", not distinguishable from zero"
          : !trace::beyond_runs(each, in)   ? ", not more than runs of one program differ by"
                                            : "");
}

/// True for a part that the text names: not small, and larger than runs differ by, as far as its
/// interval tells, if it has one.
inline bool is_named(trace::step_change const& each, trace::step_difference const& in) {
  auto const ns = std::abs(each.of.delta_ns());
  auto const difference =
      trace::beyond_runs(in.work, in) ? std::abs(in.work.of.delta_ns()) : HUGE_VAL;
  return (trace::beyond_runs(each, in) || !in.has_intervals()) && ns > 0 &&
         (ns >= trace::named_share_of_control * in.work.of.control.ns ||
          ns >= trace::named_share_of_difference * difference);
}

/// The changes that count, and the number of others.
inline void add_step_lines(std::vector<std::string>& to, std::vector<trace::step_change> const& all,
                           trace::step_difference const& in, std::string_view before,
                           std::size_t most, std::string const& others) {
  std::size_t shown = 0;
  for (auto const& each : all) {
    if (shown == most || !is_named(each, in)) { continue; }
    ++shown;
    auto const factor = factor_text(each.factor);
    auto const kind = !before.empty()                   ? std::string{before}
                      : trace::is_of_host(each.of.what) ? std::string{"Waits: "}
                                                        : std::string{"Devices: "};
    to.push_back(concat(
        {kind, report::detail::change_text(each.of), factor.empty() ? "" : ", " + factor, "."}));
  }
  if (shown < all.size()) {
    to.push_back(report::detail::counted(static_cast<std::int64_t>(all.size() - shown), others,
                                         others + "s") +
                 (in.has_intervals() ? ": smaller, or not more than runs of one program differ by."
                                     : ": smaller."));
  }
}

/// What the intervals say, and what they do not.
inline std::vector<std::string> step_notes(trace::step_difference const& of) {
  auto const count_of = [](trace::step_side const& side) { return report::count(side.steps); };
  if (!of.has_intervals()) {
    return {
        concat({"No interval: ", count_of(of.control), " and ", count_of(of.variant),
                " steps are too few, ",
                report::count(static_cast<std::uint64_t>(stats::fewest_rank_sum_values(of.alpha))),
                " of each needed."})};
  }
  auto const all = of.parts.size() + of.calls.size();
  auto const alone = report::percent(1 - of.alpha, 0);
  std::vector<std::string> lines{concat(
      {"Levels: ", alone, " for the range and for its work, each alone. ",
       of.together
           ? concat({"The intervals of ", report::count(all), " parts and calls hold together at ",
                     alone, ", each at ", report::percent(1 - of.level, 2), "."})
           : concat({"The steps are too few for intervals of ", report::count(all),
                     " parts and calls that hold together: each holds alone at ", alone,
                     ", and of equal steps ", report::fixed(of.alpha * static_cast<double>(all), 1),
                     " exclude zero."})})};
  lines.push_back(
      "Intervals cover the steps of these two runs. Runs of one program differ by more than their "
      "steps do: less than " +
      report::percent(trace::between_runs, 0) +
      " of a step, or of a kernel or copy, is not named. A smaller difference needs several runs.");
  if (of.range.widening >= told_widening) {
    lines.push_back(
        "Steps depend on those before them: intervals are wider than those of "
        "independent steps, that of the range " +
        report::fixed(of.range.widening, 1) + " times.");
  }
  return lines;
}

}  // namespace detail

/// The first line of a page: the run to choose, by how much, how sure, and what that saves. The
/// range decides, or the work where the host does not wait for it.
inline std::string step_headline(trace::step_difference const& of,
                                 trace::step_labels const& names) {
  auto const both = concat({names.control, " and ", names.variant});
  if (!of.has_intervals()) { return "No choice: steps of " + both + " are too few."; }
  bool const by_range = trace::beyond_runs(of.range, of);
  auto const& by = by_range ? of.range : of.work;
  if (!trace::beyond_runs(by, of)) {
    auto const most = trace::between_runs * of.work.of.control.ns;
    bool const equal = std::max({-of.range.of.delta.low, of.range.of.delta.high,
                                 -of.work.of.delta.low, of.work.of.delta.high}) <= most;
    return concat({equal ? "EQUIVALENT: steps of " : "INCONCLUSIVE: steps of ", both,
                   equal ? " differ by no more than runs of one program do"
                         : " are not proven to differ by more than runs of one program do",
                   "; choose by other grounds."});
  }
  bool const slower = by.of.delta.low > 0;
  auto const saved = [&](double factor) { return 1 - (slower ? 1 / factor : factor); };
  auto const& [least, ratio, most] = by.factor;
  auto const shown = [&, decimals = report::percent_decimals(saved(ratio))](double factor) {
    return report::fixed(100 * saved(factor), decimals);
  };
  return concat({"Choose ", slower ? names.control : names.variant,
                 by_range ? ": a step takes " : ": the work of a step takes ", shown(ratio),
                 " % less time than in ", slower ? names.variant : names.control, " [",
                 shown(slower ? least : most), ", ", shown(slower ? most : least), "], sure at ",
                 report::percent(1 - of.alpha, 0), " for these two runs. It saves ",
                 report::detail::nanoseconds(std::abs(by.of.delta.estimate)), " of ",
                 report::detail::nanoseconds(slower ? by.of.variant.ns : by.of.control.ns), "."});
}

/// Lines on the difference per step: the range, its work, the parts of the work, the host's calls,
/// and what the intervals cover.
inline std::vector<std::string> sentences(trace::step_difference const& of,
                                          trace::step_labels const& names, std::size_t most = 5) {
  auto const side = [](trace::step_side const& steps, std::string const& name, double ns) {
    return concat({report::count(steps.steps), steps.steps == 1 ? " step of " : " steps of ", name,
                   ", median ", report::detail::nanoseconds(ns)});
  };
  std::vector<std::string> lines{
      concat({names.range, ": ", side(of.control, names.control, of.range.of.control.ns), "; ",
              side(of.variant, names.variant, of.range.of.variant.ns), "."}),
      concat({"The range, from begin to end on the host: ", detail::step_change_text(of.range, of),
              "."}),
      concat({"Its work, from the first call to the end of the last: ",
              detail::step_change_text(of.work, of), of.parts.empty() ? "." : ". Its parts:"})};
  detail::add_step_lines(lines, of.parts, of, "", most, "other part");
  detail::add_step_lines(lines, of.calls, of, "Host, in all: ", most, "other call");
  for (auto& each : detail::step_notes(of)) { lines.push_back(std::move(each)); }
  return lines;
}

}  // namespace assay::profile
