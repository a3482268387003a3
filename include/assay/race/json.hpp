// SPDX-License-Identifier: Apache-2.0
/// @file
/// A race as JSON and back, to resume it; needs nlohmann_json.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/race/by_size.hpp>
#include <assay/race/result.hpp>
#include <assay/report/json_records.hpp>
#include <assay/report/json_values.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace assay::report {
namespace detail {

void members(auto& visit, std::pair<std::string, long long>& of) {
  visit("name", of.first, "value", of.second);
}

void members(auto& visit, measure::racer& of) {
  visit("name", of.name, "constants", of.constants, "out", of.out, "guess", of.guess, "seconds",
        of.seconds, "ratio", of.ratio, "slower", of.slower, "faster", of.faster, "survived",
        of.survived, "bounded", of.bounded);
  visit.if_present(!of.texts.empty(), "texts", of.texts);
}

void members(auto& visit, measure::race_epoch& of) {
  visit("cells", of.cells, "seconds", of.seconds);
}

void members(auto& visit, measure::race_result& of) {
  visit.constant("race_schema_version", measure::race_result::schema_version);
  visit("title", of.title, "racers", of.racers, "leader", of.leader, "decided", of.decided,
        "failure", of.failure, "margin", of.margin, "alpha", of.alpha, "cells_saved",
        of.cells_saved);
  visit.as_text("seed", of.seed);
  visit("seconds", of.seconds, "launches", of.launches, "begun", of.begun, "clock", of.primary,
        "environment", of.where, "notes", of.notes, "epochs", of.epochs);
}

void members(auto& visit, measure::size_row& of) {
  visit("size", of.size, "up_to", of.up_to, "choice", of.choice, "next", of.next, "ratio", of.ratio,
        "race", of.race);
}

void members(auto& visit, measure::size_table& of) { visit("rows", of.rows); }

}  // namespace detail

/// The text of a table by size as JSON.
inline std::string json(measure::size_table const& of) {
  return detail::json_writer{}.made(of).dump(2, ' ', false, document::error_handler_t::replace) +
         "\n";
}

/// The text of a race as JSON.
inline std::string json(measure::race_result const& of) {
  return detail::json_writer{}.made(of).dump(2, ' ', false, document::error_handler_t::replace) +
         "\n";
}

/// Reads the text of `json`. Throws `std::invalid_argument` that names the error.
inline measure::race_result parse_race(std::string_view text) {
  try {
    auto const from = document::parse(text);
    auto const version = from.at("race_schema_version").get<int>();
    if (version != measure::race_result::schema_version) {
      throw std::invalid_argument(concat(
          {"the race has schema version ", std::to_string(version), ", this program reads ",
           std::to_string(measure::race_result::schema_version), ": use the assay that wrote it"}));
    }
    measure::race_result of;
    detail::json_reader reader{from, false};
    members(reader, of);
    if (of.leader >= static_cast<int>(of.racers.size())) {
      throw std::invalid_argument(
          concat({"not a race of assay: its leader is candidate ", std::to_string(of.leader),
                  ", counted from 0, of ", std::to_string(of.racers.size())}));
    }
    for (auto const& each : of.epochs) {
      if (each.seconds.size() == of.racers.size()) { continue; }
      throw std::invalid_argument(
          concat({"not a race of assay: an epoch has ", std::to_string(each.seconds.size()),
                  " times for ", std::to_string(of.racers.size()), " candidates"}));
    }
    return of;
  } catch (document::exception const& error) {
    throw std::invalid_argument(std::string{"not a race of assay: "} + error.what());
  }
}

}  // namespace assay::report
