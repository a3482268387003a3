// SPDX-License-Identifier: Apache-2.0
/// @file
/// The verdict of the referee as one line of JSON; needs nlohmann_json.
#pragma once

#include <assay/referee/charge.hpp>
#include <assay/referee/text.hpp>
#include <assay/report/json_values.hpp>

#include <string>

namespace assay::report {

/// `{"candidate", "outcome", "charges", "ratio", "low", "high", "seconds_per_call", "seconds"}`,
/// without a line break. `ratio` is the candidate's time over the reference's.
inline std::string json_line(referee_result const& of) {
  document line{{"candidate", of.candidate}, {"outcome", outcome_of(of)}};
  auto& charges = line["charges"] = document::array();
  for (auto const& each : of.charges) {
    charges.push_back({{"kind", to_string(each.what)}, {"text", each.text}});
  }
  if (auto const* const found = referee_detail::finding_of(of); found && !of.is_accused()) {
    line["ratio"] = detail::number(found->effect.ratio);
    line["low"] = detail::number(found->effect.low);
    line["high"] = detail::number(found->effect.high);
    line["clock"] = to_string(found->on);
    for (auto const& each : of.timed->variants) {
      line["seconds_per_call"][each.label] = detail::number(each.on(found->on).median);
    }
    if (!found->reason.empty()) { line["reason"] = found->reason; }
  }
  line["seconds"] = detail::number(of.seconds);
  return line.dump(-1, ' ', false, document::error_handler_t::replace);
}

}  // namespace assay::report
