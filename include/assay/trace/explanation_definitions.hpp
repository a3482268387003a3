// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to explanation.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/stats/summary.hpp>
#include <assay/trace/bound.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/kernel_causes.hpp>
#include <assay/trace/metrics.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/workload/concepts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::trace {

ASSAY_INLINE explanation::explanation() = default;
ASSAY_INLINE explanation::explanation(explanation const&) = default;
ASSAY_INLINE explanation::explanation(explanation&&) noexcept = default;
ASSAY_INLINE explanation& explanation::operator=(explanation const&) = default;
ASSAY_INLINE explanation& explanation::operator=(explanation&&) noexcept = default;
ASSAY_INLINE explanation::~explanation() = default;

ASSAY_INLINE tracing_cost tracing_cost_of(variant_evidence const& of) {
  std::vector<double> traced, untraced;
  for (auto const& each : of.batches) {
    if (std::isnan(each.tracing_ns)) { return {}; }
    traced.push_back(each.ns);
    untraced.push_back(each.ns - each.tracing_ns);
  }
  if (traced.empty()) { return {}; }
  return {stats::summarise(traced).median, stats::summarise(untraced).median, of.seconds * 1e9};
}

ASSAY_INLINE workload_facts facts_of(variant_evidence const& of, traffic required) {
  workload_facts facts;
  facts.required = required;
  facts.launches = static_cast<double>(std::max<std::size_t>(1, of.trace.kernels.size()));
  facts.seconds = of.seconds;
  facts.host_waits_known = !tracing_cost_of(of).misleads();
  if (!facts.host_waits_known) { return facts; }
  double late = 0;
  double all = 0;
  for (auto const& each : device_times(of.trace)) {
    late += static_cast<double>(each.idle(idle_cause::host_bound));
    all += static_cast<double>(each.extent.length());
  }
  double exposed = 0;
  for (auto const& each : overlap(of.trace)) {
    exposed += static_cast<double>(each.copies_exposed_ns());
  }
  if (all > 0) {
    facts.host_bound = late / all;
    facts.copies_exposed = exposed / all;
  }
  return facts;
}

ASSAY_INLINE std::vector<std::string> loss_notes(model const& of) {
  constexpr auto facts = std::to_array<std::string_view>(
      {cuda_is_missing, "buffers", "operations", "nodes"});  // notes on what is there
  std::vector<std::string> lines;
  auto const tell = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) { return; }
    lines.push_back(concat({std::to_string(count), " ", what}));
  };
  tell(of.lost.dropped, "records lost, as the tracer had no room for them");
  tell(of.lost.zero_stamped, "records left out, as they have no time");
  tell(of.lost.out_of_window, "records left out, as their times lie outside the trace");
  tell(of.lost.unmatched, "pieces of device work whose call is not in the trace");
  tell(of.lost.unnamed, "names that could not be resolved");
  for (auto const& [name, text] : of.notes) {
    if (std::find(facts.begin(), facts.end(), name) != facts.end()) { continue; }
    lines.push_back(name + (text.empty() ? "" : ": " + text));
  }
  return lines;
}

ASSAY_INLINE std::size_t variant_with(std::vector<std::pair<std::string, std::string>> const& axes,
                                      measure::comparison const& found, std::size_t but) {
  for (std::size_t i = 0; i < found.variants.size(); ++i) {
    if (i != but && found.variants[i].axes == axes) { return i; }
  }
  std::string choices, variants;
  for (auto const& [axis, choice] : axes) { choices += (choices.empty() ? "" : ", ") + choice; }
  for (auto const& each : found.variants) {
    variants += (variants.empty() ? "" : "; ") + each.label;
  }
  throw std::invalid_argument(concat({"the comparison has no variant with ", choices,
                                      ": explain one that was compared (", variants, ")"}));
}

ASSAY_INLINE time_difference difference_between(measure::comparison const& found,
                                                std::size_t control, std::size_t variant) {
  auto const median = found.variants.at(control).on(measure::clock::wall).median * 1e9;
  for (auto const& each : found.findings) {
    auto const& weights = each.weights;
    if (each.on != measure::clock::wall || weights.size() != found.variants.size()) { continue; }
    auto const others =
        std::count_if(weights.begin(), weights.end(), [](double weight) { return weight != 0; });
    auto const sign = weights[variant];
    auto const usable = others == 2 && std::abs(sign) == 1 && weights[control] == -sign &&
                        each.effect.low > 0 && std::isfinite(each.effect.high) &&
                        each.outcome != measure::verdict::wrong_answer;
    if (!usable) { continue; }
    auto const of = [&](double ratio) { return median * (std::pow(ratio, sign) - 1); };
    auto const& effect = each.effect;
    return {of(effect.ratio), std::min(of(effect.low), of(effect.high)),
            std::max(of(effect.low), of(effect.high)), "the comparison (wall clock)"};
  }
  return {found.variants.at(variant).on(measure::clock::wall).median * 1e9 - median,
          ceilings::unknown, ceilings::unknown,
          "the medians of the variants (wall clock), as no contrast compares these two alone"};
}

