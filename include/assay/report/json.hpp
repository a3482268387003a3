// SPDX-License-Identifier: Apache-2.0
/// @file
/// A comparison as JSON and back, without loss; needs nlohmann_json.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/json_parts.hpp>
#include <assay/report/json_records.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline document write(machine::environment const& of) {
  return {{"device", of.device},
          {"driver", of.driver},
          {"toolkit", of.toolkit},
          {"host_cpu", of.host_cpu},
          {"host_threads", of.host_threads},
          {"compiler", of.compiler},
          {"commit", of.commit},
          {"command_line", of.command_line},
          {"started_at", of.started_at},
          {"sm_clock_mhz", number(of.sm_clock_mhz)},
          {"memory_clock_mhz", number(of.memory_clock_mhz)},
          {"power_watts", number(of.power_watts)},
          {"temperature_celsius", number(of.temperature_celsius)},
          {"throttle_reasons", of.throttle_reasons}};
}

inline machine::environment read_environment(document const& from) {
  auto const text = [&](char const* key) { return from.at(key).get<std::string>(); };
  machine::environment result;
  result.device = text("device");
  result.driver = text("driver");
  result.toolkit = text("toolkit");
  result.host_cpu = text("host_cpu");
  result.host_threads = from.at("host_threads").get<int>();
  result.compiler = text("compiler");
  result.commit = text("commit");
  result.command_line = text("command_line");
  result.started_at = text("started_at");
  result.sm_clock_mhz = number(from, "sm_clock_mhz");
  result.memory_clock_mhz = number(from, "memory_clock_mhz");
  result.power_watts = number(from, "power_watts");
  result.temperature_celsius = number(from, "temperature_celsius");
  result.throttle_reasons = from.at("throttle_reasons").get<std::vector<std::string>>();
  return result;
}

inline std::uint64_t seed(std::string const& text) {
  std::uint64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc{}) {
    throw std::invalid_argument("not a report of assay: seed is '" + text + "'");
  }
  return value;
}

inline document write(std::vector<measure::answer> const& all) {
  auto result = document::array();
  for (auto const& each : all) {
    result.push_back({{"question", each.question}, {"lines", each.lines}});
  }
  return result;
}

inline std::vector<measure::answer> read_answers(document const& from) {
  std::vector<measure::answer> all;
  for (auto const& each : from) {
    all.push_back(
        {each.at("question").get<std::string>(), each.at("lines").get<std::vector<std::string>>()});
  }
  return all;
}

inline measure::comparison read_comparison(document const& from, bool first_schema) {
  measure::comparison all;
  all.title = from.at("title").get<std::string>();
  all.changed = from.at("changed").get<std::string>();
  for (auto const& each : from.at(first_schema ? "arms" : "variants")) {
    all.variants.push_back(read_variant(each));
  }
  for (auto const& each : from.at("findings")) {
    all.findings.push_back(read_finding(each, first_schema));
  }
  all.answers = read_answers(from.at("answers"));
  if (from.contains("reasons")) { all.reasons = read_answers(from.at("reasons")); }
  all.notes = from.at("notes").get<std::vector<std::string>>();
  all.failure = from.at("failure").get<std::string>();
  for (auto const& each : from.at("ceilings")) {
    all.ceilings.push_back({each.at("name").get<std::string>(), number(each, "per_second"),
                            named_value(each, "unit", all_units, unit_names)});
  }
  all.where = read_environment(from.at("environment"));
  all.primary = named_value(from, "primary_clock", measure::all_clocks, clock_names);
  all.margin = number(from, "margin");
  all.alpha = number(from, "alpha");
  all.seed = seed(from.at("seed").get<std::string>());
  all.epochs = from.at("epochs").get<int>();
  all.seconds = number(from, "duration_seconds");
  if (first_schema) { return all; }
  all.caveats = from.at("caveats").get<std::vector<std::string>>();
  if (auto const& control = from.at("hidden_control"); !control.is_null()) {
    all.hidden_control = measure::estimate{number(control, "ratio"), number(control, "low"),
                                           number(control, "high"), number(control, "confidence")};
  }
  all.autocorrelation = number(from, "autocorrelation");
  all.cells = read_cells(from.at("cells"));
  all.epoch_records = read_epochs(from.at("epoch_records"));
  all.analyses = read_analyses(from.at("analyses"));
  distribute_cells(all);
  return all;
}

}  // namespace detail

