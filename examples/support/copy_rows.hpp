// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the experiment on copy strategies measured, and what it says of it: tables, CSV and JSON,
/// and many comparisons as one.
#pragma once

#include <assay/core/distinct.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/little.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_parts.hpp>
#include <assay/report/table.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

/// One workload on so many SMs with one strategy: a median, and what Little's law says of it.
struct copy_row {
  std::string workload, strategy;
  int sms = 0;  ///< each with `blocks` blocks
  int blocks = 1;
  bool capped = true;    ///< false: as many blocks as are resident; `blocks` is an upper bound then
  double in_flight = 0;  ///< bytes on the whole device, at most
  double predicted = 0;  ///< bytes per second, read and written
  double measured = 0;
  double limit = 0;  ///< of the device's memory for this mix of reads and writes

  double share() const noexcept { return measured / limit; }
};

/// What three strategies did in one cell of the experiment: a workload on so many SMs.
struct copy_cell {
  std::string workload;
  std::string where;  ///< "8 SMs"
  measure::comparison found;
};

/// "8 SMs", or "all SMs full".
inline std::string sms_text(int sms, bool capped) {
  if (!capped) { return "all SMs full"; }
  return std::to_string(sms) + (sms == 1 ? " SM" : " SMs");
}

/// All comparisons as one: arms and findings after each other, named by their cells, and each
/// finding's weights over its own arms.
inline measure::comparison merged(std::vector<copy_cell> const& cells, std::string title) {
  measure::comparison all;
  if (!cells.empty()) { all = cells.front().found; }
  all.arms.clear();
  all.findings.clear();
  all.title = std::move(title);
  all.seconds = 0;
  std::size_t arms = 0;
  for (auto const& cell : cells) { arms += cell.found.arms.size(); }
  for (auto const& [workload, where, found] : cells) {
    auto const prefix = workload + ", " + where + ": ";
    auto const first = all.arms.size();
    for (auto arm : found.arms) {
      arm.label = prefix + arm.label;
      all.arms.push_back(std::move(arm));
    }
    for (auto finding : found.findings) {
      finding.contrast_name = prefix + finding.contrast_name;
      std::vector<double> weights(arms, 0.0);
      std::copy(finding.weights.begin(), finding.weights.end(),
                weights.begin() + static_cast<std::ptrdiff_t>(first));
      finding.weights = std::move(weights);
      all.findings.push_back(std::move(finding));
    }
    for (auto const& note : found.notes) { add_distinct(all.notes, note); }
    for (auto const& why : found.where.throttle_reasons) {
      add_distinct(all.where.throttle_reasons, why);
    }
    if (all.failure.empty() && !found.failure.empty()) { all.failure = prefix + found.failure; }
    all.epochs = std::max(all.epochs, found.epochs);
    all.seconds += found.seconds;
  }
  return all;
}

/// The strategy of the arm that a finding holds against the first of its cell.
inline std::string variant_of(measure::comparison const& in, measure::finding const& found) {
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    if (found.weights[i] > 0) { return in.arms[i].label; }
  }
  return found.contrast_name;
}

/// One line for each cell: what each strategy wins or loses against the first, with its interval.
inline std::vector<std::string> verdict_lines(std::vector<copy_cell> const& cells) {
  std::vector<std::string> lines;
  for (auto const& cell : cells) {
    std::string line = cell.workload + ", " + cell.where + ": ";
    bool begun = false;
    for (auto const& found : cell.found.findings) {
      if (!found.primary) { continue; }
      line += (begun ? "; " : "") + variant_of(cell.found, found) + " " +
              std::string{to_string(found.outcome)} + ", " +
              report::fixed(1 / found.effect.ratio, 3) + "x the rate [" +
              report::fixed(1 / found.effect.high, 3) + ", " +
              report::fixed(found.effect.low > 0 ? 1 / found.effect.low
                                                 : std::numeric_limits<double>::infinity(),
                            3) +
              "]";
      begun = true;
    }
    if (begun) { lines.push_back(line); }
  }
  return lines;
}

