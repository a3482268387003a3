// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hardware counters and the bound of the work, as JSON; needs nlohmann_json.
#pragma once

#include <assay/report/json_values.hpp>
#include <assay/trace/bound.hpp>
#include <assay/trace/metrics.hpp>

#include <string>
#include <utility>

namespace assay::report {

/// Everything that was counted; numbers that are not finite become null.
inline document to_json(trace::counter_values const& all) {
  auto ranges = document::array();
  for (auto const& range : all.ranges) {
    auto values = document::object();
    for (auto const& each : range.values) { values[each.metric] = detail::number(each.value); }
    ranges.push_back({{"name", range.name}, {"values", std::move(values)}});
  }
  auto dropped = document::array();
  for (auto const& each : all.dropped) {
    dropped.push_back({{"metric", each.asked}, {"why", each.why}});
  }
  return {{"status", to_string(all.status.is)},
          {"reason", all.status.reason},
          {"remedy", all.status.remedy},
          {"cupti_code", all.status.code},
          {"chip", all.chip},
          {"device", all.device},
          {"passes", all.passes},
          {"ranges_lost", all.ranges_lost},
          {"ranges", std::move(ranges)},
          {"dropped", std::move(dropped)}};
}

/// The bound of the work and the deciding numbers. Shares are parts of 1.
inline document to_json(trace::work_bound const& of) {
  auto because = document::array();
  for (auto const& each : of.because) {
    because.push_back({{"quantity", to_string(each.asked.of)},
                       {"value", detail::number(each.value)},
                       {"threshold", each.asked.threshold},
                       {"at_least", each.asked.at_least}});
  }
  return {{"bound", to_string(of.limit)},
          {"reason", of.reason},
          {"because", std::move(because)},
          {"seconds", detail::number(of.seconds)},
          {"occupancy", detail::number(of.occupancy)},
          {"ipc", detail::number(of.ipc)},
          {"issue", detail::number(of.issue)},
          {"sm_active", detail::number(of.sm_active)},
          {"tensor", detail::number(of.tensor)},
          {"fma", detail::number(of.fma)},
          {"dram_bytes", detail::number(of.dram_bytes)},
          {"dram_bytes_per_second", detail::number(of.dram_bytes_per_second)},
          {"dram_share", detail::number(of.dram_share)}};
}

}  // namespace assay::report
