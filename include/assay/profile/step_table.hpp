// SPDX-License-Identifier: Apache-2.0
/// @file
/// The difference between the steps of two runs as a table, a line for each part.
#pragma once

#include <assay/trace/step_difference.hpp>
#include <assay/trace/table.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay::profile {

/// The range, its work, the parts that sum up to the work, and the host's calls ("host call"), each
/// with at most `most` lines (0: all). `Low` and `High` are missing where there is no interval, and
/// `Factor` beside two medians of zero.
inline trace::table step_table(trace::step_difference const& of, std::string const& range,
                               std::size_t most) {
  trace::table made{
      "step_difference", "What Changed per Step",
      trace::parse_columns("Delta (ns):1, Low (ns):1, High (ns):1, Factor:3, Factor Low:3, "
                           "Factor High:3, Control (ns):1, Variant (ns):1, Control Count:1, "
                           "Variant Count:1, Control (MB):3, Variant (MB):3, Level (%):3, Kind:t, "
                           "Name:t")};
  auto const known = [](double value) {
    return std::isfinite(value) ? std::optional{value} : std::nullopt;
  };
  auto const add = [&](trace::step_change const& each, double level, std::string_view kind,
                       std::string const& name) {
    auto const& [what, ignored, control, variant, pairs, tracing, delta] = each.of;
    auto const interval = std::isfinite(delta.low);
    auto const factor = [&, both_none = control.ns == 0 && variant.ns == 0](double value) {
      return both_none ? std::nullopt : known(value);
    };
    made.add(delta.estimate, known(delta.low), known(delta.high), factor(each.factor.estimate),
             interval ? factor(each.factor.low) : std::nullopt, factor(each.factor.high),
             control.ns, variant.ns, control.count, variant.count, control.bytes / 1e6,
             variant.bytes / 1e6, interval ? std::optional{100 * (1 - level)} : std::nullopt, kind,
             name);
  };
  add(of.range, of.alpha, "range", range);
  add(of.work, of.alpha, "work", range);
  for (auto const* changes : {&of.parts, &of.calls}) {
    std::size_t lines = 0;
    for (auto const& each : *changes) {
      if (most != 0 && ++lines > most) { break; }
      add(each, of.level, changes == &of.calls ? "host call" : to_string(each.of.what),
          each.of.name);
    }
  }
  return made;
}

}  // namespace assay::profile
