// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explain`: why two variants take different time, from traced batches of both; needs CUPTI.
#pragma once

#include <assay/core/range.hpp>
#include <assay/cupti/counters.hpp>
#include <assay/cupti/explained_runs.hpp>
#include <assay/cupti/recorder.hpp>
#include <assay/cupti/recorder_options.hpp>
#include <assay/measure/axes.hpp>
#include <assay/measure/comparison.hpp>
#include <assay/measure/experiment.hpp>
#include <assay/measure/profile.hpp>
#include <assay/trace/explanation.hpp>
#include <assay/trace/idle.hpp>
#include <assay/trace/kernel_causes.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/roofline.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::trace {

/// How variants are explained.
struct explain_options {
  int batches = 5;            ///< of each are traced, in turn; that of median length is looked at
  int untraced_batches = 20;  ///< of each are timed, in turn, where no comparison did
  bool count = true;          ///< reads hardware counters of a batch of each, and of its kernels
  metric_set metrics = metric_sets::core();  ///< of the batch; `deep` runs it several times
  recorder_options recording = {};
  host_names names = {};  ///< which ranges and calls are locks, allocations and waits
};

namespace detail {

/// Shares of the time of all devices: in which they had nothing to do as the host asked late, and
/// in which copies ran and no kernel did.
struct time_shares {
  double host_late = ceilings::unknown;
  double copies_exposed = ceilings::unknown;
};

inline time_shares time_shares_of(model const& of) {
  double late = 0;
  double all = 0;
  for (auto const& each : device_times(of)) {
    late += static_cast<double>(each.idle(idle_cause::host_late));
    all += static_cast<double>(each.extent.length());
  }
  double exposed = 0;
  for (auto const& each : overlap(of)) { exposed += static_cast<double>(each.copies_exposed_ns()); }
  if (!(all > 0)) { return {}; }
  return {late / all, exposed / all};
}

/// The runs of both sides, opened, and what is seen of them.
class explaining {
 public:
  explaining(std::array<explained_runs const*, 2> sides, explain_options const& chosen)
      : sides_(sides), chosen_(chosen) {
    for (std::size_t i = 0; i < 2; ++i) { run_[i] = sides[i]->open(); }
    for (auto const& each : run_) { each(); }
  }

  /// The median seconds of a batch of each, run in turn.
  std::array<double, 2> time() const {
    std::array<std::vector<double>, 2> seconds;
    for (int batch = 0; batch < chosen_.untraced_batches; ++batch) {
      for (std::size_t i = 0; i < 2; ++i) { seconds[i].push_back(run_[i]()); }
    }
    std::array<double, 2> medians{};
    for (std::size_t i = 0; i < 2; ++i) {
      auto const middle = seconds[i].begin() + static_cast<std::ptrdiff_t>(seconds[i].size() / 2);
      std::nth_element(seconds[i].begin(), middle, seconds[i].end());
      medians[i] = *middle;
    }
    return medians;
  }

  /// The trace of a batch of each: of those recorded in turn, warm, the one of median length.
  std::array<model, 2> record() const {
    std::array<std::vector<std::pair<std::int64_t, model>>, 2> all;
    for (int batch = 0; batch < chosen_.batches; ++batch) {
      for (std::size_t i = 0; i < 2; ++i) {
        auto made = trace::record_warm(chosen_.recording, [&] { run_[i](); });
        auto const length = run_extent(view{made}).length();
        all[i].emplace_back(length, std::move(made));
      }
    }
    std::array<model, 2> chosen;
    for (std::size_t i = 0; i < 2; ++i) {
      auto const middle = all[i].begin() + static_cast<std::ptrdiff_t>(all[i].size() / 2);
      std::nth_element(all[i].begin(), middle, all[i].end(),
                       [](auto const& a, auto const& b) { return a.first < b.first; });
      chosen[i] = std::move(middle->second);
    }
    return chosen;
  }

  /// Hardware counters of a batch of one side, and what they say.
  void count(std::size_t side, ceilings const& limits, explained_arm& into) const {
    auto const& of = *sides_[side];
    if (!chosen_.count || !of.device) { return; }
    counters reader{{.metrics = chosen_.metrics, .place = of.device}};
    into.counters = reader.measure([&] { run_[side](); });
    if (!into.counters->status || into.counters->ranges.empty()) { return; }
    auto const shares = time_shares_of(into.trace);
    into.limits = read_counters(
        into.counters->ranges.front(),
        {.must = of.must,
         .launches = static_cast<double>(std::max<std::size_t>(1, into.trace.kernels.size())),
         .seconds = into.seconds,
         .host_late = shares.host_late,
         .copies_exposed = shares.copies_exposed},
        limits);
  }

 private:
  std::array<explained_runs const*, 2> sides_;
  explain_options const& chosen_;
  std::array<std::function<double()>, 2> run_;
};

/// Counters of each kernel of an item, one after the other; what stands in the way becomes a note.
inline void count_kernels(explained_runs const& of, explain_options const& chosen,
                          explained_arm& into) {
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
      return tell("an item has " + std::to_string(order.kernels.size()) + " kernels, more than " +
                  std::to_string(most));
    }
    counters reader{
        {.place = of.device, .scope = counter_scope::kernel, .max_ranges = order.kernels.size()}};
    auto const counted = reader.measure([&] { run(); });
    if (!counted.status) { return tell(counted.status.line()); }
    into.kernels = name_amounts(counted, order);
    if (into.kernels.empty()) {
      tell(std::to_string(counted.ranges.size() + counted.ranges_lost) + " were counted where " +
           std::to_string(order.kernels.size()) + " ran");
    }
  } catch (std::exception const& error) { tell(error.what()); }
}

