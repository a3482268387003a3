// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The host time of an item as bars of its parts.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// Bars and a table of the host time of an item; empty where no variant has it.
inline std::string host_section(measure::comparison const& all, page_ids& ids,
                                page_budget const& budget) {
  using part = std::pair<char const*, measure::latency measure::submission_profile::*>;
  constexpr std::array parts{part{"allocation", &measure::submission_profile::allocation},
                             part{"lock waiting", &measure::submission_profile::lock_wait},
                             part{"launching", &measure::submission_profile::launching}};
  std::vector<double> means{0};
  for (auto const& each : all.variants) {
    if (each.submission) { means.push_back(each.submission->total.mean * 1e-9); }
  }
  auto const most = *std::ranges::max_element(means);
  if (!(most > 0)) { return {}; }
  auto const unit = unit_for(most);
  axis const x{.label = std::string{unit.name} + " per item, mean host time",
               .high = most * 1.05,
               .text = [unit](double value) { return plain_number(value * unit.factor); }};
  html_table rows{
      {"variant", "p50", "p99", "maximum", "mean", "allocation", "lock waiting", "launching"}};
  std::string strips, keys;
  for (auto const& each : all.variants) {
    if (!each.submission) { continue; }
    auto const& total = each.submission->total;
    chart strip{each.label, "Means: the table has them.", x, {}, 22, {false, false}};
    std::vector<html_cell> row{each.label};
    for (double const ns : {total.p50, total.p99, total.max, total.mean}) {
      row.push_back(time_cell(ns * 1e-9));
    }
    double from = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto const seconds = ((*each.submission).*parts[i].second).mean * 1e-9;
      strip.bar(from, from + seconds, 0.5, 0.7, i, parts[i].first + (": " + duration(seconds)));
      from += seconds;
      row.push_back(time_cell(seconds));
    }
    rows.add(std::move(row));
    strips += strip_row(escaped(each.label), strip.svg(ids.next()),
                        duration(total.mean * 1e-9) + " mean");
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    keys += element("li", "", bar_key(i) + parts[i].first);
  }
  chart const scale{"Axis", x.label, x, {}, 1, {true, false}};
  return element("h2", "", "Host time of an item") +
         element("p", "soft", "Means over the items of untimed batches, from left to right:") +
         element("ul", "legend", keys) +
         element("ul", "forest", strips + strip_row("", scale.svg(ids.next()), "")) +
         rows.folded("host time of an item", budget.marks);
}

}  // namespace assay::report::detail
