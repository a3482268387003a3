// SPDX-License-Identifier: Apache-2.0
/// @file
/// Busbw by the number of SMs, as a table and as JSON.
#pragma once

#include "all_reduce.hpp"

#include <assay/core/distinct.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>
#include <assay/report/table.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace assay::examples {

inline void print_blocks(std::ostream& out, std::vector<block_row> const& rows, std::size_t bytes) {
  std::vector<std::string> head{"SMs"};
  for (auto const& each : rows) { add_distinct(head, each.strategy + ", " + each.stages); }
  report::table table{head};
  for (auto each = rows.begin(); each != rows.end();) {
    std::vector<std::string> cells(head.size());
    int const blocks = each->blocks;
    cells[0] = std::to_string(blocks);
    for (; each != rows.end() && each->blocks == blocks; ++each) {
      auto const column = std::ranges::find(head, each->strategy + ", " + each->stages);
      cells[static_cast<std::size_t>(column - head.begin())] = report::fixed(each->busbw, 1);
    }
    table.add(cells);
  }
  out << "\nBusbw in GB/s by SMs of each GPU (strategy, stages), "
      << report::byte_size(static_cast<double>(bytes)) << '\n';
  table.print(out, 120);
}

inline report::document blocks_json(std::vector<block_row> const& rows, std::size_t bytes,
                                    int ranks) {
  report::document all{{"ranks", ranks}, {"sweep_bytes", bytes}};
  all["blocks"] = report::document::array();
  for (auto const& row : rows) {
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
