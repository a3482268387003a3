// SPDX-License-Identifier: Apache-2.0
/// @file
/// `difference_table`: the changes between traces of two sides as a table.
#pragma once

#include <assay/trace/difference.hpp>
#include <assay/trace/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace assay::examples {

/// The changes as a table, at most `most` of them (0: all). Times and counts are whole numbers, but
/// for means over several runs.
inline trace::table difference_table(trace::trace_difference const& of, std::size_t most = 20) {
  using enum trace::cell_format;
  auto const format_of = [&](double trace::breakdown_entry::*member) {
    auto const whole = [&](trace::change const& each) {
      return each.control.*member == std::trunc(each.control.*member) &&
             each.variant.*member == std::trunc(each.variant.*member);
    };
    return std::string{std::ranges::all_of(of.changes, whole) ? ", " : ":1, "};
  };
  auto const times = format_of(&trace::breakdown_entry::ns);
  auto const counts = format_of(&trace::breakdown_entry::count);
  trace::table result{
      "difference", "What Changed",
      trace::parse_columns("Share (%):1, Delta (ns)" + times + "Control (ns)" + times +
                           "Variant (ns)" + times + "Control Count" + counts + "Variant Count" +
                           counts + "Control (MB):3, Variant (MB):3, Seen by:t, Kind:t, Name:t")};
  for (auto const& each : of.changes) {
    if (most != 0 && result.rows() == most) { break; }
    result.add(100 * each.share, each.delta_ns(), each.control.ns, each.variant.ns,
               each.control.count, each.variant.count, each.control.bytes / 1e6,
               each.variant.bytes / 1e6, to_string(each.seen_by), to_string(each.what), each.name);
  }
  return result;
}

}  // namespace assay::examples
