// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to page. The host time of an item as bars of its parts.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/page/parts.hpp>
#include <assay/page/strips.hpp>

#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// Bars and a table of the host time of an item; empty where no variant has it.
inline std::string host_section(measure::comparison const& all, page_ids& ids,
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
