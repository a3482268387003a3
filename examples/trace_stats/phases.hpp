// SPDX-License-Identifier: Apache-2.0
/// @file
/// `compare_phases`: the device time of two phases by class, side by side.
#pragma once

#include <assay/trace/largest_first.hpp>
#include <assay/trace/summary_statistics.hpp>
#include <assay/trace/table.hpp>
#include <assay/trace/top_kernels.hpp>
#include <assay/trace/view.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// A phase of a run: its name, and its rows.
struct phase {
  std::string name;
  trace::view rows;
};

/// Two phases by class, with the shares of the classes in each. The difference is the second share
/// minus the first, in percentage points.
inline trace::table compare_phases(
    phase const& first, phase const& second,
    trace::kernel_classifier const& classes = trace::default_classes()) {
  using enum trace::cell_format;
  trace::table result{"phases",
                      "Phases Compared",
                      {{first.name + " (%)", one_decimal},
                       {second.name + " (%)", one_decimal},
                       {"Difference (points)", one_decimal},
                       {first.name + " (ns)"},
                       {second.name + " (ns)"},
                       {first.name + " Calls"},
                       {second.name + " Calls"},
                       {"Class", text}}};
  struct sums {
    trace::summary_statistics first, second;
  };
  std::map<std::string, sums> by_class;
  auto const firsts = trace::detail::operations_by_class(first.rows, classes);
  auto const seconds = trace::detail::operations_by_class(second.rows, classes);
  for (auto const& [name, each] : firsts) { by_class[name].first = each; }
  for (auto const& [name, each] : seconds) { by_class[name].second = each; }
  auto const first_sum = trace::total_of(firsts);
  auto const second_sum = trace::total_of(seconds);
  std::vector<std::pair<std::string, sums>> all{by_class.begin(), by_class.end()};
  trace::largest_first(
      all, [](auto const& of) { return of.second.first.total + of.second.second.total; });
  for (auto const& [name, each] : all) {
    auto const a = trace::percent_of(each.first.total, first_sum);
    auto const b = trace::percent_of(each.second.total, second_sum);
    result.add(a, b, b - a, each.first.total, each.second.total, each.first.count,
               each.second.count, name);
  }
  return result;
}

}  // namespace assay::examples
