// SPDX-License-Identifier: Apache-2.0
#include "strategy_rows.hpp"

#include <algorithm>
#include <assay/core/distinct.hpp>
#include <assay/report/csv.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>
#include <assay/report/table.hpp>
#include <cstdint>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace assay::examples {

launch_row launches_of(trace::model const& of, std::string variant, std::size_t operations) {
  launch_row row;
  row.variant = std::move(variant);
  row.operations = operations;
  std::map<std::tuple<std::int32_t, std::uint32_t, std::uint32_t>, std::vector<trace::span>>
      streams;
  std::map<std::uint32_t, std::size_t> launched;  // kernels of a call, by correlation
  for (auto const& each : of.kernels) {
    streams[{each.where.device, each.where.context, each.where.stream}].push_back(each.when);
    ++launched[each.where.correlation];
    row.kernel_seconds += static_cast<double>(each.when.length()) * 1e-9;
    ++row.kernels;
  }
  std::size_t followers = 0;
  std::size_t overlapped = 0;
  for (auto& [stream, spans] : streams) {
    std::sort(spans.begin(), spans.end(),
              [](trace::span a, trace::span b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < spans.size(); ++i) {
      auto const gap = spans[i].begin - spans[i - 1].end;
      row.gap_seconds += static_cast<double>(gap) * 1e-9;
      overlapped += gap < 0 ? 1 : 0;
      ++followers;
    }
  }
  double called = 0;
  std::size_t of_calls = 0;
  for (auto const& each : of.calls) {
    auto const found = launched.find(each.correlation);
    if (found == launched.end()) { continue; }
    called += static_cast<double>(each.when.length()) * 1e-9;
    of_calls += found->second;
  }
  if (row.kernels > 0) { row.kernel_seconds /= static_cast<double>(row.kernels); }
  if (of_calls > 0) { row.call_seconds = called / static_cast<double>(of_calls); }
  if (followers > 0) {
    row.gap_seconds /= static_cast<double>(followers);
    row.overlapped_share = static_cast<double>(overlapped) / static_cast<double>(followers);
  }
  return row;
}

void append(measure::comparison& into, measure::comparison&& more) {
  auto const before = into.variants.size();
  auto const all = before + more.variants.size();
  for (auto& found : into.findings) { found.weights.resize(all, 0.0); }
  for (auto& found : more.findings) {
    found.weights.insert(found.weights.begin(), before, 0.0);
    into.findings.push_back(std::move(found));
  }
  for (auto& found : into.findings) { found.effect.confidence = 1 - into.alpha; }
  for (auto& arm : more.variants) { into.variants.push_back(std::move(arm)); }
  for (auto& note : more.notes) { add_distinct(into.notes, note); }
  if (into.failure.empty()) { into.failure = more.failure; }
  into.epochs = std::max(into.epochs, more.epochs);
  into.seconds += more.seconds;
}

void print_strategies(std::ostream& out, strategy_findings const& of) {
  auto const judged =
      std::ranges::find_if(of.rows, [](auto const& row) { return !row.verdict.empty(); });
  auto const confidence = judged == of.rows.end() ? 0.0 : judged->effect.confidence;
  report::table table{
      {"size", "stages", "strategy", "us per operation", "busbw GB/s", "against the first",
       report::percent(confidence, 0) + " interval", "verdict"},
      {2, 7}};
  for (auto const& row : of.rows) {
    bool const first = row.verdict.empty();
    table.add({report::byte_size(row.bytes), row.stages, row.strategy,
               report::fixed(row.seconds * 1e6, 2), report::fixed(row.busbw, 1),
               first ? "" : report::signed_percent(row.effect.ratio - 1, 2),
               first ? ""
                     : report::signed_percent(row.effect.low - 1, 2) + " .. " +
                           report::signed_percent(row.effect.high - 1, 2),
               row.verdict});
  }
  out << "\nStrategies by size, time against copy::regular at the same size and stages\n";
  table.print(out, 120);
}

void print_blocks(std::ostream& out, strategy_findings const& of) {
  if (of.blocks.empty()) { return; }
  std::vector<std::string> names;
  std::vector<int> counts;
  for (auto const& each : of.blocks) {
    add_distinct(names, each.strategy + ", " + each.stages);
    if (std::find(counts.begin(), counts.end(), each.blocks) == counts.end()) {
      counts.push_back(each.blocks);
    }
  }
  std::vector<std::string> head{"SMs"};
  for (auto const& name : names) { head.push_back(name); }
  report::table table{head};
  for (int const count : counts) {
    std::vector<std::string> cells{std::to_string(count)};
    for (auto const& name : names) {
      auto const found =
          std::find_if(of.blocks.begin(), of.blocks.end(), [&](block_row const& each) {
            return each.blocks == count && each.strategy + ", " + each.stages == name;
          });
      cells.push_back(found == of.blocks.end() ? "" : report::fixed(found->busbw, 1));
    }
    table.add(cells);
  }
  out << "\nBusbw in GB/s by SMs of each GPU (strategy, stages), "
      << report::byte_size(of.sweep_bytes) << '\n';
  table.print(out, 120);
}

void print_launches(std::ostream& out, strategy_findings const& of) {
  if (of.launches.empty()) { return; }
  report::table table{{"variant", "launches per operation", "host us per launch", "kernel us",
                       "gap us", "overlapping launches"}};
  std::vector<std::string> lacking;
  for (auto const& each : of.launches) {
    if (each.kernels == 0) {
      table.add({each.variant, "-", "-", "-", "-", "-"});
      add_distinct(lacking, each.lacks.empty() ? std::string{"no kernel"} : each.lacks);
      continue;
    }
    table.add(
        {each.variant, report::fixed(each.launches(), 2), report::fixed(each.call_seconds * 1e6, 2),
         report::fixed(each.kernel_seconds * 1e6, 2), report::fixed(each.gap_seconds * 1e6, 2),
         report::percent(each.overlapped_share, 0)});
  }
  out << "\nWhat a trace shows of successive launches on a stream (a negative gap is an overlap)\n";
  table.print(out, 120);
  for (auto const& why : lacking) { out << "-: the trace has no kernels: " << why << '\n'; }
}

std::string strategies_csv(strategy_findings const& of) {
  std::ostringstream out;
  out << "bytes,stages,strategy,seconds,busbw_gb_per_second,ratio,low,high,verdict\n";
  for (auto const& row : of.rows) {
    report::csv::record(out, row.bytes, row.stages, row.strategy, row.seconds, row.busbw,
                        row.effect.ratio, row.effect.low, row.effect.high, row.verdict);
  }
  return out.str();
}

std::string blocks_csv(strategy_findings const& of) {
  std::ostringstream out;
  out << "bytes,blocks,stages,strategy,seconds,min_seconds,max_seconds,busbw_gb_per_second\n";
  for (auto const& row : of.blocks) {
    report::csv::record(out, of.sweep_bytes, row.blocks, row.stages, row.strategy, row.seconds,
                        row.min_seconds, row.max_seconds, row.busbw);
  }
  return out.str();
}

report::document strategies_json(strategy_findings const& of) {
  report::document all{{"ranks", of.ranks}, {"sweep_bytes", of.sweep_bytes}};
  all["strategies"] = report::document::array();
  for (auto const& row : of.rows) {
    report::document one{{"bytes", row.bytes},
                         {"stages", row.stages},
                         {"strategy", row.strategy},
                         {"seconds", row.seconds},
                         {"busbw_gb_per_second", row.busbw}};
    if (!row.verdict.empty()) {
      one["ratio"] = row.effect.ratio;
      one["low"] = row.effect.low;
      one["high"] = row.effect.high;
      one["verdict"] = row.verdict;
    }
    all["strategies"].push_back(std::move(one));
  }
  all["blocks"] = report::document::array();
  for (auto const& row : of.blocks) {
    all["blocks"].push_back({{"blocks", row.blocks},
                             {"stages", row.stages},
                             {"strategy", row.strategy},
                             {"seconds", row.seconds},
                             {"min_seconds", row.min_seconds},
                             {"max_seconds", row.max_seconds},
                             {"busbw_gb_per_second", row.busbw}});
  }
  all["launches"] = report::document::array();
  for (auto const& row : of.launches) {
    if (row.kernels == 0) {
      all["launches"].push_back({{"variant", row.variant}, {"lacks", row.lacks}});
      continue;
    }
    all["launches"].push_back({{"variant", row.variant},
                               {"launches_per_operation", row.launches()},
                               {"call_seconds", row.call_seconds},
                               {"kernel_seconds", row.kernel_seconds},
                               {"gap_seconds", row.gap_seconds},
                               {"overlapped_share", row.overlapped_share}});
  }
  return all;
}

}  // namespace assay::examples
