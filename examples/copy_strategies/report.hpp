// SPDX-License-Identifier: Apache-2.0
/// @file
/// The tables and answers of the copy-strategy experiment.
#pragma once

#include "copy_strategies.hpp"

#include <assay/cli/join.hpp>
#include <assay/core/distinct.hpp>
#include <assay/report/format.hpp>
#include <assay/report/table.hpp>
#include <assay/stats/classify.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace assay::examples {

/// "8 SMs", or "all SMs full".
inline std::string sms_text(int sms, bool capped) {
  if (!capped) { return "all SMs full"; }
  return std::to_string(sms) + (sms == 1 ? " SM" : " SMs");
}

/// The strategy that a finding holds against the first of its cell.
inline std::string variant_of(measure::comparison const& in, measure::finding const& found) {
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    if (found.weights[i] > 0) { return in.variants[i].label; }
  }
  return found.contrast_name;
}

/// The cells where strategies won or lost by more than the margin, and where nothing differed.
inline std::vector<std::string> summary_lines(std::vector<cli::named_comparison> const& cells) {
  using measure::verdict;
  std::vector<std::string> lines;
  std::string nulls, open;
  for (auto const& [name, found] : cells) {
    for (auto const& each : found.findings) {
      if (!each.primary) { continue; }
      auto const what = variant_of(found, each);
      if (each.outcome == verdict::equivalent ||
          (stats::is_sign(each.outcome) && !each.exceeds_margin)) {
        nulls += (nulls.empty() ? "" : "; ") + name + " (" + what + ")";
      } else if (each.outcome == verdict::faster || each.outcome == verdict::slower) {
        lines.push_back(name + ": " + what +
                        (each.outcome == verdict::faster ? " wins, " : " loses, ") +
                        report::signed_percent(1 / each.effect.ratio - 1, 1) + " % of the rate");
      } else {
        open += (open.empty() ? "" : "; ") + name + " (" + what + ", " +
                std::string{to_string(each.outcome)} + ")";
      }
    }
  }
  if (!nulls.empty()) { lines.push_back("Nothing differs by more than the margin: " + nulls); }
  if (!open.empty()) { lines.push_back("Not settled: " + open); }
  return lines;
}

/// The demands of the machine's memory, in words.
inline std::vector<std::string> little_lines(examples::little_terms const& terms, int sms) {
  auto const rate = report::rate(terms.read_bytes_per_second, "B");
  auto const sm_rate = report::rate(terms.sm_bytes_per_second, "B");
  return {"A load from DRAM takes " + report::duration(terms.latency_seconds) +
              " where the memory is idle, from anywhere in some gigabytes " +
              report::duration(terms.random_latency_seconds) + "; reading alone reaches " + rate +
              ", one of a few SMs " + sm_rate,
          "So for " + rate + " at least " + report::byte_size(terms.bytes_needed()) +
              " must be in flight, " + report::byte_size(terms.bytes_needed() / sms) +
              " on each of " + std::to_string(sms) + " SMs, and for " + sm_rate +
              " on one of them " + report::byte_size(terms.sm_bytes_needed()) +
              "; more as the latency grows with the load"};
}

inline void print_copy_rows(std::ostream& out, std::vector<copy_row> const& rows) {
  std::vector<std::string> workloads;
  for (auto const& row : rows) { add_distinct(workloads, row.workload); }
  for (auto const& workload : workloads) {
    report::table table{{workload, "strategy", "in flight/SM", "at most", "bound", "measured",
                         "of that", "of limit"},
                        {1, 4}};
    for (auto const& row : rows) {
      if (row.workload != workload) { continue; }
      table.add({sms_text(row.sms, row.capped), row.strategy,
                 (row.capped ? "" : "<= ") + report::byte_size(row.in_flight / row.sms),
                 report::rate(row.predicted, "B"), std::string{to_string(row.bound)},
                 report::rate(row.measured, "B"), report::percent(row.measured / row.predicted, 0),
                 report::percent(row.measured / row.limit, 1)});
    }
    table.print(out);
    out << '\n';
  }
}

}  // namespace assay::examples
