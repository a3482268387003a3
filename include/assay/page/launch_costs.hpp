// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. Time over launches per cell: the cost of a launch against that of a cell.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/report/format.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The line of one variant in a sentence.
inline std::string cost_sentence(measure::variant_result const& of, int launches) {
  auto const& [per_launch, per_cell, confidence, cells] = *of.costs;
  auto const share = per_cell.estimate / (per_cell.estimate + launches * per_launch.estimate);
  return of.label + ": a launch costs " + duration(per_launch.estimate) + " [" +
         duration(per_launch.low) + ", " + duration(per_launch.high) + "], a cell of " +
         std::to_string(launches) + " launches " +
         duration_change(per_cell.estimate, per_cell.low, per_cell.high) + " more, " +
         (per_cell.excludes(0) ? percent(share) + " of its time."
                               : "not distinguishable from zero.");
}

/// The cells and lines of the variants of a group, without those that have no line.
inline figure launch_figure(measure::comparison const& all, std::vector<std::size_t> const& group,
                            page_ids& ids) {
  std::vector<double> launches{0}, seconds{0};
  for (auto const i : group) {
    if (!all.variants[i].costs) { continue; }
    launches.push_back(all.launches);
    for (auto const& each : all.variants[i].costs->cells) {
      seconds.insert(seconds.end(), {each.seconds, each.full_seconds});
    }
  }
  if (launches.size() == 1) { return {}; }
  auto const unit = unit_for(*std::ranges::max_element(seconds));
  figure made{.title = "Time over launches per cell, " + clock_name(all.primary)};
  chart drawn{made.title, "The table has the costs of a launch and of a cell.",
              axis_over(launches, "launches in a cell", plain_number),
              axis_over(seconds, std::string{unit.name} + " per cell, " + clock_name(all.primary),
                        [unit](double value) { return plain_number(value * unit.factor); }),
              220};
  for (std::size_t style = 0; style < group.size(); ++style) {
    auto const& of = all.variants[group[style]];
    if (!of.costs) { continue; }
    std::vector<place> dots;
    for (auto const& each : of.costs->cells) {
      dots.push_back({1.0 * each.launches, each.seconds});
      dots.push_back({1.0 * all.launches, each.full_seconds});
    }
    drawn.dots(dots, style);
    auto const start = of.costs->per_cell.estimate;
    drawn.line(
        {{0, start}, {1.0 * all.launches, start + all.launches * of.costs->per_launch.estimate}},
        style);
    made.legend.emplace_back(style, of.label);
    made.note += (made.note.empty() ? "" : " ") + cost_sentence(of, all.launches);
  }
  made.picture = drawn.svg(ids.next());
  return made;
}

/// The lines of all variants as a table.
inline html_table cost_table(measure::comparison const& all) {
  html_table rows{
      {"variant", "clock", "a launch costs", "from", "to", "a cell costs", "from", "to", "epochs"}};
  for (auto const& each : all.variants) {
    if (!each.costs) { continue; }
    std::vector<html_cell> row{each.label, to_string(all.primary)};
    for (auto const& of : {each.costs->per_launch, each.costs->per_cell}) {
      for (double const value : {of.estimate, of.low, of.high}) {
        row.push_back({signed_duration(value), value});
      }
    }
    row.push_back(count_cell(each.costs->cells.size()));
    rows.add(std::move(row));
  }
  return rows;
}

}  // namespace assay::report::detail