/// Where strategies won or lost by more than the margin, and where nothing differed.
inline std::vector<std::string> summary_lines(std::vector<copy_cell> const& cells) {
  std::vector<std::string> wins, nulls, open;
  for (auto const& cell : cells) {
    for (auto const& found : cell.found.findings) {
      if (!found.primary) { continue; }
      auto const what = variant_of(cell.found, found);
      auto const where = cell.workload + ", " + cell.where;
      auto const change = report::signed_percent(1 / found.effect.ratio - 1, 1);
      if (found.outcome == measure::verdict::equivalent ||
          (!found.material && found.outcome != measure::verdict::unproven)) {
        nulls.push_back(where + " (" + what + ")");
      } else if (found.outcome == measure::verdict::faster ||
                 found.outcome == measure::verdict::slower) {
        wins.push_back(where + ": " + what +
                       (found.outcome == measure::verdict::faster ? " wins, " : " loses, ") +
                       change + " % of the rate");
      } else {
        open.push_back(where + " (" + what + ", " + std::string{to_string(found.outcome)} + ")");
      }
    }
  }
  auto lines = wins;
  auto const list = [&](std::string head, std::vector<std::string> const& items) {
    for (std::size_t i = 0; i < items.size(); ++i) { head += (i == 0 ? "" : "; ") + items[i]; }
    if (!items.empty()) { lines.push_back(head); }
  };
  list("Nothing differs by more than the margin: ", nulls);
  list("Not settled: ", open);
  return lines;
}

/// What the machine's memory asks for, in words.
inline std::vector<std::string> little_lines(measure::little_terms const& terms, int sms) {
  return {"A load from DRAM takes " + report::duration(terms.latency_seconds) +
              ", from anywhere in some gigabytes " +
              report::duration(terms.random_latency_seconds) + "; reading alone reaches " +
              report::rate(terms.read_bytes_per_second, "B"),
          "So " + report::byte_size(terms.bytes_needed()) + " must be in flight, " +
              report::byte_size(terms.bytes_needed() / sms) + " on each of " + std::to_string(sms) +
              " SMs"};
}

inline void print_copy_rows(std::ostream& out, std::vector<copy_row> const& rows) {
  std::vector<std::string> workloads;
  for (auto const& row : rows) { add_distinct(workloads, row.workload); }
  for (auto const& workload : workloads) {
    report::table table{{workload, "strategy", "in flight/SM", "Little's law", "measured",
                         "of predicted", "of limit"},
                        {1}};
    for (auto const& row : rows) {
      if (row.workload != workload) { continue; }
      table.add({sms_text(row.sms, row.capped), row.strategy,
                 (row.capped ? "" : "<= ") + report::byte_size(row.in_flight / row.sms),
                 report::rate(row.predicted, "B"), report::rate(row.measured, "B"),
                 report::percent(row.measured / row.predicted, 0),
                 report::percent(row.share(), 1)});
    }
    table.print(out);
    out << '\n';
  }
}

inline std::string copy_rows_csv(std::vector<copy_row> const& rows) {
  std::string text =
      "workload,strategy,sms,blocks,capped,bytes_in_flight,predicted_bytes_per_second,"
      "measured_bytes_per_second,limit_bytes_per_second\n";
  for (auto const& row : rows) {
    text += '"' + row.workload + "\",\"" + row.strategy + "\"," + std::to_string(row.sms) + ',' +
            std::to_string(row.blocks) + ',' + (row.capped ? "1" : "0") + ',' +
            report::fixed(row.in_flight, 0) + ',' + report::fixed(row.predicted, 0) + ',' +
            report::fixed(row.measured, 0) + ',' + report::fixed(row.limit, 0) + '\n';
  }
  return text;
}

inline report::document copy_rows_json(std::vector<copy_row> const& rows,
                                       measure::little_terms const& terms) {
  report::document all;
  all["latency_seconds"] = terms.latency_seconds;
  all["random_latency_seconds"] = terms.random_latency_seconds;
  all["read_bytes_per_second"] = terms.read_bytes_per_second;
  all["rows"] = report::document::array();
  for (auto const& row : rows) {
    all["rows"].push_back({{"workload", row.workload},
                           {"strategy", row.strategy},
                           {"sms", row.sms},
                           {"blocks", row.blocks},
                           {"capped", row.capped},
                           {"bytes_in_flight", row.in_flight},
                           {"predicted_bytes_per_second", row.predicted},
                           {"measured_bytes_per_second", row.measured},
                           {"limit_bytes_per_second", row.limit}});
  }
  return all;
}

}  // namespace assay::examples
