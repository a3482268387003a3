// SPDX-License-Identifier: Apache-2.0
/// @file
/// `explanation`: why two variants take different time, from what was seen of one batch of each.
#pragma once

#include <assay/measure/comparison.hpp>
#include <assay/trace/counter_values.hpp>
#include <assay/trace/difference.hpp>
#include <assay/trace/kernel_causes.hpp>
#include <assay/trace/model.hpp>
#include <assay/trace/overlap.hpp>
#include <assay/trace/roofline.hpp>

#include <algorithm>
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

namespace assay::trace {

/// One side of an explanation: what was seen of a variant. Parts that nobody saw stay empty.
struct explained_arm {
  std::string label;
  double seconds = ceilings::unknown;  ///< of a batch on the wall clock, without a tracer
  model trace;                         ///< of one batch
  std::optional<measure::submission_profile> submission;
  std::optional<measure::memory_profile> memory;
  std::optional<counter_values> counters;  ///< of one batch
  std::optional<roofline> limits;          ///< what those say, where they could be read
  amounts_by_kernel kernels;               ///< what each kernel counted, alone
};

/// The difference of two times that is to be accounted for: variant less control, a batch.
struct time_difference {
  double ns = 0;
  double low_ns = ceilings::unknown;  ///< its confidence interval; NaN where there is none
  double high_ns = ceilings::unknown;
  std::string from = {};  ///< what it was taken from

  /// Whether the interval tells its sign.
  bool resolved() const noexcept { return low_ns > 0 || high_ns < 0; }
};

/// A number of both sides that does not add up to time, or not to that of the wall clock.
struct paired_figure {
  enum class unit { seconds, count, number, bytes, bytes_per_second, share };
  std::string_view name;
  unit of = unit::count;
  double control = ceilings::unknown;
  double variant = ceilings::unknown;
};

/// Why a variant takes more or less time than its control.
struct explanation {
  explained_arm control, variant;
  time_difference time;
  std::string untraced;                 ///< why there is no trace, in one line; empty: there is one
  trace_difference changes;             ///< of the traces; what accounts for most comes first
  std::vector<kernel_account> kernels;  ///< changes of kernels by their counters, most first
  std::vector<paired_figure> figures;   ///< those that were seen of a side at least
  std::vector<std::string> notes;       ///< what the traces and counters lack
};

/// The note of a trace that has ranges only; its text says why.
inline constexpr std::string_view cuda_is_missing = "CUDA is not recorded";

/// What a trace lost, and what its recorder says that it lacks, a line each; why CUDA is not in it
/// at all is told by the note `cuda_is_missing`.
inline std::vector<std::string> lacks(model const& of) {
  std::vector<std::string> lines;
  auto const tell = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) { return; }
    lines.push_back(std::to_string(count) + " " + std::string{what});
  };
  tell(of.lost.dropped, "records lost, as the tracer had no room for them");
  tell(of.lost.zero_stamped, "records left out, as they have no time");
  tell(of.lost.out_of_window, "records left out, as their times lie outside the trace");
  tell(of.lost.unmatched, "pieces of device work whose call is not in the trace");
  tell(of.lost.unnamed, "names that could not be resolved");
  for (auto const& [name, text] : of.notes) {
    if (name == cuda_is_missing || name == "buffers") { continue; }  // those lack nothing
    lines.push_back(name + (text.empty() ? "" : ": " + text));
  }
  return lines;
}

/// The arm of a comparison with these choices, the first that is not `but`. Throws
/// `std::invalid_argument` where there is none.
inline std::size_t arm_with(std::vector<std::pair<std::string, std::string>> const& axes,
                            measure::comparison const& found,
                            std::size_t but = std::numeric_limits<std::size_t>::max()) {
  for (std::size_t i = 0; i < found.variants.size(); ++i) {
    if (i != but && found.variants[i].axes == axes) { return i; }
  }
  std::string choices, arms;
  for (auto const& [axis, choice] : axes) { choices += (choices.empty() ? "" : ", ") + choice; }
  for (auto const& arm : found.variants) { arms += (arms.empty() ? "" : "; ") + arm.label; }
  throw std::invalid_argument("the comparison has no arm with " + choices +
                              ": explain one that was compared (" + arms + ")");
}

/// What a comparison says of the time between two of its arms on the wall clock: the estimate of
/// the contrast that sets just these against each other, else the difference of their medians.
inline time_difference difference_between(measure::comparison const& found, std::size_t control,
                                          std::size_t variant) {
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
            std::max(of(effect.low), of(effect.high)), "the comparison"};
  }
  return {found.variants.at(variant).on(measure::clock::wall).median * 1e9 - median,
          ceilings::unknown, ceilings::unknown,
          "the medians of the arms, as no contrast with an interval sets these two alone against "
          "each other"};
}