/// Where something was measured, as it stands in every report.
inline document to_json(machine::environment const& where) { return detail::write(where); }

/// The whole comparison. Numbers that are not finite become null; the seed is a string, since many
/// readers of JSON round whole numbers beyond 2^53.
inline document to_json(measure::comparison const& all) {
  auto variants = document::array();
  for (auto const& each : all.variants) {
    variants.push_back(detail::write(each, all.cells.empty()));
  }
  auto findings = document::array();
  for (auto const& each : all.findings) { findings.push_back(detail::write(each)); }
  auto ceilings = document::array();
  for (auto const& each : all.ceilings) {
    ceilings.push_back({{"name", each.name},
                        {"unit", detail::unit_names[static_cast<std::size_t>(each.of)]},
                        {"per_second", detail::number(each.per_second)}});
  }
  document result{{"schema", "assay.comparison"},
                  {"schema_version", measure::comparison::schema_version},
                  {"title", all.title},
                  {"changed", all.changed},
                  {"primary_clock", to_string(all.primary)},
                  {"margin", detail::number(all.margin)},
                  {"alpha", detail::number(all.alpha)},
                  {"seed", std::to_string(all.seed)},
                  {"epochs", all.epochs},
                  {"duration_seconds", detail::number(all.seconds)},
                  {"findings", std::move(findings)},
                  {"variants", std::move(variants)},
                  {"answers", detail::write(all.answers)},
                  {"notes", all.notes},
                  {"caveats", all.caveats},
                  {"failure", all.failure},
                  {"ceilings", std::move(ceilings)},
                  {"environment", detail::write(all.where)},
                  {"hidden_control", nullptr},
                  {"autocorrelation", detail::number(all.autocorrelation)},
                  {"cells", detail::write(all.cells)},
                  {"epoch_records", detail::write(all.epoch_records)},
                  {"analyses", detail::write(all.analyses)}};
  if (all.hidden_control) {
    result["hidden_control"] = {{"ratio", detail::number(all.hidden_control->ratio)},
                                {"low", detail::number(all.hidden_control->low)},
                                {"high", detail::number(all.hidden_control->high)},
                                {"confidence", detail::number(all.hidden_control->confidence)}};
  }
  // Written only where there are any: reports from before them stay as they are.
  if (!all.reasons.empty()) { result["reasons"] = detail::write(all.reasons); }
  return result;
}

/// Reads what `to_json` wrote. Throws `std::invalid_argument` that names the schema version it
/// cannot read, or the member that is missing or of the wrong type.
inline measure::comparison from_json(document const& from) {
  try {
    auto const version = from.at("schema_version").get<int>();
    if (version < 1 || version > measure::comparison::schema_version) {
      throw std::invalid_argument("the report has schema version " + std::to_string(version) +
                                  ", this program reads 1 to " +
                                  std::to_string(measure::comparison::schema_version) +
                                  ": use the assay that wrote it");
    }
    return detail::read_comparison(from, version == 1);
  } catch (document::exception const& error) {
    throw std::invalid_argument(std::string{"not a report of assay: "} + error.what());
  }
}

/// The text of a JSON report, indented, with a line end. Bytes that are not UTF-8 are replaced.
inline std::string json(measure::comparison const& all) {
  return to_json(all).dump(2, ' ', false, document::error_handler_t::replace) + "\n";
}

/// Reads the text of a JSON report; throws `std::invalid_argument` like `from_json`, and for text
/// that is not JSON.
inline measure::comparison parse_json(std::string_view text) {
  try {
    return from_json(document::parse(text));
  } catch (document::parse_error const& error) {
    throw std::invalid_argument(std::string{"not JSON: "} + error.what());
  }
}

}  // namespace assay::report
