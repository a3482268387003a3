// SPDX-License-Identifier: Apache-2.0
/// @file
/// Internal to explain.hpp: the definitions of its functions.
#pragma once

#include <assay/core/concat.hpp>
#include <assay/core/nvtx_range.hpp>
#include <assay/cupti/counters.hpp>
#include <assay/cupti/explain.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/cupti/recorder_options.hpp>
#include <assay/cupti/variant_runs.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/stats/random_source.hpp>
#include <assay/trace/bound.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/kernel_causes.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

namespace detail {

/// Batches of both variants, of which one is open at a time: an open one can slow the other down by
/// what it holds.
class traced_variants {
 public:
  traced_variants(std::array<variant_runs const*, 2> sides, explain_options const& chosen)
      : sides_(sides), chosen_(chosen) {}

  /// Records warm batches of both. Each batch has an opening of its own, for what stays with one,
  /// such as addresses and threads, would be common to its batches, and these no independent pairs.
  /// Which side begins a pair is drawn: so equal sides differ either way with equal chances,
  /// however the machine drifts. An untraced batch after each tells what tracing added. Each side
  /// gets the breakdowns of its batches, and the trace of median length.
  void record(std::array<variant_evidence*, 2> const& into) {
    std::array<std::vector<model>, 2> all;
    stats::random_source random{stats::draw_seed()};
    int pairs = 0;
    for (; pairs < chosen_.batches && !(pairs > 0 && is_late()); ++pairs) {
      auto const first = static_cast<std::size_t>(random.below(2));
      for (auto const i : {first, 1 - first}) {
        all[i].push_back(record_batch(*sides_[i], *into[i]));
      }
      if (chosen_.after_pair) { chosen_.after_pair(); }
    }
    for (std::size_t i = 0; i < 2; ++i) { into[i]->trace = median(all[i]); }
    if (pairs == chosen_.batches) { return; }
    into[0]->trace.notes.emplace_back(
        "time", concat({"the limit of ", std::to_string(std::llround(chosen_.max_seconds)),
                        " s ended the explanation after ", std::to_string(pairs), " of ",
                        std::to_string(chosen_.batches), " pairs of batches"}));
  }

  /// Adds hardware counters of a batch of one variant, and the bound by these counters.
  void count(std::size_t side, ceilings const& limits, variant_evidence& into) const {
    auto const& of = *sides_[side];
    if (!chosen_.count || !of.device) { return; }
    auto const run = of.open();
    run();
    counters reader{{.metrics = chosen_.metrics, .place = of.device}};
    into.counters = reader.measure([&] { run(); });
    if (!into.counters->status || into.counters->ranges.empty()) { return; }
    into.limits = find_bound(into.counters->ranges.front(), facts_of(into, of.required), limits);
  }

 private:
  bool is_late() const {
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - begin_;
    return spent.count() >= chosen_.max_seconds;
  }
  /// Opens a side and records a batch of it.
  model record_batch(variant_runs const& side, variant_evidence& into) const {
    auto const run = side.open();
    run();
    double traced = 0;
    auto made = trace::record_warm(chosen_.recording, [&] { traced = run(); });
    run();
    auto const untraced = run();
    auto& parts = into.batches.emplace_back(breakdown_of({made}));
    parts.tracing_ns = (traced - untraced) * 1e9;
    return made;
  }
  static model median(std::vector<model>& of) {
    std::vector<std::pair<std::int64_t, std::size_t>> lengths;
    for (auto const& each : of) { lengths.emplace_back(run_extent(each).length(), lengths.size()); }
    std::ranges::sort(lengths);
    return std::move(of[lengths[of.size() / 2].second]);
  }

