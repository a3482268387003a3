// SPDX-License-Identifier: Apache-2.0
/// @file
/// The records of a comparison as JSON: one function for each record names its members, for the
/// writer and the reader alike.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/report/json_values.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::report::detail {

void members(auto& visit, measure::estimate& of, double no_upper_end = nan) {
  visit("ratio", of.ratio, "low", of.low);
  visit.or_if_null("high", of.high, no_upper_end);
  visit("confidence", of.confidence);
}

void members(auto& visit, measure::finding& of) {
  visit("contrast", of.contrast_name, "kind", of.what, "clock", of.on, "primary", of.primary,
        "verdict", of.outcome);
  visit(visit.first_schema ? "material" : "exceeds_margin", of.exceeds_margin);
  if (!visit.first_schema) { visit("is_bound", of.is_bound); }
  visit("reason", of.reason);
  members(visit, of.effect, std::numeric_limits<double>::infinity());
  // In schema 1 this key has the half-width of the hidden control.
  if (!visit.first_schema) { visit("noise", of.noise); }
  visit.if_present(!std::isnan(of.typical_ratio), "typical_ratio", of.typical_ratio);
  visit("epochs_needed", of.epochs_needed, "epoch_effects", of.epoch_effects, "weights",
        of.weights);
}

void members(auto& visit, stats::summary& of) {
  visit("median", of.median, "q1", of.q1, "q3", of.q3, "min", of.min, "max", of.max, "count",
        of.count);
}

void members(auto& visit, measure::latency& of) {
  visit("p50", of.p50, "p99", of.p99, "max", of.max, "mean", of.mean);
}

void members(auto& visit, measure::submission_profile& of) {
  visit.constant("unit", "ns");
  visit("items", of.items, "total", of.total, "allocation", of.allocation, "lock_wait",
        of.lock_wait, "launching", of.launching);
}

void members(auto& visit, measure::memory_profile& of) {
  visit("allocations", of.allocations, "deallocations", of.deallocations, "bytes", of.bytes,
        "peak_bytes", of.peak_bytes, "reserved_bytes", of.reserved_bytes, "reused_blocks",
        of.reused_blocks, "upstream_calls", of.upstream_calls);
}

/// The choice of a variant on one axis.
void members(auto& visit, std::pair<std::string, std::string>& of) {
  visit("axis", of.first, "choice", of.second);
}

void members(auto& visit, stats::interval& of) {
  visit("low", of.low, "estimate", of.estimate, "high", of.high);
}

void members(auto& visit, measure::short_cell& of) {
  visit("epoch", of.epoch, "launches", of.launches, "seconds", of.seconds, "full_seconds",
        of.full_seconds);
}

void members(auto& visit, measure::launch_costs& of) {
  visit("per_launch", of.per_launch, "per_cell", of.per_cell, "confidence", of.confidence, "cells",
        of.cells);
}

void members(auto& visit, measure::variant_result& of) {
  visit("label", of.label, "axes", of.axes, "seconds", of.seconds, "sm_hertz", of.sm_hertz, "bytes",
        of.bytes, "flops", of.flops, "submission", of.submission, "memory", of.memory);
  visit.if_present(of.results.has_value(), "results", of.results);
  visit.if_present(!std::isnan(of.slow_share), "slow_share", of.slow_share);
  visit.if_present(!std::isnan(of.slow_seconds), "slow_seconds", of.slow_seconds);
  visit.if_present(of.costs.has_value(), "launch_costs", of.costs);
  visit.if_present(visit.cells_in_variants, "cells", of.cells);
}

void members(auto& visit, measure::answer& of) {
  visit("question", of.question, "lines", of.lines);
}

void members(auto& visit, machine::ceiling& of) {
  visit("name", of.name, "unit", of.of, "per_second", of.per_second);
}

void members(auto& visit, machine::environment& of) {
  visit("device", of.device, "driver", of.driver, "toolkit", of.toolkit, "host_cpu", of.host_cpu,
        "host_threads", of.host_threads, "compiler", of.compiler, "commit", of.commit,
        "command_line", of.command_line, "started_at", of.started_at, "sm_clock_mhz",
        of.sm_clock_mhz, "memory_clock_mhz", of.memory_clock_mhz, "power_watts", of.power_watts,
        "temperature_celsius", of.temperature_celsius, "throttle_reasons", of.throttle_reasons);
}

void members(auto& visit, measure::epoch_record& of) {
  visit("number", of.number, "blocks", of.blocks, "start_seconds", of.start_seconds, "seconds",
        of.seconds, "throttle_bits", of.throttle, "dropped", of.dropped);
}

void members(auto& visit, measure::analysis_record& of) {
  visit("epochs", of.epochs, "alpha", of.alpha, "critical_value", of.critical_value, "outcomes",
        of.outcomes);
}

void members(auto& visit, measure::traced_time& of) {
  visit("ns", of.ns, "low_ns", of.low_ns, "high_ns", of.high_ns);
}

