// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parts of a JSON report: findings, and variants with their profiles.
#pragma once

#include <assay/measure/comparison.hpp>

#include <assay/report/document.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

namespace detail {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// JSON has no NaN and no infinity: both become null, and the reader knows which one a field can be.
inline document number(double value) {
  return std::isfinite(value) ? document(value) : document(nullptr);
}

inline double number(document const& from, char const* key, double if_null = nan) {
  auto const& value = from.at(key);
  return value.is_null() ? if_null : value.get<double>();
}

inline document numbers(std::vector<double> const& values) {
  auto result = document::array();
  for (auto const value : values) { result.push_back(number(value)); }
  return result;
}

inline std::vector<double> numbers(document const& from) {
  std::vector<double> result;
  for (auto const& value : from) { result.push_back(value.is_null() ? nan : value.get<double>()); }
  return result;
}

template <class T, std::size_t N>
T named_value(document const& from, char const* key, std::array<T, N> const& all,
              std::array<std::string_view, N> const& names) {
  auto const text = from.at(key).get<std::string>();
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) { return all[i]; }
  }
  throw std::invalid_argument("not a report of assay: " + std::string{key} + " is '" + text + "'");
}

inline constexpr std::array clock_names{to_string(measure::clock::wall),
                                        to_string(measure::clock::gpu),
                                        to_string(measure::clock::submit)};
inline constexpr std::array all_kinds{measure::contrast::kind::difference,
                                      measure::contrast::kind::main_effect,
                                      measure::contrast::kind::interaction};
inline constexpr std::array<std::string_view, 3> kind_names{"difference", "main effect",
                                                            "interaction"};
inline constexpr std::array all_verdicts{
    measure::verdict::faster,       measure::verdict::slower,   measure::verdict::equivalent,
    measure::verdict::inconclusive, measure::verdict::unproven, measure::verdict::wrong_answer};
inline constexpr std::array verdict_names{to_string(all_verdicts[0]), to_string(all_verdicts[1]),
                                          to_string(all_verdicts[2]), to_string(all_verdicts[3]),
                                          to_string(all_verdicts[4]), to_string(all_verdicts[5])};
inline constexpr std::array all_units{machine::ceiling::unit::bytes, machine::ceiling::unit::flops};
inline constexpr std::array<std::string_view, 2> unit_names{"bytes", "flops"};

inline document write(measure::finding const& found) {
  return {{"contrast", found.contrast_name},
          {"kind", kind_names[static_cast<std::size_t>(found.what)]},
          {"clock", to_string(found.on)},
          {"primary", found.primary},
          {"verdict", to_string(found.outcome)},
          {"exceeds_margin", found.exceeds_margin},
          {"is_bound", found.is_bound},
          {"reason", found.reason},
          {"ratio", number(found.effect.ratio)},
          {"low", number(found.effect.low)},
          {"high", number(found.effect.high)},
          {"confidence", number(found.effect.confidence)},
          {"noise", number(found.noise)},
          {"epochs_needed", found.epochs_needed},
          {"epoch_effects", numbers(found.epoch_effects)},
          {"weights", numbers(found.weights)}};
}

inline measure::finding read_finding(document const& from, bool first_schema) {
  measure::finding found;
  found.contrast_name = from.at("contrast").get<std::string>();
  found.what = named_value(from, "kind", all_kinds, kind_names);
  found.on = named_value(from, "clock", measure::all_clocks, clock_names);
  found.primary = from.at("primary").get<bool>();
  found.outcome = named_value(from, "verdict", all_verdicts, verdict_names);
  found.exceeds_margin = from.at(first_schema ? "material" : "exceeds_margin").get<bool>();
  found.is_bound = !first_schema && from.at("is_bound").get<bool>();
  found.reason = from.at("reason").get<std::string>();
  // An upper end that is not a number means that there is no bound yet.
  found.effect = {number(from, "ratio"), number(from, "low"),
                  number(from, "high", std::numeric_limits<double>::infinity()),
                  number(from, "confidence")};
  // Schema 1 has the half-width of the hidden control in its place, which says something else.
  found.noise = first_schema ? 0 : number(from, "noise");
  found.epochs_needed = from.at("epochs_needed").get<int>();
  found.epoch_effects = numbers(from.at("epoch_effects"));
  found.weights = numbers(from.at("weights"));
  return found;
}

