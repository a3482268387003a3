// SPDX-License-Identifier: Apache-2.0
/// @file
/// The explanation of a difference between two variants, as JSON; needs nlohmann_json.
#pragma once

#include <assay/report/explanation.hpp>
#include <assay/report/json_values.hpp>
#include <assay/trace/explanation.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace assay::report {

namespace detail {

inline document write(trace::variant_evidence const& of) {
  document result{{"label", of.label}, {"seconds", number(of.seconds)}};
  if (of.limits) {
    result["bound"] = to_string(of.limits->limit);
    result["bound_reason"] = of.limits->reason;
  }
  if (of.counters && !of.counters->status) { result["no_counters"] = of.counters->status.line(); }
  return result;
}

inline document write(trace::breakdown_entry const& of) {
  return {{"ns", number(of.ns)},
          {"total_ns", number(of.total)},
          {"count", number(of.count)},
          {"bytes", number(of.bytes)}};
}

inline document write(trace::kernel_change const& of) {
  auto causes = document::array();
  for (auto const& each : of.causes) {
    causes.push_back({{"what", to_string(each.what)},
                      {"ns", number(each.ns)},
                      {"share", number(each.share)},
                      {"control", number(each.control)},
                      {"variant", number(each.variant)}});
  }
  return {{"name", of.name},
          {"replaced", of.name.empty()},
          {"delta_ns", number(of.delta_ns())},
          {"share", number(of.share)},
          {"needs_most", of.by_memory ? "memory" : "issue slots"},
          {"causes", std::move(causes)},
          {"left_ns", number(of.unexplained_ns)}};
}

}  // namespace detail

/// The whole explanation but the traces themselves. Numbers that are not finite become null.
inline document to_json(trace::explanation const& of) {
  constexpr std::array<std::string_view, 6> units{"seconds",          "count", "number", "bytes",
                                                  "bytes_per_second", "share"};
  auto changes = document::array();
  for (auto const& each : of.changes.changes) {
    changes.push_back({{"seen_by", to_string(each.seen_by)},
                       {"kind", to_string(each.what)},
                       {"name", each.name},
                       {"delta_ns", detail::number(each.delta_ns())},
                       {"low_ns", detail::number(each.delta.low)},
                       {"high_ns", detail::number(each.delta.high)},
                       {"share", detail::number(each.share)},
                       {"control", detail::write(each.control)},
                       {"variant", detail::write(each.variant)}});
  }
  auto kernels = document::array();
  for (auto const& each : of.kernels) { kernels.push_back(detail::write(each)); }
  auto figures = document::array();
  for (auto const& each : of.metrics) {
    figures.push_back({{"name", each.name},
                       {"unit", units[static_cast<std::size_t>(each.of)]},
                       {"control", detail::number(each.control)},
                       {"variant", detail::number(each.variant)}});
  }
  auto const traced = of.untraced.empty();
  document result{
      {"schema", "assay.explanation"},
      {"schema_version", 1},
      {"control", detail::write(of.control)},
      {"variant", detail::write(of.variant)},
      {"difference",
       {{"ns", detail::number(of.time.ns)},
        {"low_ns", detail::number(of.time.low_ns)},
        {"high_ns", detail::number(of.time.high_ns)},
        {"from", of.time.from}}},
      {"untraced", traced ? document(nullptr) : document(of.untraced)},
      {"pairs", of.changes.pairs},
      {"confidence", of.changes.confidence},
      {"explained_ns", detail::number(of.changes.explained_ns)},
      {"explained_by_devices_ns", detail::number(of.changes.device_ns)},
      {"explained_by_host_ns", detail::number(of.changes.host_ns)},
      {"unexplained_ns", detail::number(of.changes.unexplained_ns)},
      {"traced_difference_ns", detail::number(traced ? of.changes.traced_ns() : detail::nan)},
      {"tracing",
       {{"measured", of.changes.tracing_measured},
        {"taken", of.changes.tracing_taken()},
        {"ns", detail::number(traced ? of.changes.tracing_ns() : detail::nan)},
        {"low_ns", detail::number(of.changes.tracing.low)},
        {"high_ns", detail::number(of.changes.tracing.high)}}},
      {"changes", std::move(changes)},
      {"kernels", std::move(kernels)},
      {"figures", std::move(figures)},
      {"sentences", sentences(of)},
      {"notes", of.notes}};
  return result;
}

/// The text of the explanation as JSON, indented, with a line end. Bytes that are not UTF-8 are
/// replaced.
inline std::string json(trace::explanation const& of) {
  return to_json(of).dump(2, ' ', false, document::error_handler_t::replace) + "\n";
}

}  // namespace assay::report
