// SPDX-License-Identifier: Apache-2.0
/// @file
/// The table that nccl-tests prints, column for column, so that what reads one reads the other; and
/// busbw by SMs.
#pragma once

#include "all_reduce.hpp"

#include <assay/core/distinct.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>
#include <assay/report/table.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace assay::examples {

namespace detail {

template <class... Values>
std::string formatted(char const* format, Values... values) {
  std::array<char, 256> line{};
  auto const length = std::snprintf(line.data(), line.size(), format, values...);
  return {line.data(), std::min(line.size() - 1, static_cast<std::size_t>(std::max(length, 0)))};
}

/// Calls `visit` with each placement of a row that was timed, and its name.
template <class Visit>
void each_placement(all_reduce_row const& row, Visit const& visit) {
  if (row.out_of_place.seconds >= 0) { visit("out_of_place", row.out_of_place); }
  if (row.in_place.seconds >= 0) { visit("in_place", row.in_place); }
}

}  // namespace detail

/// A number in so many columns: with 2, 1 or 0 decimals, as fits.
inline std::string fitted(double value, int columns) {
  std::string text;
  for (int decimals = 2; decimals >= 0; --decimals) {
    text = detail::formatted("%*.*f", columns, decimals, value);
    if (text.size() <= static_cast<std::size_t>(columns)) { break; }
  }
  return text;
}

/// The row without its line's end. All-reduce has no root: -1.
inline std::string row_text(all_reduce_row const& row, all_reduce_parameters const& given,
                            int ranks) {
  using detail::formatted;
  auto text = formatted("%12zu  %12zu  %8s  %6s  %6s", row.bytes, row.count, given.type.c_str(),
                        given.operation.c_str(), "-1");
  for (auto const* each : {&row.out_of_place, &row.in_place}) {
    if (!(each->seconds >= 0)) {  // the engine does not offer this placement
      text += formatted("  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
      continue;
    }
    auto const bytes = static_cast<double>(row.bytes);
    auto const algorithm_bandwidth = each->seconds > 0 ? bytes / each->seconds * 1e-9 : 0;
    text += formatted("  %7s  %6s  %6s", fitted(each->seconds * 1e6, 7).c_str(),
                      fitted(algorithm_bandwidth, 6).c_str(),
                      fitted(bus_gigabytes(bytes, each->seconds, ranks), 6).c_str());
    text += each->wrong ? formatted("  %6g", static_cast<double>(*each->wrong))
                        : formatted("  %6s", "N/A");
  }
  return text;
}

/// The figures below the rows: wrong elements, and the mean over rows and placements.
struct all_reduce_footer {
  std::uint64_t wrong = 0;
  double bus_bandwidth = 0;
};

inline all_reduce_footer footer_of(std::vector<all_reduce_row> const& rows, int ranks) {
  all_reduce_footer sum;
  int count = 0;
  for (auto const& row : rows) {
    detail::each_placement(row, [&](char const*, placement_result const& each) {
      sum.wrong += each.wrong.value_or(0);
      sum.bus_bandwidth += bus_gigabytes(static_cast<double>(row.bytes), each.seconds, ranks);
      ++count;
    });
  }
  if (count > 0) { sum.bus_bandwidth /= count; }
  return sum;
}

/// Prints the table of one engine. `heading` has the lines of the parameters and of the ranks.
inline void print_table(std::ostream& out, all_reduce_table const& of,
                        std::vector<std::string> const& heading, all_reduce_parameters const& given,
                        int ranks) {
  using detail::formatted;
  out << "# Engine: " << of.engine << '\n';
  for (auto const& line : heading) { out << line << '\n'; }
  out << "#\n"
      << formatted("# %10s  %12s  %8s  %6s  %6s  %31s  %31s\n", "", "", "", "", "",
                   "out-of-place          ", "in-place            ");
  using words = std::array<char const*, 9>;
  for (auto const& each :
       {words{"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"},
        words{"(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", ""}}) {
    out << formatted("# %10s  %12s  %8s  %6s  %6s", each[0], each[1], each[2], each[3], each[4]);
    for (int placement = 0; placement < 2; ++placement) {
      out << formatted("  %7s  %6s  %6s  %6s", each[5], each[6], each[7], each[8]);
    }
    out << '\n';
  }
  for (auto const& row : of.rows) { out << row_text(row, given, ranks) << '\n'; }
  auto const sum = footer_of(of.rows, ranks);
  out << "# Out of bounds values : " << sum.wrong << (sum.wrong == 0 ? " OK" : " FAILED") << '\n'
      << formatted("# Avg bus bandwidth    : %g\n#\n", sum.bus_bandwidth);
}

inline void print_blocks(std::ostream& out, std::vector<block_row> const& rows, std::size_t bytes) {
  std::vector<std::string> head{"SMs"};
  std::vector<int> counts;
  for (auto const& each : rows) {
    add_distinct(head, each.strategy + ", " + each.stages);
    if (counts.empty() || counts.back() != each.blocks) { counts.push_back(each.blocks); }
  }
  report::table table{head};
  for (int const count : counts) {
    std::vector<std::string> cells(head.size());
    cells[0] = std::to_string(count);
    for (auto const& each : rows) {
      auto const column = std::ranges::find(head, each.strategy + ", " + each.stages);
      if (each.blocks != count) { continue; }
      cells[static_cast<std::size_t>(column - head.begin())] = report::fixed(each.busbw, 1);
    }
    table.add(cells);
  }
  out << "\nBusbw in GB/s by SMs of each GPU (strategy, stages), "
      << report::byte_size(static_cast<double>(bytes)) << '\n';
  table.print(out, 120);
}

/// The tables and busbw by SMs, as JSON.
inline report::document tables_json(std::vector<all_reduce_table> const& tables,
                                    std::vector<block_row> const& blocks, int ranks) {
  report::document all{{"ranks", ranks}};
  all["tables"] = report::document::array();
  for (auto const& table : tables) {
    auto rows = report::document::array();
    for (auto const& row : table.rows) {
      report::document one{{"bytes", row.bytes}, {"count", row.count}};
      detail::each_placement(row, [&](char const* name, placement_result const& each) {
        one[name] = {{"seconds", each.seconds},
                     {"busbw_gb_per_second",
                      bus_gigabytes(static_cast<double>(row.bytes), each.seconds, ranks)}};
        if (each.wrong) { one[name]["wrong"] = *each.wrong; }
      });
      rows.push_back(std::move(one));
    }
    all["tables"].push_back({{"engine", table.engine}, {"rows", std::move(rows)}});
  }
  all["blocks"] = report::document::array();
  for (auto const& row : blocks) {
    all["blocks"].push_back({{"blocks", row.blocks},
                             {"stages", row.stages},
                             {"strategy", row.strategy},
                             {"seconds", row.seconds},
                             {"min_seconds", row.min_seconds},
                             {"max_seconds", row.max_seconds},
                             {"busbw_gb_per_second", row.busbw}});
  }
  return all;
}

}  // namespace assay::examples