void members(auto& visit, measure::traced_part& of) {
  visit("kind", of.kind, "name", of.name, "delta", of.delta, "control_ns", of.control_ns,
        "variant_ns", of.variant_ns, "control_count", of.control_count, "variant_count",
        of.variant_count, "control_bytes", of.control_bytes, "variant_bytes", of.variant_bytes);
}

void members(auto& visit, measure::traced_idle& of) { visit("cause", of.cause, "time", of.time); }

/// The spans of a timeline as rows of numbers.
struct span_table {
  std::vector<measure::timeline_span>& spans;
};

inline void members(json_writer& visit, span_table& of) {
  auto rows = document::array();
  for (auto const& each : of.spans) {
    rows.push_back({each.lane, each.name, each.begin_ns, each.length_ns});
  }
  visit.constant("columns", {"lane", "name", "begin_ns", "length_ns"});
  visit.constant("rows", std::move(rows));
}

inline void members(json_reader& visit, span_table& of) {
  std::vector<std::vector<std::int64_t>> rows;
  visit("rows", rows);
  for (auto const& row : rows) {
    if (row.size() != 4) { throw std::invalid_argument("a span of a timeline has 4 numbers"); }
    of.spans.push_back({static_cast<int>(row[0]), static_cast<int>(row[1]), row[2], row[3]});
  }
}

void members(auto& visit, measure::timeline& of) {
  span_table table{of.spans};
  visit("length_ns", of.length_ns, "lanes", of.lanes, "kinds", of.kinds, "names", of.names, "spans",
        table, "left_out", of.left_out, "left_out_ns", of.left_out_ns);
}

void members(auto& visit, measure::traced_variant& of) {
  visit("variant", of.variant, "batch", of.batch, "idle", of.idle, "timeline", of.timeline, "file",
        of.file, "dram_bytes", of.dram_bytes, "bound", of.bound, "bound_reason", of.bound_reason);
}

void members(auto& visit, measure::traced_difference& of) {
  visit("control", of.control, "variant", of.variant, "pairs", of.pairs, "confidence",
        of.confidence, "control_seconds", of.control_seconds, "untraced", of.untraced, "traced",
        of.traced, "tracing", of.tracing, "parts", of.parts);
  visit.if_present(of.tracing_taken, "tracing_taken", of.tracing_taken);
}

/// The cells as a table with a row for each: objects would repeat nine names thousands of times.
struct cell_table {
  std::vector<measure::cell_record>& cells;
};

inline void members(json_writer& visit, cell_table& of) {
  auto rows = document::array();
  for (auto const& each : of.cells) {
    rows.push_back({each.epoch, each.position, each.variant, each.buffer_set,
                    number(each.start_seconds), number(each.seconds[0]), number(each.seconds[1]),
                    number(each.seconds[2]), number(each.sm_hertz)});
  }
  visit.constant("columns", {"epoch", "position", "variant", "buffer_set", "start_seconds",
                             "wall_seconds", "gpu_seconds", "submit_seconds", "sm_hertz"});
  visit.constant("rows", std::move(rows));
}

inline void members(json_reader& visit, cell_table& of) {
  std::vector<std::vector<double>> rows;
  visit("rows", rows);
  for (auto const& row : rows) {
    auto const whole = [&](std::size_t column) { return static_cast<int>(row.at(column)); };
    of.cells.push_back({whole(0),
                        whole(1),
                        whole(2),
                        whole(3),
                        row.at(4),
                        {row.at(5), row.at(6), row.at(7)},
                        row.at(8)});
  }
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

void members(auto& visit, measure::comparison& of) {
  visit.constant("schema", "assay.comparison");
  visit.constant("schema_version", measure::comparison::schema_version);
  visit("title", of.title, "changed", of.changed, "primary_clock", of.primary, "margin", of.margin,
        "alpha", of.alpha);
  visit.as_text("seed", of.seed);
  visit.if_present(of.checks_required, "checks_required", of.checks_required);
  visit.if_present(of.launches > 0, "launches", of.launches);
  visit("epochs", of.epochs, "duration_seconds", of.seconds, "findings", of.findings);
  visit(visit.first_schema ? "arms" : "variants", of.variants);
  visit("answers", of.answers, "notes", of.notes);
  if (!visit.first_schema) { visit("caveats", of.caveats); }
  visit("failure", of.failure, "ceilings", of.ceilings, "environment", of.where);
  if (!visit.first_schema) {
    visit("hidden_control", of.hidden_control);
    visit("autocorrelation", of.autocorrelation);
    cell_table table{of.cells};
    visit("cells", table);
    visit("epoch_records", of.epoch_records);
    visit("analyses", of.analyses);
  }
  visit.if_present(!of.reasons.empty(), "reasons", of.reasons);
  visit.if_present(!of.traced.empty(), "traced", of.traced);
}

}  // namespace assay::report::detail
