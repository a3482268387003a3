// SPDX-License-Identifier: Apache-2.0
/// @file
/// The JSON of an explanation as a table for a page; needs nlohmann_json.
#pragma once

#include <assay/page/page.hpp>
#include <assay/report/format.hpp>
#include <assay/report/json_values.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace assay::report {

/// The parts of the difference and the figures of both variants, as `to_json` of an explanation
/// wrote them. Throws `std::invalid_argument` for another document.
inline page_table explanation_table(document const& from) try {
  if (from.at("schema") != "assay.explanation") {
    throw std::invalid_argument("not an explanation of assay: its schema is " +
                                from.at("schema").dump());
  }
  auto const label = [&](char const* side) { return from.at(side).at("label").get<std::string>(); };
  page_table made{
      "Why does " + label("variant") + " differ from " + label("control") + "?",
      from.at("sentences").get<std::vector<std::string>>(),
      detail::html_table{{"seen by", "cause", "name", "change of a batch", "control", "variant"}}};
  auto const time = [](document const& ns) {
    auto const seconds = ns.is_null() ? detail::nan : ns.get<double>() * 1e-9;
    return std::isnan(seconds) ? detail::html_cell{"-"} : detail::time_cell(seconds);
  };
  for (auto const& each : from.at("changes")) {
    made.rows.add({each.at("seen_by").get<std::string>(), each.at("kind").get<std::string>(),
                   each.at("name").get<std::string>(), time(each.at("delta_ns")),
                   time(each.at("control").at("ns")), time(each.at("variant").at("ns"))});
  }
  return made;
} catch (document::exception const& error) {
  throw std::invalid_argument(std::string{"not an explanation of assay: "} + error.what());
}

}  // namespace assay::report
