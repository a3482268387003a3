// SPDX-License-Identifier: Apache-2.0
#include "copy_rows.hpp"

#include "outputs.hpp"

#include <algorithm>
#include <assay/core/atomic_file.hpp>
#include <assay/core/distinct.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>
#include <assay/report/table.hpp>
#include <cstddef>
#include <utility>

namespace assay::examples {

std::string sms_text(int sms, bool capped) {
  if (!capped) { return "all SMs full"; }
  return std::to_string(sms) + (sms == 1 ? " SM" : " SMs");
}

void predict(copy_row& row, machine::little_terms const& terms, double mix, bool random) {
  auto const read = random ? terms.predicted_random(row.in_flight, row.sms)
                           : terms.predicted(row.in_flight, row.sms);
  row.predicted = std::min(row.limit, read.bytes_per_second * mix);
  row.bound = row.predicted < row.limit ? read.by : machine::little_bound::memory;
}

measure::comparison merged(std::vector<copy_cell> const& cells, std::string title) {
  measure::comparison all;
  if (!cells.empty()) { all = cells.front().found; }
  all.variants.clear();
  all.findings.clear();
  all.reasons.clear();
  all.title = std::move(title);
  all.seconds = 0;
  std::size_t arms = 0;
  for (auto const& cell : cells) { arms += cell.found.variants.size(); }
  for (auto const& [workload, where, found] : cells) {
    auto const prefix = workload + ", " + where + ": ";
    auto const first = all.variants.size();
    for (auto arm : found.variants) {
      arm.label = prefix + arm.label;
      all.variants.push_back(std::move(arm));
    }
    for (auto finding : found.findings) {
      finding.contrast_name = prefix + finding.contrast_name;
      std::vector<double> weights(arms, 0.0);
      std::copy(finding.weights.begin(), finding.weights.end(),
                weights.begin() + static_cast<std::ptrdiff_t>(first));
      finding.weights = std::move(weights);
      all.findings.push_back(std::move(finding));
    }
    for (auto const& why : found.reasons) {
      all.reasons.push_back({prefix + why.question, why.lines});
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

std::string variant_of(measure::comparison const& in, measure::finding const& found) {
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    if (found.weights[i] > 0) { return in.variants[i].label; }
  }
  return found.contrast_name;
}

std::vector<std::string> verdict_lines(std::vector<copy_cell> const& cells) {
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

std::vector<std::string> summary_lines(std::vector<copy_cell> const& cells) {
  std::vector<std::string> wins, nulls, open;
  for (auto const& cell : cells) {
    for (auto const& found : cell.found.findings) {
      if (!found.primary) { continue; }
      auto const what = variant_of(cell.found, found);
      auto const where = cell.workload + ", " + cell.where;
      auto const change = report::signed_percent(1 / found.effect.ratio - 1, 1);
      if (found.outcome == measure::verdict::equivalent ||
          (!found.exceeds_margin && found.outcome != measure::verdict::unproven)) {
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

std::vector<std::string> little_lines(machine::little_terms const& terms, int sms) {
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

void print_copy_rows(std::ostream& out, std::vector<copy_row> const& rows) {
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
                 report::percent(row.share(), 1)});
    }
    table.print(out);
    out << '\n';
  }
}

std::string copy_rows_csv(std::vector<copy_row> const& rows) {
  std::string text =
      "workload,strategy,sms,blocks,capped,bytes_in_flight,predicted_bytes_per_second,bound,"
      "measured_bytes_per_second,limit_bytes_per_second\n";
  for (auto const& row : rows) {
    text += '"' + row.workload + "\",\"" + row.strategy + "\"," + std::to_string(row.sms) + ',' +
            std::to_string(row.blocks) + ',' + (row.capped ? "1" : "0") + ',' +
            report::fixed(row.in_flight, 0) + ',' + report::fixed(row.predicted, 0) + ',' +
            std::string{to_string(row.bound)} + ',' + report::fixed(row.measured, 0) + ',' +
            report::fixed(row.limit, 0) + '\n';
  }
  return text;
}

report::document copy_rows_json(std::vector<copy_row> const& rows,
                                machine::little_terms const& terms) {
  report::document all;
  all["latency_seconds"] = terms.latency_seconds;
  all["random_latency_seconds"] = terms.random_latency_seconds;
  all["read_bytes_per_second"] = terms.read_bytes_per_second;
  all["sm_bytes_per_second"] = terms.sm_bytes_per_second;
  all["rows"] = report::document::array();
  for (auto const& row : rows) {
    all["rows"].push_back({{"workload", row.workload},
                           {"strategy", row.strategy},
                           {"sms", row.sms},
                           {"blocks", row.blocks},
                           {"capped", row.capped},
                           {"bytes_in_flight", row.in_flight},
                           {"predicted_bytes_per_second", row.predicted},
                           {"bound", std::string{to_string(row.bound)}},
                           {"measured_bytes_per_second", row.measured},
                           {"limit_bytes_per_second", row.limit}});
  }
  return all;
}

std::vector<std::filesystem::path> copy_outputs(cli::options const& of) {
  std::vector<std::filesystem::path> paths;
  if (!of.csv.empty()) { paths.push_back(cli::beside(of.csv, "sweep")); }
  if (!of.json.empty()) { paths.push_back(cli::beside(of.json, "sweep")); }
  return paths;
}

void write_copy_rows(cli::options const& of, std::vector<copy_row> const& rows,
                     machine::little_terms const& terms) {
  if (!of.csv.empty()) {
    assay::write_atomically(cli::beside(of.csv, "sweep"), copy_rows_csv(rows));
  }
  if (!of.json.empty()) {
    assay::write_atomically(cli::beside(of.json, "sweep"),
                            copy_rows_json(rows, terms).dump(1) + '\n');
  }
}

}  // namespace assay::examples
