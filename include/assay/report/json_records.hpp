// SPDX-License-Identifier: Apache-2.0
/// @file
/// The record of a comparison as JSON: its cells, its epochs, its interim analyses.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/json_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

/// Cells as a table, one row each: objects would repeat nine names thousands of times.
inline document write(std::vector<measure::cell_record> const& cells) {
  auto rows = document::array();
  for (auto const& each : cells) {
    rows.push_back({each.epoch, each.position, each.variant, each.buffer_set,
                    number(each.start_seconds), number(each.seconds[0]), number(each.seconds[1]),
                    number(each.seconds[2]), number(each.sm_hertz)});
  }
  return {{"columns",
           {"epoch", "position", "variant", "buffer_set", "start_seconds", "wall_seconds",
            "gpu_seconds", "submit_seconds", "sm_hertz"}},
          {"rows", std::move(rows)}};
}

inline std::vector<measure::cell_record> read_cells(document const& from) {
  auto const real = [](document const& value) {
    return value.is_null() ? nan : value.get<double>();
  };
  std::vector<measure::cell_record> cells;
  for (auto const& row : from.at("rows")) {
    cells.push_back({row.at(0).get<int>(),
                     row.at(1).get<int>(),
                     row.at(2).get<int>(),
                     row.at(3).get<int>(),
                     real(row.at(4)),
                     {real(row.at(5)), real(row.at(6)), real(row.at(7))},
                     real(row.at(8))});
  }
  return cells;
}

inline document write(std::vector<measure::epoch_record> const& epochs) {
  auto all = document::array();
  for (auto const& each : epochs) {
    all.push_back({{"number", each.number},
                   {"blocks", each.blocks},
                   {"start_seconds", number(each.start_seconds)},
                   {"seconds", number(each.seconds)},
                   {"throttle_bits", each.throttle},
                   {"dropped", each.dropped}});
  }
  return all;
}

inline std::vector<measure::epoch_record> read_epochs(document const& from) {
  std::vector<measure::epoch_record> epochs;
  for (auto const& each : from) {
    epochs.push_back({each.at("number").get<int>(), each.at("blocks").get<int>(),
                      number(each, "start_seconds"), number(each, "seconds"),
                      each.at("throttle_bits").get<std::uint64_t>(),
                      each.at("dropped").get<std::string>()});
  }
  return epochs;
}

inline document write(std::vector<measure::analysis_record> const& analyses) {
  auto all = document::array();
  for (auto const& each : analyses) {
    auto outcomes = document::array();
    for (auto const one : each.outcomes) { outcomes.push_back(to_string(one)); }
    all.push_back({{"epochs", each.epochs},
                   {"alpha", number(each.alpha)},
                   {"critical_value", each.critical_value},
                   {"outcomes", std::move(outcomes)}});
  }
  return all;
}

inline std::vector<measure::analysis_record> read_analyses(document const& from) {
  std::vector<measure::analysis_record> analyses;
  for (auto const& each : from) {
    auto& read = analyses.emplace_back();
    read = {each.at("epochs").get<int>(),
            number(each, "alpha"),
            each.at("critical_value").get<int>(),
            {}};
    for (auto const& one : each.at("outcomes")) {
      read.outcomes.push_back(
          named_value(document{{"verdict", one}}, "verdict", all_verdicts, verdict_names));
    }
  }
  return analyses;
}

/// Gives each variant its cells of the epochs that count, in their order.
inline void distribute_cells(measure::comparison& all) {
  for (auto const& each : all.cells) {
    auto const variant = static_cast<std::size_t>(each.variant);
    auto const epoch = static_cast<std::size_t>(each.epoch);
    if (variant >= all.variants.size()) { continue; }  // the control's second instance
    if (epoch < all.epoch_records.size() && !all.epoch_records[epoch].dropped.empty()) { continue; }
    for (std::size_t k = 0; k < each.seconds.size(); ++k) {
      all.variants[variant].cells[k].push_back(each.seconds[k]);
    }
  }
}

}  // namespace assay::report::detail