  std::array<variant_runs const*, 2> sides_;
  explain_options const& chosen_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Adds counters of each kernel of an item, one after the other. An obstacle becomes a note.
inline void count_kernels(variant_runs const& of, explain_options const& chosen,
                          variant_evidence& into) {
  auto const readable = into.counters && into.counters->status;
  if (!readable || !of.open_item) { return; }
  auto const tell = [&](std::string why) {
    into.trace.notes.emplace_back("counters of each kernel", std::move(why));
  };
  try {
    auto const run = of.open_item();
    run();
    auto const order = trace::record(chosen.recording, [&] { run(); });
    if (order.kernels.empty()) { return; }
    constexpr std::size_t most = 256;  // each has memory of its own, and is replayed
    if (order.kernels.size() > most) {
      return tell(concat({"an item has ", std::to_string(order.kernels.size()),
                          " kernels, more than ", std::to_string(most)}));
    }
    counters reader{
        {.place = of.device, .scope = counter_scope::kernel, .max_kernels = order.kernels.size()}};
    auto const counted = reader.measure([&] { run(); });
    if (!counted.status) { return tell(counted.status.line()); }
    into.kernels = name_totals(counted, order);
    if (into.kernels.empty()) {
      tell(concat({std::to_string(counted.ranges.size() + counted.ranges_lost),
                   " were counted where ", std::to_string(order.kernels.size()), " ran"}));
    }
  } catch (std::exception const& error) { tell(error.what()); }
}

/// The limits that a comparison measured.
inline ceilings limits_of(measure::comparison const& found) {
  using unit = machine::ceiling::unit;
  ceilings limits;
  auto const first = [&](unit of) {
    auto const at = std::find_if(found.ceilings.begin(), found.ceilings.end(),
                                 [&](auto const& each) { return each.of == of; });
    return at == found.ceilings.end() ? ceilings::unknown : at->per_second;
  };
  limits.dram_bytes = first(unit::bytes);
  limits.flops = first(unit::flops);
  return limits;
}

}  // namespace detail

ASSAY_INLINE explanation explain_runs(variant_runs const& control_runs,
                                      variant_runs const& variant_runs, variant_evidence control,
                                      variant_evidence variant, time_difference const& time,
                                      ceilings const& limits, explain_options const& chosen) {
  if (chosen.batches < 1) {
    throw std::invalid_argument(concat(
        {"explain: ", std::to_string(chosen.batches), " batches: at least one has to be run"}));
  }
  nvtx_range const scope{"explain", category::measurement};
  std::string failure;
  try {
    detail::traced_variants both{{&control_runs, &variant_runs}, chosen};
    both.record({&control, &variant});
    both.count(0, limits, control);
    both.count(1, limits, variant);
  } catch (std::exception const& error) { failure = error.what(); }
  if (failure.empty()) {  // now that the batches' own memory is given back
    detail::count_kernels(control_runs, chosen, control);
    detail::count_kernels(variant_runs, chosen, variant);
  }
  if (!failure.empty()) {
    auto& notes = control.trace.notes;
    if (!shows_cuda(control.trace)) {
      notes.emplace_back(std::string{cuda_is_missing}, "the runs to be traced failed: " + failure);
    } else {
      notes.emplace_back("counters", failure);
    }
  }
  return explain_traces(std::move(control), std::move(variant), time);
}

ASSAY_INLINE explanation explain_variants(measure::comparison const& found,
                                          compared_runs const& control,
                                          compared_runs const& variant,
                                          explain_options const& chosen) {
  auto const side_of = [&](compared_runs const& of) {
    auto const& compared = found.variants.at(of.variant);
    variant_evidence side;
    side.label = compared.label;
    side.seconds = compared.on(measure::clock::wall).median;
    side.submission = compared.submission;
    side.memory = compared.memory;
    return side;
  };
  auto first = side_of(control);
  auto second = side_of(variant);
  auto const time = difference_between(found, control.variant, variant.variant);
  if (std::isnan(time.ns) || !found.failure.empty()) {
    auto const& why = found.failure;
    first.trace.notes.emplace_back(
        std::string{cuda_is_missing},
        why.empty() ? "these two were not both timed" : "the comparison ended early: " + why);
    return explain_traces(std::move(first), std::move(second), time);
  }
  return explain_runs(control.runs, variant.runs, std::move(first), std::move(second), time,
                      detail::limits_of(found), chosen);
}

}  // namespace assay::trace