inline void require(explain_options const& chosen) {
  if (chosen.batches < 1 || chosen.untraced_batches < 1) {
    throw std::invalid_argument(
        "explain: " + std::to_string(std::min(chosen.batches, chosen.untraced_batches)) +
        " batches: at least one has to be run");
  }
}

/// The limits that a comparison measured, as the reading of counters takes them.
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

/// Explains the difference between two sides: records batches of both, in turn, reads counters, and
/// accounts for `time`; without one, for the difference of untraced batches that are timed first.
///
/// `control` and `variant` are what is known already; their traces and counters are filled in.
/// What stands in the way of tracing, a failure of the runs included, becomes
/// `explanation::untraced`, and the rest goes on.
inline explanation explain_runs(explained_runs const& control_runs,
                                explained_runs const& variant_runs, explained_arm control,
                                explained_arm variant, std::optional<time_difference> time,
                                ceilings const& limits = {}, explain_options const& chosen = {}) {
  detail::require(chosen);
  range const scope{"explain", category::measurement};
  std::string failure;
  try {
    detail::explaining const both{{&control_runs, &variant_runs}, chosen};
    if (!time) {
      auto const seconds = both.time();
      control.seconds = seconds[0];
      variant.seconds = seconds[1];
      time = time_difference{(seconds[1] - seconds[0]) * 1e9, ceilings::unknown, ceilings::unknown,
                             "the medians of " + std::to_string(chosen.untraced_batches) +
                                 " untraced batches of each"};
    }
    auto traces = both.record();
    control.trace = std::move(traces[0]);
    variant.trace = std::move(traces[1]);
    both.count(0, limits, control);
    both.count(1, limits, variant);
  } catch (std::exception const& error) { failure = error.what(); }
  if (failure.empty()) {  // now that the batches' own memory is given back
    detail::count_kernels(control_runs, chosen, control);
    detail::count_kernels(variant_runs, chosen, variant);
  }
  if (!failure.empty()) {
    auto& notes = control.trace.notes;
    if (!detail::shows_cuda(control.trace)) {
      notes.emplace_back(std::string{cuda_is_missing}, "the runs to be traced failed: " + failure);
    } else {
      notes.emplace_back("counters", failure);
    }
  }
  return explain_models(std::move(control), std::move(variant),
                        time.value_or(time_difference{ceilings::unknown}), chosen.names);
}

/// Explains the difference that a comparison found between two of its arms on the wall clock: as
/// `assay::explain`, with pipelines that are told as runs. Throws `std::out_of_range` where the
/// comparison has fewer arms.
inline explanation explain_arms(measure::comparison const& found, compared_runs const& control,
                                compared_runs const& variant, explain_options const& chosen = {}) {
  auto const side_of = [&](compared_runs const& of) {
    auto const& arm = found.variants.at(of.arm);
    explained_arm side;
    side.label = arm.label;
    side.seconds = arm.on(measure::clock::wall).median;
    side.submission = arm.submission;
    side.memory = arm.memory;
    return side;
  };
  auto first = side_of(control);
  auto second = side_of(variant);
  auto const time = difference_between(found, control.arm, variant.arm);
  if (std::isnan(time.ns) || !found.failure.empty()) {
    auto const& why = found.failure;
    first.trace.notes.emplace_back(
        std::string{cuda_is_missing},
        why.empty() ? "these two were not both timed" : "the comparison ended early: " + why);
    return explain_models(std::move(first), std::move(second), time, chosen.names);
  }
  return explain_runs(control.runs, variant.runs, std::move(first), std::move(second), time,
                      detail::limits_of(found), chosen);
}

}  // namespace assay::trace

namespace assay {

/// Says why two pipelines of a comparison differ, after it: records a batch of each on rigs of
/// their own, reads hardware counters of another, and accounts for the difference that the
/// comparison found on the wall clock. What accounts for most comes first.
///
/// Blocks until done; needs memory for both pipelines at the same time. Throws
/// `std::invalid_argument` where the comparison has no arms like these; obstacles to tracing become
/// a line of the explanation.
template <class Control, class Variant>
trace::explanation explain(Control const& control, Variant const& variant,
                           measure::comparison const& found,
                           trace::explain_options const& chosen = {}) {
  auto const first = trace::arm_with(control.axes(), found);
  auto const second = trace::arm_with(variant.axes(), found, first);
  return trace::explain_arms(found, {first, trace::runs_of(control, found.variants[first].label)},
                             {second, trace::runs_of(variant, found.variants[second].label)},
                             chosen);
}

/// The same without a comparison: times untraced batches of both, and profiles them, first.
template <class Control, class Variant>
trace::explanation explain(Control const& control, Variant const& variant,
                           trace::explain_options const& chosen = {}) {
  auto const labels = measure::labels_of(control, variant);
  trace::explained_arm first, second;
  auto const know = [](trace::explained_arm& side, std::string const& label, auto const& what) {
    constexpr int batches = 3;
    auto const seen = measure::profile(what, batches);
    side.label = label;
    side.submission = seen.submission;
    side.memory = seen.memory;
  };
  know(first, labels[0], control);
  know(second, labels[1], variant);
  return trace::explain_runs(trace::runs_of(control, labels[0]), trace::runs_of(variant, labels[1]),
                             first, second, {}, {}, chosen);
}

}  // namespace assay
