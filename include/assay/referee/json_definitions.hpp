// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to json.hpp: the members of the line.
#pragma once

#include <assay/referee/json.hpp>
#include <assay/referee/text.hpp>
#include <assay/report/json_values.hpp>

#include <string>

namespace assay::report {

ASSAY_INLINE std::string json_line(referee_result const& of) {
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
