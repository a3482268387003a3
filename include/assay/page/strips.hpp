// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. Charts that are lists: a name, a strip of the chart, and a value in words; the
/// host time of an item as such a list.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// The chart of one row.
inline chart strip_of(std::string title, std::string description, axis const& x) {
  return {std::move(title), std::move(description), x, {}, 22, {false, false}};
}

/// `value` is a text or markup.
template <class Value>
markup strip_row(std::string const& name, markup const& strip, Value const& value) {
  return element("li", "", element("span", "name", name), element("span", "strip", strip),
                 element("span", "value", value)) +
         "\n";
}

/// The rows, and below them their axis.
inline markup strip_list(markup const& rows, axis const& x, page_ids& ids) {
  chart const scale{"Axis", x.label, x, {}, 1, {true, false}};
  return element("ul", "forest", rows, strip_row("", scale.svg(ids.next()), ""));
}

/// A row of bars: the seconds of each part, and a value in words.
struct bar_row {
  std::string label;
  std::vector<std::pair<std::string, double>> parts;
  std::string value;
};

/// Times as bars of their parts from left to right, with a legend; empty if all are zero. `what`
/// stands behind the unit of the axis.
inline markup stacked_bars(std::vector<bar_row> const& rows, std::string const& what,
                           page_ids& ids) {
  double most = 0;
  std::vector<std::string> names;
  for (auto const& row : rows) {
    double sum = 0;
    for (auto const& [name, seconds] : row.parts) {
      sum += std::max(seconds, 0.0);
      add_distinct(names, name);
    }
    most = std::max(most, sum);
  }
  if (!(most > 0)) { return {}; }
  auto const unit = unit_for(most);
  axis const x{.label = std::string{unit.name} + what,
               .high = most * 1.05,
               .text = [unit](double value) { return plain_number(value * unit.factor); }};
  markup strips, keys;
  for (auto const& row : rows) {
    auto strip = strip_of(row.label, "Times of parts: the table has them.", x);
    double from = 0;
    for (auto const& [name, seconds] : row.parts) {
      if (!(seconds > 0)) { continue; }
      auto const style = std::ranges::find(names, name) - names.begin();
      strip.bar(from, from + seconds, 0.5, 0.7, static_cast<std::size_t>(style),
                name + ": " + duration(seconds));
      from += seconds;
    }
    strips += strip_row(row.label, strip.svg(ids.next()), row.value);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    keys += element("li", "", bar_key(i), names[i]);
  }
  return element("ul", "legend", keys) + strip_list(strips, x, ids);
}

/// Bars and a table of the host time of an item; empty where no variant has it.
inline markup host_section(measure::comparison const& all, page_ids& ids,
                           page_budget const& budget) {
  html_table rows{
      {"variant", "p50", "p99", "maximum", "mean", "allocation", "lock waiting", "launching"}};
  std::vector<bar_row> bars;
  for (auto const& each : all.variants) {
    if (!each.submission) { continue; }
    auto const& [total, allocation, lock_wait, launching, items] = *each.submission;
    bars.push_back({each.label,
                    {{"allocation", allocation.mean * 1e-9},
                     {"lock waiting", lock_wait.mean * 1e-9},
                     {"launching", launching.mean * 1e-9}},
                    duration(total.mean * 1e-9) + " mean"});
    std::vector<html_cell> row{each.label};
    for (double const ns : {total.p50, total.p99, total.max, total.mean, allocation.mean,
                            lock_wait.mean, launching.mean}) {
      row.push_back(time_cell(ns * 1e-9));
    }
    rows.add(std::move(row));
  }
  auto const drawn = stacked_bars(bars, " per item, mean host time", ids);
  if (drawn.empty()) { return {}; }
  return title_of("Host time of an item") +
         paragraph("Means over the items of untimed batches, from left to right:", "soft") + drawn +
         rows.folded("host time of an item", budget.marks);
}

}  // namespace assay::report::detail