namespace detail {

inline std::string note_of(model const& of, std::string_view key) {
  for (auto const& [name, text] : of.notes) {
    if (name == key) { return text.empty() ? std::string{name} : text; }
  }
  return {};
}

inline bool shows_cuda(model const& of) {
  return !of.kernels.empty() || !of.copies.empty() || !of.sets.empty() ||
         !of.graph_launches.empty() || !of.calls.empty();
}

/// Why two traces tell nothing of CUDA; empty when they do.
inline std::string why_untraced(explained_arm const& control, explained_arm const& variant) {
  for (auto const* each : {&control, &variant}) {
    if (auto why = note_of(each->trace, cuda_is_missing); !why.empty()) { return why; }
  }
  if (shows_cuda(control.trace) || shows_cuda(variant.trace)) { return {}; }
  return "neither did anything in CUDA while it was traced";
}

/// Adds what a side's trace and counters lack, a line each.
inline void tell_lacks(explained_arm const& of, std::vector<std::string>& to) {
  for (auto const& each : lacks(of.trace)) { to.push_back(of.label + ": " + each); }
  if (of.counters && of.counters->status) {
    for (auto const& each : of.counters->dropped) {
      to.push_back(of.label + ": not counted: " + each.asked + ": " + each.why);
    }
  }
}

/// What a side did, in figures, in the same order for every side.
inline std::vector<paired_figure> figures_of(explained_arm const& of, bool traced) {
  using enum paired_figure::unit;
  std::vector<paired_figure> all;
  auto const add = [&](std::string_view name, paired_figure::unit unit, double value) {
    all.push_back({name, unit, value, ceilings::unknown});
  };
  auto const unknown = ceilings::unknown;
  auto const from = [&](bool is_known, auto&& value) { return is_known ? value() : unknown; };
  add("batch, untraced", seconds, of.seconds);
  view const rows{of.trace};
  auto const devices = traced ? overlap(rows) : std::vector<overlap_use>{};
  std::int64_t busy = 0;
  double at_once = 0;
  for (auto const& each : devices) {
    busy += each.kernels_ns;
    at_once += each.mean_kernels_at_once * static_cast<double>(each.kernels_ns);
  }
  auto const size = [](auto const& rows_of) { return static_cast<double>(rows_of.size()); };
  add("batch, traced", seconds,
      from(traced, [&] { return static_cast<double>(run_extent(rows).length()) * 1e-9; }));
  add("while a kernel ran", seconds,
      from(traced, [&] { return static_cast<double>(busy) * 1e-9; }));
  add("kernels at once, mean", number,
      from(busy > 0, [&] { return at_once / static_cast<double>(busy); }));
  add("kernels", count, from(traced, [&] { return size(of.trace.kernels); }));
  add("copies", count, from(traced, [&] { return size(of.trace.copies); }));
  add("calls", count, from(traced, [&] { return size(of.trace.calls); }));
  auto const item = [&](std::string_view name,
                        measure::latency measure::submission_profile::*part) {
    add(name, seconds,
        from(of.submission.has_value(), [&] { return ((*of.submission).*part).mean * 1e-9; }));
  };
  item("host time of an item", &measure::submission_profile::total);
  item("of it allocation", &measure::submission_profile::allocation);
  item("of it lock waiting", &measure::submission_profile::lock_wait);
  item("of it launching", &measure::submission_profile::launching);
  add("calls of the allocator to the driver", count,
      from(of.memory && of.memory->upstream_calls,
           [&] { return static_cast<double>(*of.memory->upstream_calls); }));
  auto const limit = [&](std::string_view name, paired_figure::unit unit, auto&& value) {
    add(name, unit, from(of.limits.has_value(), [&] { return value(*of.limits); }));
  };
  limit("DRAM traffic", bytes, [](roofline const& at) { return at.dram.bytes; });
  limit("DRAM rate", bytes_per_second, [](roofline const& at) { return at.dram.bytes_per_second; });
  limit("DRAM rate, of its limit", share, [](roofline const& at) { return at.dram.share; });
  limit("achieved occupancy", share, [](roofline const& at) { return at.occupancy; });
  limit("SMs active", share, [](roofline const& at) { return at.sm_active; });
  limit("instructions a cycle", number, [](roofline const& at) { return at.ipc; });
  limit("tensor pipe", share, [](roofline const& at) { return at.tensor; });
  return all;
}

}  // namespace detail

/// Explains a difference in time from what was seen of both sides; records and runs nothing.
///
/// Without CUDA in the traces (no driver, another tool, no permission) what is known without one
/// stays: the split of the host's time, and the figures.
inline explanation explain_models(explained_arm control, explained_arm variant,
                                  time_difference const& time, host_names const& names = {}) {
  explanation result;
  result.time = time;
  result.untraced = detail::why_untraced(control, variant);
  auto const traced = result.untraced.empty();
  if (traced) {
    result.changes = difference({control.trace}, {variant.trace}, time.ns, names);
    result.kernels = account_for_kernels(result.changes, control.kernels, variant.kernels);
  } else {
    result.changes.difference_ns = result.changes.unexplained_ns = time.ns;
  }
  result.figures = detail::figures_of(control, traced);
  auto const others = detail::figures_of(variant, traced);
  for (std::size_t i = 0; i < others.size(); ++i) { result.figures[i].variant = others[i].control; }
  std::erase_if(result.figures, [](paired_figure const& each) {
    return std::isnan(each.control) && std::isnan(each.variant);
  });
  detail::tell_lacks(control, result.notes);
  detail::tell_lacks(variant, result.notes);
  result.control = std::move(control);
  result.variant = std::move(variant);
  return result;
}

}  // namespace assay::trace