inline document write(stats::summary const& of) {
  return {{"median", number(of.median)}, {"q1", number(of.q1)},   {"q3", number(of.q3)},
          {"min", number(of.min)},       {"max", number(of.max)}, {"count", of.count}};
}

inline stats::summary read_summary(document const& from) {
  return {number(from, "median"), number(from, "q1"),  number(from, "q3"),
          number(from, "min"),    number(from, "max"), from.at("count").get<std::size_t>()};
}

inline document write(measure::latency const& of) {
  return {{"p50", number(of.p50)},
          {"p99", number(of.p99)},
          {"max", number(of.max)},
          {"mean", number(of.mean)}};
}

inline measure::latency read_latency(document const& from) {
  return {number(from, "p50"), number(from, "p99"), number(from, "max"), number(from, "mean")};
}

inline document write(std::optional<measure::submission_profile> const& of) {
  if (!of) { return nullptr; }
  return {{"unit", "ns"},
          {"items", of->items},
          {"total", write(of->total)},
          {"allocation", write(of->allocation)},
          {"lock_wait", write(of->lock_wait)},
          {"launching", write(of->launching)}};
}

inline std::optional<measure::submission_profile> read_submission(document const& from) {
  if (from.is_null()) { return std::nullopt; }
  return measure::submission_profile{
      read_latency(from.at("total")), read_latency(from.at("allocation")),
      read_latency(from.at("lock_wait")), read_latency(from.at("launching")),
      from.at("items").get<std::size_t>()};
}

inline document write(std::optional<measure::memory_profile> const& of) {
  if (!of) { return nullptr; }
  auto const told = [](std::optional<std::uint64_t> const& value) {
    return value ? document(*value) : document(nullptr);
  };
  return {{"allocations", of->allocations},
          {"deallocations", of->deallocations},
          {"bytes", of->bytes},
          {"peak_bytes", of->peak_bytes},
          {"reserved_bytes", told(of->reserved_bytes)},
          {"reused_blocks", told(of->reused_blocks)},
          {"upstream_calls", told(of->upstream_calls)}};
}

inline std::optional<measure::memory_profile> read_memory(document const& from) {
  if (from.is_null()) { return std::nullopt; }
  auto const whole = [&](char const* key) { return from.at(key).get<std::uint64_t>(); };
  auto const told = [&](char const* key) {
    return from.at(key).is_null() ? std::nullopt : std::optional{whole(key)};
  };
  return measure::memory_profile{
      whole("allocations"),   whole("deallocations"), whole("bytes"),        whole("peak_bytes"),
      told("reserved_bytes"), told("reused_blocks"),  told("upstream_calls")};
}

/// Its cells only where the comparison has no records of cells, as one of schema 1.
inline document write(measure::variant_result const& of, bool with_cells) {
  auto axes = document::array();
  for (auto const& [axis, choice] : of.axes) {
    axes.push_back({{"axis", axis}, {"choice", choice}});
  }
  document seconds;
  document cells;
  for (auto const which : measure::all_clocks) {
    seconds[std::string{to_string(which)}] = write(of.on(which));
    cells[std::string{to_string(which)}] = numbers(of.cells[static_cast<std::size_t>(which)]);
  }
  document all{{"label", of.label},
               {"axes", std::move(axes)},
               {"seconds", std::move(seconds)},
               {"sm_hertz", number(of.sm_hertz)},
               {"bytes", number(of.bytes)},
               {"flops", number(of.flops)},
               {"submission", write(of.submission)},
               {"memory", write(of.memory)}};
  if (with_cells) { all["cells"] = std::move(cells); }
  return all;
}

inline measure::variant_result read_variant(document const& from) {
  measure::variant_result result;
  result.label = from.at("label").get<std::string>();
  for (auto const& axis : from.at("axes")) {
    result.axes.emplace_back(axis.at("axis").get<std::string>(),
                             axis.at("choice").get<std::string>());
  }
  for (auto const which : measure::all_clocks) {
    std::string const name{to_string(which)};
    result.seconds[static_cast<std::size_t>(which)] = read_summary(from.at("seconds").at(name));
    if (!from.contains("cells")) { continue; }
    result.cells[static_cast<std::size_t>(which)] = numbers(from.at("cells").at(name));
  }
  result.sm_hertz = number(from, "sm_hertz");
  result.bytes = number(from, "bytes");
  result.flops = number(from, "flops");
  result.submission = read_submission(from.at("submission"));
  result.memory = read_memory(from.at("memory"));
  return result;
}

}  // namespace detail

}  // namespace assay::report