ASSAY_INLINE bool shows_cuda(model const& of) {
  return !of.kernels.empty() || !of.copies.empty() || !of.memsets.empty() ||
         !of.graph_launches.empty() || !of.calls.empty();
}

namespace detail {

inline std::string note_of(model const& of, std::string_view key) {
  for (auto const& [name, text] : of.notes) {
    if (name == key) { return text.empty() ? std::string{name} : text; }
  }
  return {};
}

/// The reason for which two traces show nothing of CUDA; empty if they do.
inline std::string why_untraced(variant_evidence const& control, variant_evidence const& variant) {
  for (auto const* each : {&control, &variant}) {
    if (auto why = note_of(each->trace, cuda_is_missing); !why.empty()) { return why; }
  }
  if (shows_cuda(control.trace) || shows_cuda(variant.trace)) { return {}; }
  return "neither did anything in CUDA while it was traced";
}

/// Adds the losses of a variant's trace and counters, a line each.
inline void add_loss_notes(variant_evidence const& of, std::vector<std::string>& to) {
  for (auto const& each : loss_notes(of.trace)) { to.push_back(concat({of.label, ": ", each})); }
  if (of.counters && of.counters->status) {
    for (auto const& each : of.counters->dropped) {
      to.push_back(concat({of.label, ": not counted: ", each.asked, ": ", each.why}));
    }
  }
}

/// The metrics of one variant, in the same order for every variant.
inline std::vector<metric_pair> metrics_of(variant_evidence const& of, bool traced) {
  using enum metric_pair::unit;
  std::vector<metric_pair> all;
  auto const add = [&](std::string_view name, metric_pair::unit unit, double value) {
    all.push_back({name, unit, value, ceilings::unknown});
  };
  auto const unknown = ceilings::unknown;
  auto const told = [&](double value) { return traced ? value : unknown; };
  add("batch, untraced", seconds, of.seconds);
  view const rows{of.trace};
  auto const devices = traced ? overlap(rows) : std::vector<device_overlap>{};
  std::int64_t busy = 0;
  double at_once = 0;
  for (auto const& each : devices) {
    busy += each.kernels_ns;
    at_once += each.mean_kernels_at_once * static_cast<double>(each.kernels_ns);
  }
  auto const size = [](auto const& rows_of) { return static_cast<double>(rows_of.size()); };
  add("batch, traced", seconds, told(static_cast<double>(run_extent(rows).length()) * 1e-9));
  add("while a kernel ran", seconds, told(static_cast<double>(busy) * 1e-9));
  add("kernels at once, mean", number, busy > 0 ? at_once / static_cast<double>(busy) : unknown);
  add("kernels", count, told(size(of.trace.kernels)));
  add("copies", count, told(size(of.trace.copies)));
  add("calls", count, told(size(of.trace.calls)));
  using profile = measure::submission_profile;
  auto const item = [&](std::string_view name, measure::latency profile::*part) {
    add(name, seconds, of.submission ? ((*of.submission).*part).mean * 1e-9 : unknown);
  };
  item("host time of an item", &profile::total);
  item("of it allocation", &profile::allocation);
  item("of it lock waiting", &profile::lock_wait);
  item("of it launching", &profile::launching);
  add("calls of the allocator to the driver", count,
      of.memory && of.memory->upstream_calls ? static_cast<double>(*of.memory->upstream_calls)
                                             : unknown);
  auto const at = of.limits.value_or(work_bound{});  // its numbers are unknown by default
  add("DRAM traffic", bytes, at.dram_bytes);
  add("DRAM rate", bytes_per_second, at.dram_bytes_per_second);
  add("DRAM rate, of its limit", share, at.dram_share);
  add("achieved occupancy", share, at.occupancy);
  add("SMs active", share, at.sm_active);
  add("instructions a cycle", number, at.ipc);
  add("tensor pipe", share, at.tensor);
  return all;
}

}  // namespace detail

ASSAY_INLINE explanation explain_traces(variant_evidence control, variant_evidence variant,
                                        time_difference const& time) {
  explanation result;
  result.time = time;
  result.untraced = detail::why_untraced(control, variant);
  auto const traced = result.untraced.empty();
  if (traced) {
    for (auto* side : {&control, &variant}) {
      if (side->batches.empty()) { side->batches.push_back(breakdown_of(side->trace)); }
    }
    result.changes =
        paired_difference(control.batches, variant.batches, {time.low_ns, time.ns, time.high_ns});
    result.kernels = explain_kernels(result.changes, control.kernels, variant.kernels);
  } else {
    result.changes.difference_ns = time.ns;
  }
  result.metrics = detail::metrics_of(control, traced);
  auto const others = detail::metrics_of(variant, traced);
  for (std::size_t i = 0; i < others.size(); ++i) { result.metrics[i].variant = others[i].control; }
  keep_rows(result.metrics, [](metric_pair const& each) {
    return !std::isnan(each.control) || !std::isnan(each.variant);
  });
  detail::add_loss_notes(control, result.notes);
  detail::add_loss_notes(variant, result.notes);
  result.control = std::move(control);
  result.variant = std::move(variant);
  return result;
}

}  // namespace assay::trace
