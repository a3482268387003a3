// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to json.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/report/json.hpp>
#include <assay/report/json_records.hpp>
#include <assay/report/json_values.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::report {

ASSAY_INLINE document to_json(machine::environment const& where) {
  return detail::json_writer{}.made(where);
}

ASSAY_INLINE document to_json(measure::comparison const& all) {
  detail::json_writer writer;
  writer.cells_in_variants = all.cells.empty();  // as in schema 1
  return writer.made(all);
}

ASSAY_INLINE measure::comparison from_json(document const& from) {
  try {
    auto const version = from.at("schema_version").get<int>();
    if (version < 1 || version > measure::comparison::schema_version) {
      throw std::invalid_argument(concat(
          {"the report has schema version ", std::to_string(version), ", this program reads 1 to ",
           std::to_string(measure::comparison::schema_version), ": use the assay that wrote it"}));
    }
    measure::comparison all;
    detail::json_reader reader{from, version == 1};
    members(reader, all);
    detail::distribute_cells(all);
    return all;
  } catch (document::exception const& error) {
    throw std::invalid_argument(std::string{"not a report of assay: "} + error.what());
  }
}

ASSAY_INLINE std::string json(measure::comparison const& all) {
  return to_json(all).dump(2, ' ', false, document::error_handler_t::replace) + "\n";
}

ASSAY_INLINE measure::comparison parse_json(std::string_view text) {
  try {
    return from_json(document::parse(text));
  } catch (document::parse_error const& error) {
    throw std::invalid_argument(std::string{"not JSON: "} + error.what());
  }
}

}  // namespace assay::report
