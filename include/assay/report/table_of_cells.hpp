// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to text.hpp: the verdicts of a sweep as a table.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/format.hpp>
#include <assay/report/short_text.hpp>
#include <assay/report/table.hpp>
#include <assay/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// A row for each cell of a sweep: the axes that both variants share and that vary, the axes that
/// they do not share, the effect, its interval and verdict. Nothing for a comparison that is no
/// sweep, or whose axes do not tell its rows apart.
inline std::optional<table> table_of_cells(measure::comparison const& all) {
  std::vector<std::string> head, changed;
  std::set<std::vector<std::string>> told;
  std::vector<std::vector<std::string>> lines;
  for (auto const& each : all.findings) {
    if (!each.primary) { continue; }
    auto const pair = compared_pair(each);
    if (!pair || each.weights.size() != all.variants.size()) { return {}; }
    auto const& others = all.variants[pair->first].axes;
    std::vector<std::string> names, line;
    std::string axes, what;
    for (auto const& axis : all.variants[pair->second].axes) {
      if (std::find(others.begin(), others.end(), axis) == others.end()) {
        axes += (axes.empty() ? "" : ", ") + axis.first;
        what += (what.empty() ? "" : ", ") + axis.second;
      } else {
        names.push_back(axis.first);
        line.push_back(axis.second);
      }
    }
    if (lines.empty()) { head = names; }
    add_distinct(changed, axes);
    line.push_back(what);
    if (names != head || !told.insert(line).second) { return {}; }
    bool const timed = has_interval(each.effect);
    line.insert(line.end(), {timed ? effect_text(each.effect) : "",
                             timed ? interval_text(each.effect) : "", verdict_text(each)});
    lines.push_back(std::move(line));
  }
  for (auto a = head.size(); a-- > 0;) {
    auto const is_first = [&](auto const& line) { return line[a] == lines.front()[a]; };
    if (!std::all_of(lines.begin(), lines.end(), is_first)) { continue; }
    auto const drop = [a](auto& from) {
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(a));
    };
    drop(head);  // it is the same in all cells
    for (auto& line : lines) { drop(line); }
  }
  if (head.empty()) { return {}; }
  auto const axes = head.size();
  head.insert(head.end(),
              {changed.size() == 1 ? changed.front() : "variant", "effect", "interval", "verdict"});
  table rows{head, {axes, axes + 3}};
  for (auto& each : lines) { rows.add(std::move(each)); }
  return rows;
}

}  // namespace assay::report::detail
