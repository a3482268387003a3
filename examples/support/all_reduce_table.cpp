// SPDX-License-Identifier: Apache-2.0
#include "all_reduce_table.hpp"

#include <array>
#include <assay/report/csv.hpp>
#include <assay/report/json_values.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

namespace assay::examples {

namespace detail {

template <class... Values>
std::string formatted(char const* format, Values... values) {
  std::array<char, 256> line{};
  auto const length = std::snprintf(line.data(), line.size(), format, values...);
  return {line.data(), std::min(line.size() - 1, static_cast<std::size_t>(std::max(length, 0)))};
}

}  // namespace detail

std::string fitted(double value, int columns) {
  std::string text;
  for (int decimals = 2; decimals >= 0; --decimals) {
    text = detail::formatted("%*.*f", columns, decimals, value);
    if (text.size() <= static_cast<std::size_t>(columns)) { break; }
  }
  return text;
}

void print_heading(std::ostream& out, all_reduce_heading const& of) {
  using detail::formatted;
  out << "# Engine: " << of.engine << '\n';
  out << formatted("# nThread %d nGpus %d minBytes %zu maxBytes %zu step: %zu(%s) ", of.threads,
                   of.devices, of.min_bytes, of.max_bytes, of.step,
                   of.step_is_factor ? "factor" : "bytes")
      << formatted("warmup iters: %d iters: %d agg iters: %d validation: %d graph: %d unalign: 0\n",
                   of.warm_up, of.iterations, of.aggregated, of.check, of.graphs);
  out << "#\n# Using devices\n";
  for (auto const& each : of.ranks) {
    out << formatted("#  Rank %2d Group %2d Pid %6d on %10s device %2d [%04x:%02x:%02x] %s\n",
                     each.rank, 0, each.process, each.machine.c_str(), each.device,
                     static_cast<unsigned>(each.domain), static_cast<unsigned>(each.bus),
                     static_cast<unsigned>(each.slot), each.name.c_str());
  }
  if (of.other_ranks > 0) {
    out << formatted("#  and %d ranks of other processes\n", of.other_ranks);
  }
  out << "#\n";
  auto const titles = [&](std::array<char const*, 13> const& words) {
    out << formatted("# %10s  %12s  %8s  %6s  %6s", words[0], words[1], words[2], words[3],
                     words[4]);
    for (std::size_t i = 5; i < words.size(); i += 4) {
      out << formatted("  %7s  %6s  %6s  %6s", words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
    out << '\n';
  };
  out << formatted("# %10s  %12s  %8s  %6s  %6s  %31s  %31s\n", "", "", "", "", "",
                   "out-of-place          ", "in-place            ");
  titles({"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
          "algbw", "busbw", "#wrong"});
  titles({"(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
          "(GB/s)", ""});
}

std::string row_text(all_reduce_row const& row, int ranks) {
  using detail::formatted;
  auto text = formatted("%12zu  %12zu  %8s  %6s  %6s", row.bytes, row.count, row.type.c_str(),
                        row.operation.c_str(), "-1");
  for (auto const* each : {&row.out_of_place, &row.in_place}) {
    if (!(each->seconds >= 0)) {  // the engine does not offer this placement
      text += formatted("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
      continue;
    }
    text += formatted("  %7s  %6s  %6s", fitted(each->seconds * 1e6, 7).c_str(),
                      fitted(row.algorithm_bandwidth(*each), 6).c_str(),
                      fitted(row.bus_bandwidth(*each, ranks), 6).c_str());
    text += each->wrong ? formatted("  %6g", static_cast<double>(*each->wrong))
                        : formatted("  %6s", "N/A");
  }
  return text;
}

all_reduce_footer footer_of(std::vector<all_reduce_row> const& rows, int ranks,
                            std::optional<double> least) {
  all_reduce_footer sum;
  sum.least_bandwidth = least;
  int count = 0;
  for (auto const& row : rows) {
    for (auto const* each : {&row.out_of_place, &row.in_place}) {
      if (!(each->seconds >= 0)) { continue; }
      sum.wrong += each->wrong.value_or(0);
      sum.bus_bandwidth += row.bus_bandwidth(*each, ranks);
      ++count;
    }
  }
  if (count > 0) { sum.bus_bandwidth /= count; }
  return sum;
}

void print_footer(std::ostream& out, all_reduce_footer const& of) {
  out << "# Out of bounds values : " << of.wrong << (of.right() ? " OK" : " FAILED") << '\n'
      << detail::formatted("# Avg bus bandwidth    : %g", of.bus_bandwidth)
      << (of.least_bandwidth ? (of.fast() ? " OK" : " FAILED") : "") << "\n#\n";
}

std::optional<double> least_bandwidth_of_environment() {
  char const* const text = std::getenv("NCCL_TESTS_MIN_BW");
  if (text == nullptr || *text == '\0') { return std::nullopt; }
  return std::strtod(text, nullptr);
}

void print_table(std::ostream& out, all_reduce_table const& of) {
  print_heading(out, of.heading);
  for (auto const& row : of.rows) { out << row_text(row, of.ranks) << '\n'; }
  print_footer(out, footer_of(of.rows, of.ranks, least_bandwidth_of_environment()));
}

std::string tables_csv(std::vector<all_reduce_table> const& tables) {
  std::ostringstream out;
  out << "engine,ranks,bytes,count,type,operation,placement,seconds,algbw_gb_per_second,"
         "busbw_gb_per_second,wrong\n";
  for (auto const& table : tables) {
    for (auto const& row : table.rows) {
      for (auto const& [name, each] :
           {std::pair{"out-of-place", &row.out_of_place}, std::pair{"in-place", &row.in_place}}) {
        if (!(each->seconds >= 0)) { continue; }
        report::csv::record(out, table.heading.engine, table.ranks, row.bytes, row.count, row.type,
                            row.operation, std::string_view{name}, each->seconds,
                            row.algorithm_bandwidth(*each), row.bus_bandwidth(*each, table.ranks),
                            each->wrong);
      }
    }
  }
  return out.str();
}

report::document tables_json(std::vector<all_reduce_table> const& tables) {
  auto all = report::document::array();
  for (auto const& table : tables) {
    auto rows = report::document::array();
    for (auto const& row : table.rows) {
      report::document one{{"bytes", row.bytes},
                           {"count", row.count},
                           {"type", row.type},
                           {"operation", row.operation}};
      for (auto const& [name, each] :
           {std::pair{"out_of_place", &row.out_of_place}, std::pair{"in_place", &row.in_place}}) {
        if (!(each->seconds >= 0)) { continue; }
        one[name] = {{"seconds", each->seconds},
                     {"algbw_gb_per_second", row.algorithm_bandwidth(*each)},
                     {"busbw_gb_per_second", row.bus_bandwidth(*each, table.ranks)}};
        if (each->wrong) { one[name]["wrong"] = *each->wrong; }
      }
      rows.push_back(std::move(one));
    }
    auto const sum = footer_of(table.rows, table.ranks);
    all.push_back({{"engine", table.heading.engine},
                   {"ranks", table.ranks},
                   {"rows", std::move(rows)},
                   {"wrong", sum.wrong},
                   {"average_busbw_gb_per_second", sum.bus_bandwidth}});
  }
  return all;
}

void print_side_by_side(std::ostream& out, std::vector<all_reduce_table> const& tables) {
  if (tables.size() < 2 || tables.front().rows.empty()) { return; }
  using detail::formatted;
  out << "# Out of place, us per operation; in brackets the time of the first as a share of it\n";
  out << formatted("# %10s", "size (B)");
  for (auto const& table : tables) { out << "  " << table.heading.engine; }
  out << '\n';
  for (std::size_t i = 0; i < tables.front().rows.size(); ++i) {
    auto const& first = tables.front().rows[i];
    out << formatted("# %10zu", first.bytes);
    for (auto const& table : tables) {
      if (i >= table.rows.size()) { continue; }
      auto const theirs = table.rows[i].out_of_place.seconds;
      auto const width = static_cast<int>(table.heading.engine.size());
      auto const text =
          fitted(theirs * 1e6, 7) +
          (&table == &tables.front() ? std::string{}
                                     : formatted(" (%.2fx)", theirs / first.out_of_place.seconds));
      out << formatted("  %*s", width, text.c_str());
    }
    out << '\n';
  }
  out << "#\n";
}

}  // namespace assay::examples
